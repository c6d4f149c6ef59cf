// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// How a block walks through a chunk (backend/work_list.h): four elements at a time where all operands are aligned.
#pragma once

#include "backend/work_list.h"
#include "device/view.h"

namespace gradstep::cuda {

/// body(first element) for groups of four and rest(element) for what is left of elements [begin, begin + length), which
/// the block's threads share out.
template <class Four, class One>
GRADSTEP_DEVICE void walk(const Block& block, std::int64_t begin, std::int64_t length, bool in_fours, Four four,
                          One one) {
  const std::int64_t whole = in_fours ? length / 4 * 4 : 0;
  for (std::int64_t i = 4 * block.thread(); i < whole; i += 4 * block.threads()) four(begin + i);
  for (std::int64_t i = whole + block.thread(); i < length; i += block.threads()) one(begin + i);
}

}  // namespace gradstep::cuda
