// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "tensor_arguments.h"

#include <cstring>

#include "errors.h"
#include "exchange_table.h"
#include "numpy_arrays.h"
#include "text_arguments.h"

namespace gradstep_python {

namespace {

// What an empty list is given as: gradstep reads NULL as a list that was left out.
gradstep_tensor no_tensors[1] = {};

constexpr const char* kLentArray = "gradstep.lent_array";

constexpr Py_ssize_t kAhead = 8;  // objects of a list that are prefetched

TensorArgument* lent_array(PyObject* capsule) {
  return static_cast<TensorArgument*>(PyCapsule_GetPointer(capsule, kLentArray));
}

/// Lists and tuples, which are looked at first, are none.
bool is_array(PyObject* object) {
  if (PyList_Check(object) || PyTuple_Check(object)) return false;
  return PyObject_CheckBuffer(object) || PyObject_HasAttrString(object, "__dlpack__") != 0;
}

Py_ssize_t fast_size(PyObject* items) { return PyList_Check(items) ? PyList_Size(items) : PyTuple_Size(items); }

PyObject* fast_item(PyObject* items, Py_ssize_t i) {
  return PyList_Check(items) ? PyList_GetItem(items, i) : PyTuple_GetItem(items, i);
}

bool raise_unusable(const std::string& label, const std::string& type, const char* why) {
  return raise_error(GRADSTEP_ERR_INVALID_ARGUMENT, label + ": " + type + " " + why);
}

/// The items of a sequence as a list or tuple; an error that names the argument if there are not `expected` of them.
ObjectRef items_of(PyObject* sequence, const char* name, std::size_t expected) {
  ObjectRef items(PySequence_Fast(sequence, ""));
  if (!items) {
    PyErr_Clear();
    raise_error(GRADSTEP_ERR_INVALID_ARGUMENT,
                std::string(name) + ": expected a sequence, found " + type_name_of(sequence));
    return {};
  }
  if (static_cast<std::size_t>(fast_size(items.get())) != expected) {
    raise_error(GRADSTEP_ERR_INVALID_ARGUMENT, std::string(name) + ": " + std::to_string(fast_size(items.get())) +
                                                   " entries, expected " + std::to_string(expected));
    return {};
  }
  return items;
}

}  // namespace

bool TensorList::convert(PyObject* sequence, const char* name, Access access) {
  name_ = name;
  access_ = access;
  // A tuple, because conversions may call Python code that changes the list. The package has put a dict in order
  // before, if the handle has names.
  const bool is_none = is_array(sequence) || PyDict_Check(sequence) != 0;
  items_ = ObjectRef(is_none ? nullptr : PySequence_Tuple(sequence));
  if (!items_) {
    PyErr_Clear();
    return raise_error(GRADSTEP_ERR_INVALID_ARGUMENT,
                       std::string(name) + ": expected a sequence of arrays, found " + type_name_of(sequence));
  }
  const Py_ssize_t n = PyTuple_Size(items_.get());
  tensors_.resize(static_cast<std::size_t>(n));
  for (Py_ssize_t i = 0; i < n; ++i) {
    if (i + kAhead < n) prefetch_array(PyTuple_GetItem(items_.get(), i + kAhead));
    PyObject* item = PyTuple_GetItem(items_.get(), i);
    const char* why_not_written = nullptr;
    if (!convert_item(item, static_cast<std::size_t>(i), &why_not_written)) return false;
    if (access_ != Access::read && why_not_written_ == nullptr && why_not_written != nullptr) {
      first_not_written_ = static_cast<std::size_t>(i);
      why_not_written_ = why_not_written;
      not_written_type_ = type_name_of(item);
    }
  }
  return true;
}

bool TensorList::convert_item(PyObject* item, std::size_t i, const char** why_not_written) {
  bool read_only = false;
  if (item == Py_None) return true;
  if (read_numpy_array(item, &tensors_[i], &read_only)) {
    if (read_only) *why_not_written = BorrowedArray::kIsReadOnly;
    return true;
  }
  if (PyCapsule_IsValid(item, kLentArray) != 0) {
    tensors_[i] = *lent_array(item)->tensor();
    *why_not_written = lent_array(item)->array().why_not_written();
    return true;
  }
  if (read_by_exchange_table(item, &tensors_[i])) return true;
  BorrowedArray& array = arrays_.emplace_front();
  if (!array.borrow(item, {name_, i}, &tensors_[i])) return false;
  *why_not_written = array.why_not_written();
  learn_numpy_array(item, tensors_[i], *why_not_written != nullptr);
  return true;
}

bool TensorList::check_writable() const {
  if (why_not_written_ == nullptr) return true;
  return raise_unusable(Label{name_, first_not_written_}.text(), not_written_type_, why_not_written_);
}

bool TensorArguments::add(PyObject* sequence, const char* name, Access access, gradstep_tensor** out) {
  *out = nullptr;
  if (sequence == Py_None) return true;
  TensorList& list = lists_[used_++];
  if (!list.convert(sequence, name, access)) return false;
  *out = list.size() > 0 ? list.tensors() : no_tensors;
  return true;
}

bool TensorArguments::finish(std::size_t* n) const {
  *n = used_ > 0 ? lists_[0].size() : 0;
  bool has_updates = false;
  for (std::size_t i = 0; i < used_; ++i) has_updates |= std::strcmp(lists_[i].name(), "updates") == 0;
  for (std::size_t i = 0; i < used_; ++i) {
    const TensorList& list = lists_[i];
    if (list.size() != *n) {
      return raise_error(GRADSTEP_ERR_INVALID_ARGUMENT, std::string(list.name()) + ": " + std::to_string(list.size()) +
                                                            " arrays, " + lists_[0].name() + " has " +
                                                            std::to_string(*n));
    }
    const bool written = list.access() == Access::write || (list.access() != Access::read && !has_updates);
    if (written && !list.check_writable()) return false;
  }
  return true;
}

bool TensorArgument::convert(PyObject* object, const char* name, Access access) {
  if (PyCapsule_IsValid(object, kLentArray) != 0 && access == Access::read) {
    tensor_ = lent_array(object)->tensor_;
    return true;
  }
  if (!array_.borrow(object, {name}, &tensor_)) return false;
  const char* why_not = access == Access::read ? nullptr : array_.why_not_written();
  return why_not == nullptr || raise_unusable(name, type_name_of(object), why_not);
}

PyObject* lend_array(PyObject* array, const char* name) {
  auto lent = std::make_unique<TensorArgument>();
  if (!lent->convert(array, name, Access::read)) return nullptr;
  if (lent->array().is_copy()) {
    raise_unusable(name, type_name_of(array), BorrowedArray::kIsNegative);
    return nullptr;
  }
  PyObject* capsule = PyCapsule_New(lent.get(), kLentArray, [](PyObject* self) { delete lent_array(self); });
  if (capsule != nullptr) static_cast<void>(lent.release());  // the capsule's
  return capsule;
}

bool SchemaArguments::convert(PyObject* schema) {
  if (!PyTuple_Check(schema) || PyTuple_Size(schema) != 5) {
    PyErr_SetString(PyExc_TypeError, "a schema is a tuple (arrays, names, groups, may_be_unused, parts)");
    return false;
  }
  if (!arrays_.convert(PyTuple_GetItem(schema, 0), "parameters", Access::read)) return false;
  parameters_.resize(arrays_.size());
  for (std::size_t i = 0; i < arrays_.size(); ++i) {
    const gradstep_tensor& tensor = arrays_.tensors()[i];
    if (tensor.data == nullptr && tensor.ndim == 0) {
      return raise_error(GRADSTEP_ERR_INVALID_ARGUMENT,
                         Label{"parameters", i}.text() + ": expected an array, found None");
    }
    gradstep_parameter& parameter = parameters_[i];
    parameter.struct_size = sizeof parameter;
    parameter.shape = tensor.shape;
    parameter.ndim = tensor.ndim;
    parameter.dtype = tensor.dtype;
    parameter.device = tensor.device;
  }
  return set_names(PyTuple_GetItem(schema, 1)) && set_groups(PyTuple_GetItem(schema, 2)) &&
         set_flags(PyTuple_GetItem(schema, 3)) && set_parts(PyTuple_GetItem(schema, 4));
}

bool SchemaArguments::set_names(PyObject* names) {
  if (names == Py_None) return true;
  const ObjectRef items = items_of(names, "names", size());
  if (!items) return false;
  names_.reserve(size());
  for (std::size_t i = 0; i < size(); ++i) {
    PyObject* item = fast_item(items.get(), static_cast<Py_ssize_t>(i));
    const Label label{"names", i};
    if (!PyUnicode_Check(item)) {
      return raise_error(GRADSTEP_ERR_INVALID_ARGUMENT, label.text() + ": expected a str, found " + type_name_of(item));
    }
    if (!read_text(item, label.text(), &names_.emplace_back())) return false;
    parameters_[i].name = names_.back().c_str();
  }
  return true;
}

bool SchemaArguments::set_groups(PyObject* groups) {
  if (groups == Py_None) return true;
  const ObjectRef items = items_of(groups, "groups", size());
  if (!items) return false;
  for (std::size_t i = 0; i < size(); ++i) {
    const long group = PyLong_AsLong(fast_item(items.get(), static_cast<Py_ssize_t>(i)));
    if (group == -1 && PyErr_Occurred() != nullptr) {
      return raise_error_from_current(GRADSTEP_ERR_INVALID_ARGUMENT, Label{"groups", i}.text());
    }
    parameters_[i].group = static_cast<std::int32_t>(group);
  }
  return true;
}

bool SchemaArguments::set_flags(PyObject* may_be_unused) {
  if (may_be_unused == Py_None) return true;
  const ObjectRef items = items_of(may_be_unused, "may_be_unused", size());
  if (!items) return false;
  for (std::size_t i = 0; i < size(); ++i) {
    const int flag = PyObject_IsTrue(fast_item(items.get(), static_cast<Py_ssize_t>(i)));
    if (flag < 0) return false;
    if (flag == 1) parameters_[i].flags = GRADSTEP_PARAMETER_MAY_BE_UNUSED;
  }
  return true;
}

bool SchemaArguments::set_parts(PyObject* parts) {
  if (parts == Py_None) return true;
  const ObjectRef items = items_of(parts, "parts", size());
  if (!items) return false;
  for (std::size_t i = 0; i < size(); ++i) {
    PyObject* item = fast_item(items.get(), static_cast<Py_ssize_t>(i));
    if (item == Py_None) continue;
    const std::string label = Label{"parts", i}.text();
    gradstep_parameter& parameter = parameters_[i];
    const ObjectRef pair = items_of(item, label.c_str(), 2);
    if (!pair || !read_axes(fast_item(pair.get(), 0), label + "[0]", parameter.ndim, &parameter.whole_shape) ||
        !read_axes(fast_item(pair.get(), 1), label + "[1]", parameter.ndim, &parameter.offset)) {
      return false;
    }
  }
  return true;
}

bool SchemaArguments::read_axes(PyObject* sequence, const std::string& label, std::int32_t ndim, const int64_t** out) {
  const ObjectRef items = items_of(sequence, label.c_str(), static_cast<std::size_t>(ndim));
  if (!items) return false;
  std::vector<std::int64_t>& numbers = axes_.emplace_front();
  for (Py_ssize_t axis = 0; axis < ndim; ++axis) {
    numbers.push_back(PyLong_AsLongLong(fast_item(items.get(), axis)));
    if (numbers.back() == -1 && PyErr_Occurred() != nullptr) {
      return raise_error_from_current(GRADSTEP_ERR_INVALID_ARGUMENT, label);
    }
  }
  *out = numbers.data();
  return true;
}

bool RowsArguments::convert(PyObject* rows) {
  const ObjectRef items(PySequence_Fast(rows, "rows: expected a sequence of (parameter, indices, values)"));
  if (!items) return false;
  const auto n = static_cast<std::size_t>(fast_size(items.get()));
  rows_.resize(n);
  tensors_ = std::make_unique<TensorArgument[]>(2 * n);
  for (std::size_t i = 0; i < n; ++i) {
    PyObject* row = fast_item(items.get(), static_cast<Py_ssize_t>(i));
    if (!PyTuple_Check(row) || PyTuple_Size(row) != 3) {
      PyErr_SetString(PyExc_TypeError, "rows: expected tuples (parameter, indices, values)");
      return false;
    }
    const long long parameter = PyLong_AsLongLong(PyTuple_GetItem(row, 0));
    if (parameter == -1 && PyErr_Occurred() != nullptr) return false;
    TensorArgument* pair = &tensors_[2 * i];
    if (!pair[0].convert(PyTuple_GetItem(row, 1), "indices", Access::read)) return false;
    if (!pair[1].convert(PyTuple_GetItem(row, 2), "values", Access::read)) return false;
    rows_[i] = {sizeof(gradstep_rows), 0, parameter, pair[0].tensor(), pair[1].tensor()};
  }
  return true;
}

}  // namespace gradstep_python
