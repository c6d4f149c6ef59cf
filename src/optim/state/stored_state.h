// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/array.h"
#include "core/slice.h"

namespace gradstep {

/// One array of the state in the form that it is kept in: this rank's part of it. A tensor in codes has several.
struct StoredState {
  std::size_t parameter = 0;
  std::string name;        ///< "exp_avg"; factors of codes have one of their own: "exp_avg.scales"
  Array array;             ///< contiguous; elements [begin, begin + size) of the rank's whole array
  std::int64_t begin = 0;  ///< 0 and all of them, unless the state was dealt out
  /// Elements of the parameter as this host has it, which may be a part; of factors one per 256 of them.
  std::int64_t total = 0;
  bool is_blocked = false;  ///< factors
  /// >= 0: the one rank that has it, whole; the others have nothing of it.
  std::int32_t owner = -1;
  /// Shape of the whole array; empty = the parameter's shape, or the length of the list of factors.
  std::vector<std::int64_t> shape = {};  // NOLINT(readability-redundant-member-init): lists may leave it out
  /// How 8-bit codes are read. Their factors are the stored state after this one.
  enum class Code : std::uint8_t { none, of_magnitudes, with_signs } code = Code::none;
  bool is_whole = false;  ///< never cut into slices: every rank has all of it, or its owner
};

}  // namespace gradstep
