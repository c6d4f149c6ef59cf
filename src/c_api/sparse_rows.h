// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "accumulate/accumulator.h"
#include "gradstep/accumulator.h"

namespace gradstep {

/// Checks a host's rows against what they are added to, but for the indices' values. Throws INVALID_ARGUMENT.
std::vector<AddedRows> read_rows(const Accumulator& accumulator, const gradstep_rows* rows, std::size_t n_rows);

}  // namespace gradstep
