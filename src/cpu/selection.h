// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Selecting by magnitude and summing what was selected, over all threads. Results depend on the data alone.
#pragma once

#include "backend/context.h"
#include "cpu/loops.h"

namespace gradstep::cpu {

void select_elements(Context& context, const Loops& loops, const SelectJob& job, std::vector<std::int32_t>& indices);

void sum_sparse_lists(Context& context, const Loops& loops, const SparseSum& job, std::vector<std::int32_t>& touched);

}  // namespace gradstep::cpu
