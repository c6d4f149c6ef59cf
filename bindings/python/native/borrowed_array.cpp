// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "array_protocols.h"
#include "errors.h"
#include "exchange_table.h"
#include "tensor_arguments.h"

namespace gradstep_python {

namespace {

static_assert(sizeof(Py_ssize_t) == sizeof(std::int64_t), "shapes of buffers are read as int64");

/// The DLPack dtype of a struct-module format of one native number; bits = 0 if it is something else.
gradstep_dtype dtype_of_format(const char* format, Py_ssize_t item_size) {
  if (format == nullptr) format = "B";
  if (*format == '@' || *format == '=' || *format == '<') ++format;
  if (format[0] == '\0' || format[1] != '\0') return {};
  std::uint8_t code = 0;
  if (std::strchr("efd", *format) != nullptr) {
    code = GRADSTEP_TYPE_FLOAT;
  } else if (std::strchr("bhilqn", *format) != nullptr) {
    code = GRADSTEP_TYPE_INT;
  } else if (std::strchr("?BHILQN", *format) != nullptr) {
    code = GRADSTEP_TYPE_UINT;
  } else {
    return {};
  }
  return {code, static_cast<std::uint8_t>(item_size * 8), 1};
}

bool is_compact(std::int64_t item_size, std::int32_t ndim, const std::int64_t* shape, const std::intptr_t* strides) {
  if (strides == nullptr) return true;
  std::int64_t expected = item_size;
  bool compact = true;
  for (std::int32_t axis = ndim - 1; axis >= 0; --axis) {
    if (shape[axis] == 0) return true;
    if (shape[axis] != 1 && strides[axis] != expected) compact = false;
    expected *= shape[axis];
  }
  return compact;
}

/// Who exports an array on a device makes the stream of this call wait for what it has queued elsewhere.
ObjectRef dlpack_keywords(PyObject* object) {
  ObjectRef keywords(Py_BuildValue("{s(ii)}", "max_version", static_cast<int>(kDLPackMajorVersion), 0));
  const ObjectRef method = optional_attribute(object, "__dlpack_device__");
  if (!keywords || !method) return keywords;
  const ObjectRef device = call(method.get(), nullptr);
  int type = GRADSTEP_DEVICE_CPU;
  int id = 0;
  if (!device || PyArg_ParseTuple(device.get(), "ii", &type, &id) == 0) {
    PyErr_Clear();  // what the capsule says will count
    return keywords;
  }
  if (type != GRADSTEP_DEVICE_CUDA) return keywords;
  const ObjectRef module(PyImport_ImportModule("gradstep._streams"));
  const ObjectRef stream = module ? call_method(module.get(), "of_this_call", nullptr) : ObjectRef();
  if (!stream || PyDict_SetItemString(keywords.get(), "stream", stream.get()) != 0) return {};
  return keywords;
}

}  // namespace

std::string Label::text() const {
  return index == kSingle ? std::string(name) : std::string(name) + "[" + std::to_string(index) + "]";
}

BorrowedArray::~BorrowedArray() { release(); }

void BorrowedArray::release() {
  if (view_.obj != nullptr) PyBuffer_Release(&view_);
  if (managed_ != nullptr && managed_->deleter != nullptr) managed_->deleter(managed_);
  managed_ = nullptr;
  keep_alive_ = ObjectRef();
}

bool BorrowedArray::borrow(PyObject* object, Label label, gradstep_tensor* tensor) {
  return borrow_as_it_lies(object, label, tensor) && resolve_negative(object, label, tensor);
}

// torch.Tensor.imag of a conjugate is such a tensor: a view of complex numbers whose sign only torch changes as it
// reads.
bool BorrowedArray::resolve_negative(PyObject* object, Label label, gradstep_tensor* tensor) {
  if (!by_dlpack_ || is_plain(*tensor)) return true;
  const ObjectRef is_negative = optional_attribute(object, "is_neg");
  if (!is_negative) return true;
  const ObjectRef answer = call(is_negative.get(), nullptr);
  if (!answer) return raise_error_from_current(GRADSTEP_ERR_INVALID_ARGUMENT, label.text());
  if (PyObject_IsTrue(answer.get()) != 1) return true;
  const ObjectRef resolved = call_method(object, "resolve_neg", nullptr);
  if (!resolved) return raise_error_from_current(GRADSTEP_ERR_INVALID_ARGUMENT, label.text());
  release();
  if (!borrow_as_it_lies(resolved.get(), label, tensor)) return false;
  // The export of a plain tensor keeps it.
  is_copy_ = true;
  return true;
}

bool BorrowedArray::borrow_as_it_lies(PyObject* object, Label label, gradstep_tensor* tensor) {
  for (const auto protocol : {&BorrowedArray::from_buffer, &BorrowedArray::from_exchange_table,
                              &BorrowedArray::from_array_struct, &BorrowedArray::from_dlpack}) {
    const Outcome outcome = (this->*protocol)(object, label, tensor);
    if (outcome != Outcome::not_offered) return outcome == Outcome::done;
  }
  return raise_error(
      GRADSTEP_ERR_INVALID_ARGUMENT,
      label.text() + ": expected an array (buffer protocol or __dlpack__), found " + type_name_of(object));
}

BorrowedArray::Outcome BorrowedArray::from_buffer(PyObject* object, Label label, gradstep_tensor* tensor) {
  if (!PyObject_CheckBuffer(object)) return Outcome::not_offered;
  if (PyObject_GetBuffer(object, &view_, PyBUF_RECORDS_RO) != 0) {
    // NumPy has no format letter for some dtypes, JAX none for bfloat16: they have another protocol for those.
    PyErr_Clear();
    return Outcome::not_offered;
  }
  tensor->data = view_.buf;
  tensor->device = {GRADSTEP_DEVICE_CPU, 0};
  tensor->ndim = view_.ndim;
  tensor->dtype = dtype_of_format(view_.format, view_.itemsize);
  tensor->shape = reinterpret_cast<std::int64_t*>(view_.shape);
  read_only_ = view_.readonly != 0;
  if (tensor->dtype.bits == 0) {
    raise_error(GRADSTEP_ERR_INVALID_ARGUMENT,
                label.text() + ": elements of format '" + view_.format + "', expected native floating-point numbers");
    return Outcome::failed;
  }
  return set_strides(view_.strides, view_.itemsize, label, tensor) ? Outcome::done : Outcome::failed;
}

BorrowedArray::Outcome BorrowedArray::from_array_struct(PyObject* object, Label label, gradstep_tensor* tensor) {
  keep_alive_ = optional_attribute(object, "__array_struct__");
  if (!keep_alive_ || !PyCapsule_IsValid(keep_alive_.get(), nullptr)) return Outcome::not_offered;
  const ObjectRef dtype = optional_attribute(object, "dtype");
  const std::string name = dtype ? text_of(dtype.get()) : "?";
  const auto* array = static_cast<ArrayInterface*>(PyCapsule_GetPointer(keep_alive_.get(), nullptr));
  if (array->two != 2 || name != "bfloat16" || array->item_size != 2 ||
      (array->flags & kArrayInterfaceNotSwapped) == 0) {
    raise_error(GRADSTEP_ERR_INVALID_ARGUMENT,
                label.text() + ": dtype " + name + ", expected native floating-point numbers");
    return Outcome::failed;
  }
  tensor->data = array->data;
  tensor->device = {GRADSTEP_DEVICE_CPU, 0};
  tensor->ndim = array->ndim;
  tensor->dtype = {GRADSTEP_TYPE_BFLOAT, 16, 1};
  tensor->shape = reinterpret_cast<std::int64_t*>(array->shape);
  read_only_ = (array->flags & kArrayInterfaceWriteable) == 0;
  return set_strides(array->strides, array->item_size, label, tensor) ? Outcome::done : Outcome::failed;
}

BorrowedArray::Outcome BorrowedArray::from_exchange_table(PyObject* object, Label label, gradstep_tensor* tensor) {
  const DLPackExchangeTable* table = exchange_table_of(Py_TYPE(object));
  if (table == nullptr) return Outcome::not_offered;
  if (table->managed_tensor_from_object(object, &managed_) != 0) {
    managed_ = nullptr;
    raise_error_from_current(GRADSTEP_ERR_INVALID_ARGUMENT, label.text() + ": cannot be shared through DLPack");
    return Outcome::failed;
  }
  *tensor = managed_->tensor;
  read_only_ = (managed_->flags & kDLPackFlagReadOnly) != 0;
  by_dlpack_ = true;
  return Outcome::done;
}

// The capsule is only borrowed: it keeps its name, and with it the duty to free the tensor, and lives as long as this.
BorrowedArray::Outcome BorrowedArray::from_dlpack(PyObject* object, Label label, gradstep_tensor* tensor) {
  ObjectRef detached;
  const ObjectRef requires_grad = optional_attribute(object, "requires_grad");
  if (requires_grad && PyObject_IsTrue(requires_grad.get()) == 1) {
    detached = call_method(object, "detach", nullptr);
    if (detached) object = detached.get();
    PyErr_Clear();
  }
  const ObjectRef method = optional_attribute(object, "__dlpack__");
  if (!method) return Outcome::not_offered;
  by_dlpack_ = true;
  const ObjectRef keywords = dlpack_keywords(object);
  if (!keywords) return Outcome::failed;
  static PyObject* const no_arguments = PyTuple_New(0);
  const auto export_capsule = [&] { return PyObject_Call(method.get(), no_arguments, keywords.get()); };
  keep_alive_ = ObjectRef(stopping_at_exit(export_capsule));
  if (!keep_alive_ && PyErr_ExceptionMatches(PyExc_TypeError)) {
    PyErr_Clear();  // from before DLPack 1.0
    PyDict_DelItemString(keywords.get(), "max_version");
    keep_alive_ = ObjectRef(stopping_at_exit(export_capsule));
  }
  if (!keep_alive_) {
    raise_error_from_current(GRADSTEP_ERR_INVALID_ARGUMENT, label.text() + ": cannot be shared through DLPack");
    return Outcome::failed;
  }
  if (PyCapsule_IsValid(keep_alive_.get(), "dltensor_versioned")) {
    const auto* managed =
        static_cast<ManagedTensorVersioned*>(PyCapsule_GetPointer(keep_alive_.get(), "dltensor_versioned"));
    if (managed->version.major == kDLPackMajorVersion) {
      *tensor = managed->tensor;
      read_only_ = (managed->flags & kDLPackFlagReadOnly) != 0;
      return Outcome::done;
    }
  } else if (PyCapsule_IsValid(keep_alive_.get(), "dltensor")) {
    *tensor = static_cast<ManagedTensor*>(PyCapsule_GetPointer(keep_alive_.get(), "dltensor"))->tensor;
    read_only_ = !exports_writable(Py_TYPE(object));
    return Outcome::done;
  }
  raise_error(GRADSTEP_ERR_INVALID_ARGUMENT,
              label.text() + ": __dlpack__ of " + type_name_of(object) + " gave no DLPack 1 capsule");
  return Outcome::failed;
}

bool BorrowedArray::set_strides(const std::intptr_t* byte_strides, std::int64_t item_size, Label label,
                                gradstep_tensor* tensor) {
  tensor->strides = nullptr;
  tensor->byte_offset = 0;
  if (is_compact(item_size, tensor->ndim, tensor->shape, byte_strides)) return true;
  strides_ = std::make_unique<std::int64_t[]>(static_cast<std::size_t>(tensor->ndim));
  for (std::int32_t axis = 0; axis < tensor->ndim; ++axis) {
    if (byte_strides[axis] % item_size != 0) {
      return raise_error(GRADSTEP_ERR_INVALID_ARGUMENT, label.text() + ": stride " +
                                                            std::to_string(byte_strides[axis]) + " of axis " +
                                                            std::to_string(axis) + " is no multiple of the element's " +
                                                            std::to_string(item_size) + " bytes");
    }
    strides_[static_cast<std::size_t>(axis)] = byte_strides[axis] / item_size;
  }
  tensor->strides = strides_.get();
  return true;
}

}  // namespace gradstep_python
