// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "numpy_arrays.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace gradstep_python {

namespace {

/// PyArrayObject_fields, as far as it is read.
struct ArrayFields {
  std::byte head[2 * sizeof(void*)];  // PyObject_HEAD of the limited API
  char* data;
  int ndim;
  std::int64_t* dimensions;
  std::int64_t* strides;
  PyObject* base;
  PyObject* dtype;
  int flags;
};

constexpr int kContiguous = 0x1;
constexpr int kWriteable = 0x400;
constexpr int kWarnsWhenWritten = 1 << 31;

const ArrayFields& fields_of(PyObject* array) { return *reinterpret_cast<const ArrayFields*>(array); }

/// References are kept for good: a type or dtype that is gone could leave its address to another.
struct Known {
  enum class Layout : std::uint8_t { unknown, as_expected, other } layout = Layout::unknown;
  PyTypeObject* type = nullptr;
  struct Dtype {
    PyObject* object = nullptr;
    gradstep_dtype dtype{};
  };
  std::array<Dtype, 8> dtypes;

  const Dtype* find(PyObject* object) const {
    for (const Dtype& known : dtypes) {
      if (known.object == object) return &known;
    }
    return nullptr;
  }
};

Known known;

void find_type() {
  const ObjectRef numpy(PyImport_ImportModule("numpy"));
  ObjectRef type = numpy ? optional_attribute(numpy.get(), "ndarray") : ObjectRef();
  const ObjectRef size = type ? optional_attribute(type.get(), "__basicsize__") : ObjectRef();
  const long long bytes = size ? PyLong_AsLongLong(size.get()) : -1;
  PyErr_Clear();
  if (bytes < static_cast<long long>(sizeof(ArrayFields))) {
    known.layout = Known::Layout::other;
    return;
  }
  known.type = reinterpret_cast<PyTypeObject*>(type.release());
}

bool agree(const ArrayFields& fields, const gradstep_tensor& tensor, bool read_only) {
  return fields.data == tensor.data && fields.ndim == tensor.ndim && ((fields.flags & kWriteable) == 0) == read_only &&
         (fields.ndim == 0 || std::equal(tensor.shape, tensor.shape + tensor.ndim, fields.dimensions));
}

}  // namespace

bool read_numpy_array(PyObject* object, gradstep_tensor* tensor, bool* read_only) {
  if (known.layout != Known::Layout::as_expected || Py_TYPE(object) != known.type) return false;
  const ArrayFields& fields = fields_of(object);
  if ((fields.flags & (kContiguous | kWarnsWhenWritten)) != kContiguous) return false;
  const Known::Dtype* dtype = known.find(fields.dtype);
  if (dtype == nullptr) return false;
  *tensor = {.data = fields.data,
             .device = {GRADSTEP_DEVICE_CPU, 0},
             .ndim = fields.ndim,
             .dtype = dtype->dtype,
             .shape = fields.dimensions,
             .strides = nullptr,
             .byte_offset = 0};
  *read_only = (fields.flags & kWriteable) == 0;
  return true;
}

void learn_numpy_array(PyObject* object, const gradstep_tensor& tensor, bool read_only) {
  if (known.layout == Known::Layout::other) return;
  if (known.type == nullptr) find_type();
  if (Py_TYPE(object) != known.type) return;
  const ArrayFields& fields = fields_of(object);
  if (!agree(fields, tensor, read_only)) {
    known.layout = Known::Layout::other;
    return;
  }
  known.layout = Known::Layout::as_expected;
  if (known.find(fields.dtype) != nullptr) return;
  for (Known::Dtype& free : known.dtypes) {
    if (free.object != nullptr) continue;
    free = {ObjectRef::borrow(fields.dtype).release(), tensor.dtype};
    return;
  }
}

}  // namespace gradstep_python
