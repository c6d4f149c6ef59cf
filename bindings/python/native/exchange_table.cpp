// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "exchange_table.h"

#include <string>
#include <unordered_map>

namespace gradstep_python {

namespace {

const DLPackExchangeTable* find_table(PyObject* type) {
  constexpr const char* kName = "dlpack_exchange_api";
  const ObjectRef capsule = optional_attribute(type, "__dlpack_c_exchange_api__");
  if (!capsule || !PyCapsule_IsValid(capsule.get(), kName)) return nullptr;
  const auto* table = static_cast<DLPackExchangeTable*>(PyCapsule_GetPointer(capsule.get(), kName));
  while (table != nullptr && table->version.major > kDLPackMajorVersion) table = table->previous;
  return table != nullptr && table->version.major == kDLPackMajorVersion ? table : nullptr;
}

struct Exchange {
  const DLPackExchangeTable* table = nullptr;
  bool is_writable = false;
};

const Exchange& exchange_of(PyTypeObject* type) {
  // Types with a table are few, and kept for good: one that is gone could leave its address to another.
  static std::unordered_map<PyTypeObject*, Exchange> exchanges;
  static const Exchange none;
  const auto found = exchanges.find(type);
  if (found != exchanges.end()) return found->second;
  ObjectRef object = ObjectRef::borrow(reinterpret_cast<PyObject*>(type));
  const DLPackExchangeTable* table = find_table(object.get());
  if (table == nullptr) return none;
  static_cast<void>(object.release());
  return exchanges.emplace(type, Exchange{table, exports_writable(type)}).first->second;
}

}  // namespace

const DLPackExchangeTable* exchange_table_of(PyTypeObject* type) { return exchange_of(type).table; }

bool exports_writable(PyTypeObject* type) {
  const ObjectRef module = optional_attribute(reinterpret_cast<PyObject*>(type), "__module__");
  const std::string name = module ? text_of(module.get()) : "";
  const std::string package = name.substr(0, name.find('.'));
  return package == "torch" || package == "cupy";
}

bool is_plain(const gradstep_tensor& tensor) {
  std::int64_t elements = 1;
  for (std::int32_t axis = tensor.ndim - 1; axis >= 0; --axis) {
    if (tensor.strides != nullptr && tensor.strides[axis] != elements) return false;
    elements *= tensor.shape[axis];
  }
  return elements > 1;
}

bool read_by_exchange_table(PyObject* object, gradstep_tensor* tensor) {
  if (PyObject_CheckBuffer(object)) return false;  // read sooner by that
  const Exchange& exchange = exchange_of(Py_TYPE(object));
  if (!exchange.is_writable || exchange.table == nullptr || exchange.table->tensor_from_object == nullptr) return false;
  gradstep_tensor read{};
  if (exchange.table->tensor_from_object(object, &read) != 0) {
    PyErr_Clear();  // the protocols that follow will say why
    return false;
  }
  if (!is_plain(read)) return false;
  *tensor = read;
  return true;
}

}  // namespace gradstep_python
