// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Numbers of one parameter that stay from window to window.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/array.h"

namespace gradstep {

/// Numbers below it neither become infinite in a sum of two, nor where one is added to any finite number.
inline double safe_bound(DType dtype) { return dtype == DType::f64 ? 0x1p900 : 0x1p100; }

struct KeptTensor {
  std::size_t position = 0;  ///< of the parameter in the bucket
  const char* name = "";
  Array array;
  /// Empty = the parameter's.
  std::vector<std::int64_t> shape = {};  // NOLINT(readability-redundant-member-init): lists may leave it out
  bool replicated = false;               ///< the same on all ranks; else this rank's own, to be added up
  bool is_scaled = true;                 ///< as gradients are, by the loss scale
};

/// Lists `memory`, in which parameters of `sizes` elements lie one after the other.
inline void list_kept(std::vector<KeptTensor>& list, const char* name, const Array& memory,
                      std::span<const std::int64_t> sizes, bool replicated = false) {
  auto* first = static_cast<std::byte*>(memory.data);
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    list.push_back({i, name, compact_array(first, sizes[i], memory.dtype), {}, replicated});
    first += sizes[i] * size_of(memory.dtype);
  }
}

}  // namespace gradstep
