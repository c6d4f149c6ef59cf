// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "accumulate/rows.h"

#include <algorithm>
#include <cstdlib>

#include "backend/host_copies.h"
#include "core/error.h"

namespace gradstep {

namespace {

std::int64_t step_of(const Array& indices) { return indices.contiguous() ? 1 : indices.strides[0]; }

void check_host_indices(const Parameter& parameter, std::size_t position, const Array& indices, const void* data) {
  const std::int64_t step = step_of(indices);
  for (std::int64_t k = 0; k < indices.size; ++k) {
    const std::int64_t row = indices.dtype == DType::i32 ? static_cast<const std::int32_t*>(data)[k * step]
                                                         : static_cast<const std::int64_t*>(data)[k * step];
    if (row < 0 || row >= parameter.shape[0]) {
      fail_argument("rows[{}].indices[{}]: is {}, parameter '{}' has {} rows", position, k, row, parameter.name,
                    parameter.shape[0]);
    }
  }
}

}  // namespace

void check_indices(const Context& context, const Site& site, const Schema& schema, std::size_t position,
                   const AddedRows& rows) {
  const Parameter& parameter = schema[rows.parameter];
  const Array& indices = rows.indices;
  if (site.is_host() || indices.size == 0) return check_host_indices(parameter, position, indices, indices.data);
  const std::int64_t width = size_of(indices.dtype);
  const std::int64_t reach = (indices.size - 1) * step_of(indices) * width;
  const std::int64_t low = std::min<std::int64_t>(reach, 0);
  const Array all = compact_array(static_cast<std::byte*>(indices.data) + low, std::abs(reach) + width, DType::u8);
  const Buffer there = download(context, site, all);
  check_host_indices(parameter, position, indices, there.as<std::byte>() - low);
}

}  // namespace gradstep
