// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "array_results.h"

#include <algorithm>
#include <memory>
#include <string>

#include "array_protocols.h"
#include "tensor_arguments.h"

namespace gradstep_python {

namespace {

constexpr const char* kKinds[] = {"int", "uint", "float", "", "bfloat"};

std::string dtype_name(gradstep_dtype dtype) {
  const char* kind = dtype.code < 5 ? kKinds[dtype.code] : "";
  return *kind != '\0' ? kind + std::to_string(dtype.bits) : "unknown";
}

/// The opposite of dtype_name().
bool read_dtype_name(const std::string& name, gradstep_dtype* dtype) {
  for (std::uint8_t code = 0; code < 5; ++code) {
    for (const int bits : {8, 16, 32, 64}) {
      *dtype = {code, static_cast<std::uint8_t>(bits), 1};
      if (*kKinds[code] != '\0' && dtype_name(*dtype) == name) return true;
    }
  }
  return false;
}

ObjectRef shape_tuple(const gradstep_tensor& tensor) {
  ObjectRef shape(PyTuple_New(tensor.ndim));
  for (std::int32_t axis = 0; shape && axis < tensor.ndim; ++axis) {
    PyTuple_SetItem(shape.get(), axis, PyLong_FromLongLong(tensor.shape[axis]));
  }
  return shape;
}

PyObject* device_tuple(gradstep_device device) { return Py_BuildValue("(ii)", device.device_type, device.device_id); }

/// What a DLPack capsule of gradstep's memory holds.
struct Export {
  ManagedTensorVersioned managed{};
  std::vector<std::int64_t> shape;
  ObjectRef owner;
};

void release_export(ManagedTensorVersioned* managed) {
  const GilLock lock;
  delete static_cast<Export*>(managed->manager_context);
}

constexpr const char* kCapsuleName = "dltensor_versioned";

/// A capsule that was not taken goes with what is in it.
void destroy_capsule(PyObject* capsule) {
  if (PyCapsule_IsValid(capsule, kCapsuleName) == 0) return;
  auto* managed = static_cast<ManagedTensorVersioned*>(PyCapsule_GetPointer(capsule, kCapsuleName));
  managed->deleter(managed);
}

}  // namespace

PyObject* append_result(PyObject* results, PyObject* item) {
  ObjectRef first(results);
  ObjectRef second(item);
  if (!first || !second) return nullptr;
  if (first.get() == Py_None) return second.release();
  if (!PyTuple_Check(first.get())) return Py_BuildValue("(OO)", first.get(), second.get());
  const ObjectRef tail(Py_BuildValue("(O)", second.get()));
  return tail ? PySequence_Concat(first.get(), tail.get()) : nullptr;
}

PyObject* describe_array(PyObject* array) {
  TensorArgument argument;
  if (!argument.convert(array, "array", Access::read)) return nullptr;
  const ObjectRef shape = shape_tuple(*argument.tensor());
  return shape ? Py_BuildValue("(Os)", shape.get(), dtype_name(argument.tensor()->dtype).c_str()) : nullptr;
}

PyObject* device_of_array(PyObject* array) {
  TensorArgument argument;
  if (!argument.convert(array, "array", Access::read)) return nullptr;
  return device_tuple(argument.tensor()->device);
}

PyObject* describe_view(const gradstep_tensor& tensor) {
  // A tensor of no elements is there whatever its address.
  const bool empty = std::find(tensor.shape, tensor.shape + tensor.ndim, 0) != tensor.shape + tensor.ndim;
  if (tensor.data == nullptr && !empty) return ObjectRef::borrow(Py_None).release();
  const ObjectRef shape = shape_tuple(tensor);
  if (!shape) return nullptr;
  const auto address = static_cast<unsigned long long>(reinterpret_cast<std::uintptr_t>(tensor.data));
  const ObjectRef device(device_tuple(tensor.device));
  if (!device) return nullptr;
  return Py_BuildValue("(KOsO)", address + tensor.byte_offset, shape.get(), dtype_name(tensor.dtype).c_str(),
                       device.get());
}

PyObject* describe_views(const std::vector<gradstep_tensor>& tensors) {
  ObjectRef list(PyList_New(0));
  for (const gradstep_tensor& tensor : tensors) {
    const ObjectRef view(list ? describe_view(tensor) : nullptr);
    if (!view || PyList_Append(list.get(), view.get()) != 0) return nullptr;
  }
  return list.release();
}

PyObject* export_view(PyObject* view, PyObject* owner) {
  auto exported = std::make_unique<Export>();
  unsigned long long address = 0;
  PyObject* shape = nullptr;
  const char* dtype = nullptr;
  gradstep_tensor& tensor = exported->managed.tensor;
  if (PyArg_ParseTuple(view, "KO!s(ii)", &address, &PyTuple_Type, &shape, &dtype, &tensor.device.device_type,
                       &tensor.device.device_id) == 0) {
    return nullptr;
  }
  if (!read_numbers(shape, PyLong_AsLongLong, &exported->shape)) return nullptr;
  if (!read_dtype_name(dtype, &tensor.dtype)) {
    PyErr_Format(PyExc_BufferError, "no DLPack dtype is called %s", dtype);
    return nullptr;
  }
  exported->owner = ObjectRef::borrow(owner);
  tensor.data = reinterpret_cast<void*>(static_cast<std::uintptr_t>(address));
  tensor.ndim = static_cast<std::int32_t>(exported->shape.size());
  tensor.shape = exported->shape.data();
  exported->managed.version = {kDLPackMajorVersion, 0};
  exported->managed.manager_context = exported.get();
  exported->managed.deleter = release_export;
  PyObject* capsule = PyCapsule_New(&exported->managed, kCapsuleName, destroy_capsule);
  if (capsule != nullptr) static_cast<void>(exported.release());  // the capsule's, or its taker's
  return capsule;
}

}  // namespace gradstep_python
