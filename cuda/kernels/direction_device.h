// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <type_traits>

#include "device/view.h"
#include "kernels/blocks.h"
#include "rules/shampoo.h"

namespace gradstep::cuda {

/// A state of a tensor, in the arithmetic of T or in bf16.
template <class T>
class StateNumbers {
 public:
  GRADSTEP_DEVICE StateNumbers(const TensorItem& tensor, void* numbers, bool is_narrow, int stream)
      : rounding_(tensor.rounding), numbers_(numbers), is_narrow_(is_narrow), stream_(stream) {}

  GRADSTEP_DEVICE bool exists() const { return numbers_ != nullptr; }
  GRADSTEP_DEVICE T load(const Block& block, std::int64_t i) const {
    if constexpr (std::is_same_v<T, float>) {
      if (is_narrow_) return kernels::to_float(block.load(static_cast<const BFloat16*>(numbers_) + i));
    }
    return block.load(static_cast<const T*>(numbers_) + i);
  }
  GRADSTEP_DEVICE void store(const Block& block, std::int64_t i, T x) const {
    if constexpr (std::is_same_v<T, float>) {
      if (is_narrow_) {
        return block.store(static_cast<BFloat16*>(numbers_) + i, rounding_.template round<BFloat16>(x, stream_, i));
      }
    }
    block.store(static_cast<T*>(numbers_) + i, x);
  }

 private:
  kernels::TensorRounding rounding_;
  void* numbers_;
  bool is_narrow_;
  int stream_;
};

// `moved`: when moments have followed their bases.
template <class T>
GRADSTEP_DEVICE StateNumbers<T> statistics_of(const TensorItem& tensor, bool moved = false) {
  return {tensor, tensor.statistics, tensor.narrow_state != 0,
          moved ? kMovedStatisticsStream : kDiagonalStatisticsStream};
}
template <class T>
GRADSTEP_DEVICE StateNumbers<T> exp_avg_of(const TensorItem& tensor, bool moved = false) {
  return {tensor, tensor.exp_avg, tensor.narrow_state != 0, moved ? kMovedExpAvgStream : kDiagonalExpAvgStream};
}

/// Whether the tensor's arithmetic is T.
template <class T>
GRADSTEP_DEVICE bool is_in(const TensorItem& tensor) {
  return (tensor.is_wide != 0) == std::is_same_v<T, double>;
}

/// The direction of g at element i of a tensor, whose states take g in.
template <class T, class Rule>
GRADSTEP_DEVICE T direct(const Block& block, const Rule& rule, const TensorItem& tensor, T g, std::int64_t i) {
  const StateNumbers<T> states[] = {Rule::kStates == 2 ? exp_avg_of<T>(tensor) : statistics_of<T>(tensor),
                                    statistics_of<T>(tensor)};
  T state[2];
  for (int s = 0; s < Rule::kStates; ++s) state[s] = states[s].load(block, i);
  const T direction = rule(g, g, state);
  for (int s = 0; s < Rule::kStates; ++s) states[s].store(block, i, state[s]);
  return direction;
}

}  // namespace gradstep::cuda
