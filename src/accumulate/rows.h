// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "backend/context.h"
#include "core/schema.h"

namespace gradstep {

/// Rows of one parameter: sum[indices[j]] += values[j].
struct AddedRows {
  std::size_t parameter = 0;
  Array indices;
  Array values;
  std::int64_t row_size = 1;
};

/// Throws INVALID_ARGUMENT for an index outside the parameter; `position` is for its text. On a device this waits for
/// the indices.
void check_indices(const Context& context, const Site& site, const Schema& schema, std::size_t position,
                   const AddedRows& rows);

}  // namespace gradstep
