// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "c_api/sparse_rows.h"

#include "c_api/host_tensor.h"
#include "core/error.h"
#include "core/options.h"
#include "core/shape.h"

namespace gradstep {

namespace {

void check_row_indices(std::size_t j, const Array& indices, const gradstep_tensor& tensor) {
  if (!is_float(indices.dtype) && tensor.ndim == 1 && indices.present()) return;
  fail_argument("rows[{}].indices: is {} {}, expected int32 or int64 of one dimension", j, name_of(indices.dtype),
                shape_text(tensor));
}

void check_same_device(std::size_t j, const char* what, gradstep_device device, const Parameter& parameter) {
  if (same_device(home_of(device), parameter.device)) return;
  fail_argument("rows[{}].{}: is on {}, parameter '{}' is on {}", j, what, device_text(device), parameter.name,
                device_text(parameter.device));
}

void check_values(std::size_t j, const Array& values, const gradstep_tensor& tensor, std::int64_t count,
                  const Parameter& parameter, DType sum) {
  std::vector<std::int64_t> expected = parameter.shape.list();
  expected[0] = count;
  if (shape_text(tensor) != shape_text(expected) || !values.present()) {
    fail_argument("rows[{}].values: shape {}, expected {} for parameter '{}'", j, shape_text(tensor),
                  shape_text(expected), parameter.name);
  }
  if (!is_float(values.dtype) || (values.dtype == DType::f64 && sum != DType::f64)) {
    fail_argument("rows[{}].values: dtype {}, the accumulator of parameter '{}' is {}", j, name_of(values.dtype),
                  parameter.name, name_of(sum));
  }
}

AddedRows read_one(const Accumulator& accumulator, std::size_t j, const gradstep_rows& raw) {
  const Schema& schema = accumulator.schema();
  if (raw.parameter < 0 || raw.parameter >= static_cast<std::int64_t>(schema.size())) {
    fail_argument("rows[{}].parameter: is {}, the schema has {} parameters", j, raw.parameter, schema.size());
  }
  const auto i = static_cast<std::size_t>(raw.parameter);
  const Parameter& parameter = schema[i];
  if (parameter.shape.empty()) {
    fail_argument("rows[{}]: parameter '{}' is a scalar, it has no rows", j, parameter.name);
  }
  if (raw.indices == nullptr || raw.values == nullptr) fail_argument("rows[{}]: indices or values is NULL", j);
  AddedRows read;
  read.parameter = i;
  check_same_device(j, "indices", raw.indices->device, parameter);
  check_same_device(j, "values", raw.values->device, parameter);
  read.indices = to_array("rows.indices", j, *raw.indices);
  read.values = to_array("rows.values", j, *raw.values);
  for (std::size_t axis = 1; axis < parameter.shape.size(); ++axis) read.row_size *= parameter.shape[axis];
  check_row_indices(j, read.indices, *raw.indices);
  check_values(j, read.values, *raw.values, read.indices.size, parameter, accumulator.sum_dtype(i));
  return read;
}

}  // namespace

std::vector<AddedRows> read_rows(const Accumulator& accumulator, const gradstep_rows* rows, std::size_t n_rows) {
  if (n_rows > 0 && rows == nullptr) fail_argument("rows: is NULL with n_rows = {}", n_rows);
  const std::size_t stride = n_rows > 0 ? rows[0].struct_size : 0;
  std::vector<AddedRows> read;
  for (std::size_t j = 0; j < n_rows; ++j) {
    const char* bytes = reinterpret_cast<const char*>(rows) + j * stride;
    const auto raw = read_struct("rows", reinterpret_cast<const gradstep_rows*>(bytes));
    if (raw.struct_size != stride) {
      fail_argument("rows[{}]: struct_size is {}, element 0 has {}", j, raw.struct_size, stride);
    }
    read.push_back(read_one(accumulator, j, raw));
  }
  return read;
}

}  // namespace gradstep
