// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "array_results.h"

#include <algorithm>
#include <string>

#include "tensor_arguments.h"

namespace gradstep_python {

namespace {

std::string dtype_name(gradstep_dtype dtype) {
  static constexpr const char* kKinds[] = {"int", "uint", "float", "", "bfloat"};
  const char* kind = dtype.code < 5 ? kKinds[dtype.code] : "";
  return *kind != '\0' ? kind + std::to_string(dtype.bits) : "unknown";
}

ObjectRef shape_tuple(const gradstep_tensor& tensor) {
  ObjectRef shape(PyTuple_New(tensor.ndim));
  for (std::int32_t axis = 0; shape && axis < tensor.ndim; ++axis) {
    PyTuple_SetItem(shape.get(), axis, PyLong_FromLongLong(tensor.shape[axis]));
  }
  return shape;
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

PyObject* describe_view(const gradstep_tensor& tensor) {
  // A tensor of no elements is there whatever its address.
  const bool empty = std::find(tensor.shape, tensor.shape + tensor.ndim, 0) != tensor.shape + tensor.ndim;
  if (tensor.data == nullptr && !empty) return ObjectRef::borrow(Py_None).release();
  const ObjectRef shape = shape_tuple(tensor);
  if (!shape) return nullptr;
  const auto address = static_cast<unsigned long long>(reinterpret_cast<std::uintptr_t>(tensor.data));
  return Py_BuildValue("(KOs)", address + tensor.byte_offset, shape.get(), dtype_name(tensor.dtype).c_str());
}

PyObject* describe_views(const std::vector<gradstep_tensor>& tensors) {
  ObjectRef list(PyList_New(0));
  for (const gradstep_tensor& tensor : tensors) {
    const ObjectRef view(list ? describe_view(tensor) : nullptr);
    if (!view || PyList_Append(list.get(), view.get()) != 0) return nullptr;
  }
  return list.release();
}

}  // namespace gradstep_python
