// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Python arrays as gradstep_tensor arguments of one call, without a copy.
//
// An array is read by the first of these that works:
//   its memory             numpy.ndarray in lists (numpy_arrays.h)
//   buffer protocol        NumPy and everything like it
//   C exchange table       DLPack 1.2's __dlpack_c_exchange_api__ (PyTorch): no Python call per array, and in lists no
//                          allocation (exchange_table.h)
//   __array_struct__       NumPy arrays of dtypes that buffers cannot name (bfloat16 of ml_dtypes)
//   __dlpack__()           everyone else; tensors that require a gradient are detached first
#pragma once

#include <array>
#include <cstdint>
#include <forward_list>
#include <memory>
#include <string>
#include <vector>

#include "array_protocols.h"
#include "gradstep/accumulator.h"
#include "gradstep/tensor.h"
#include "python_object.h"

namespace gradstep_python {

enum class Access {
  read,
  write,
  /// Written, unless the same call is given a list named "updates".
  write_without_updates,
};

/// "grads[3]", made into text only when a message needs it.
struct Label {
  static constexpr std::size_t kSingle = SIZE_MAX;
  const char* name;
  std::size_t index = kSingle;
  std::string text() const;
};

/// One array, borrowed for as long as this lives.
class BorrowedArray {
 public:
  BorrowedArray() = default;
  BorrowedArray(const BorrowedArray&) = delete;
  BorrowedArray& operator=(const BorrowedArray&) = delete;
  ~BorrowedArray();

  /// Fills *tensor. False with a Python error if the object is no array that gradstep can name.
  bool borrow(PyObject* object, Label label, gradstep_tensor* tensor);
  static constexpr const char* kIsNegative =
      "has the negative bit, and its memory other numbers: give resolve_neg() of it";
  static constexpr const char* kIsReadOnly = "is read-only, expected a writable array";

  /// Why the array cannot be written: it is read-only, or a copy of what has no memory of its own. Else NULL.
  const char* why_not_written() const {
    if (is_copy_) return kIsNegative;
    return read_only_ ? kIsReadOnly : nullptr;
  }
  /// Whether later changes of the array will not be seen here.
  bool is_copy() const { return is_copy_; }

 private:
  /// How a protocol fared: the last two end the search.
  enum class Outcome { not_offered, done, failed };

  bool borrow_as_it_lies(PyObject* object, Label label, gradstep_tensor* tensor);
  bool resolve_negative(PyObject* object, Label label, gradstep_tensor* tensor);
  void release();
  Outcome from_buffer(PyObject* object, Label label, gradstep_tensor* tensor);
  Outcome from_array_struct(PyObject* object, Label label, gradstep_tensor* tensor);
  Outcome from_exchange_table(PyObject* object, Label label, gradstep_tensor* tensor);
  Outcome from_dlpack(PyObject* object, Label label, gradstep_tensor* tensor);
  bool set_strides(const std::intptr_t* byte_strides, std::int64_t item_size, Label label, gradstep_tensor* tensor);

  Py_buffer view_{};  // not moved once filled: exporters may point into it
  ManagedTensorVersioned* managed_ = nullptr;
  ObjectRef keep_alive_;
  std::unique_ptr<std::int64_t[]> strides_;
  bool read_only_ = false;
  bool by_dlpack_ = false;
  bool is_copy_ = false;
};

/// A sequence of arrays, or of what lend_array() made of some; None stands for "none this time" and becomes a zeroed
/// tensor.
class TensorList {
 public:
  bool convert(PyObject* sequence, const char* name, Access access);
  gradstep_tensor* tensors() { return tensors_.data(); }
  std::size_t size() const { return tensors_.size(); }
  const char* name() const { return name_; }
  Access access() const { return access_; }
  /// False with a Python error if one of the arrays may not be written.
  bool check_writable() const;

 private:
  bool convert_item(PyObject* item, std::size_t i, const char** why_not_written);

  const char* name_ = "";
  Access access_ = Access::read;
  std::size_t first_not_written_ = 0;
  const char* why_not_written_ = nullptr;
  std::string not_written_type_;
  std::vector<gradstep_tensor> tensors_;
  ObjectRef items_;                          // a tuple
  std::forward_list<BorrowedArray> arrays_;  // of those items that a protocol has described
};

/// All tensor lists of one call, which share its argument n.
class TensorArguments {
 public:
  /// *out = the array, NULL for None. Empty lists are given as a non-NULL address.
  bool add(PyObject* sequence, const char* name, Access access, gradstep_tensor** out);
  /// Checks that all lists have one length and *n = that; and that what will be written may be.
  bool finish(std::size_t* n) const;

 private:
  std::array<TensorList, 3> lists_;
  std::size_t used_ = 0;
};

/// A single array argument: an array, or what lend_array() made of one.
class TensorArgument {
 public:
  bool convert(PyObject* object, const char* name, Access access);
  gradstep_tensor* tensor() { return &tensor_; }
  const BorrowedArray& array() const { return array_; }

 private:
  BorrowedArray array_;
  gradstep_tensor tensor_{};
};

/// A capsule that stands for `array` in calls after which gradstep goes on using its memory: as long as the capsule
/// lives, the memory neither moves nor goes, whatever becomes of the array. `name` is for messages.
PyObject* lend_array(PyObject* array, const char* name);

/// The `parameters, n` of a create call, from a tuple (arrays, names, groups, may_be_unused, parts); the last four
/// are sequences of the arrays' length, or None. A part is None, or a pair of sequences: the shape of the whole, and
/// where the part begins in it.
class SchemaArguments {
 public:
  bool convert(PyObject* schema);
  gradstep_parameter* parameters() { return parameters_.data(); }
  std::size_t size() const { return parameters_.size(); }

 private:
  bool set_names(PyObject* names);
  bool set_groups(PyObject* groups);
  bool set_flags(PyObject* may_be_unused);
  bool set_parts(PyObject* parts);
  bool read_axes(PyObject* sequence, const std::string& label, std::int32_t ndim, const int64_t** out);

  TensorList arrays_;
  std::vector<std::string> names_;
  std::vector<gradstep_parameter> parameters_;
  std::forward_list<std::vector<std::int64_t>> axes_;  // of parts
};

/// The `rows, n_rows` of an add: a sequence of (parameter index, indices, values).
class RowsArguments {
 public:
  bool convert(PyObject* rows);
  gradstep_rows* data() { return rows_.data(); }
  std::size_t size() const { return rows_.size(); }

 private:
  std::vector<gradstep_rows> rows_;
  std::unique_ptr<TensorArgument[]> tensors_;
};

}  // namespace gradstep_python
