// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// What the printed source of a program (rules/text/print_cuda.h) is made of: its functions are a Text, of which these
// make a rule, and its kernels.
#pragma once

#include "device/measure_sums.h"
#include "device/update.h"
#include "kernels/elementary.h"
#include "kernels/stored.h"

namespace gradstep::cuda {

// Functions of a text that are computed in f64.
template <class T>
GRADSTEP_DEVICE T exponential_of(T x) {
  return static_cast<T>(kernels::exponential(static_cast<double>(x)));
}
template <class T>
GRADSTEP_DEVICE T logarithm_of(T x) {
  return static_cast<T>(kernels::logarithm_of_any(static_cast<double>(x)));
}
template <class T>
GRADSTEP_DEVICE T power_of(T x, T y) {
  return static_cast<T>(kernels::power_of_any(static_cast<double>(x), static_cast<double>(y)));
}

/// `Text` has kStates; kSums; kSign, of what it adds to p, 0 = it says what p becomes; is_of_squares(sum); and
/// step(p, g, states) and measure(p, g, states, terms).
template <class T, class Text>
class ProgramRule {
 public:
  static constexpr bool kIsProgram = true;
  static constexpr int kStates = Text::kStates;
  static constexpr bool kWritesStates = kStates > 0;
  static constexpr bool kHasExactStates = false;
  static constexpr int kSums = Text::kSums;

  GRADSTEP_DEVICE ProgramRule(const Block& block, const double* numbers, const rules::RuleConstants& constants)
      : text_(block, numbers),
        coupled_(static_cast<T>(constants.coupled)),
        decay_(static_cast<T>(constants.decoupled)) {}

  GRADSTEP_DEVICE static constexpr bool is_of_squares(int sum) { return Text::is_of_squares(sum); }

  /// The change of p.
  GRADSTEP_DEVICE T operator()(T p, T g, T* states) const {
    const T x = result(p, g, states);
    return decayed(Text::kSign == 0 ? x - p : Text::kSign < 0 ? -x : x, p);
  }
  /// What p becomes. A value that the text gives is not rounded by way of a change.
  GRADSTEP_DEVICE T value(T p, T g, T* states) const {
    if constexpr (Text::kSign == 0) return decayed(result(p, g, states), p);
    return p + (*this)(p, g, states);
  }
  GRADSTEP_DEVICE void measure(T p, T g, const T* states, T* terms, T* /*right*/) const {
    text_.measure(p, seen(p, g), states, terms);
  }

 private:
  /// States become what is stored of them.
  GRADSTEP_DEVICE T result(T p, T g, T* states) const {
    const T x = text_.step(p, seen(p, g), states);
    for (int s = 0; s < kStates; ++s) states[s] = kernels::stored(states[s]);
    return x;
  }
  GRADSTEP_DEVICE T seen(T p, T g) const { return coupled_ == 0 ? g : g + coupled_ * p; }
  GRADSTEP_DEVICE T decayed(T x, T p) const { return decay_ == 0 ? x : x - decay_ * p; }

  Text text_;
  T coupled_;
  T decay_;
};

/// A kernel object's entry. On the emulated device its number of bytes is beside it.
#if defined(__CUDACC__)
#define GRADSTEP_PROGRAM_KERNEL(...)                                                                  \
  extern "C" __global__ void __launch_bounds__(__VA_ARGS__::kThreads, resident_blocks<__VA_ARGS__>()) \
      gradstep_program(const __grid_constant__ __VA_ARGS__ kernel) {                                  \
    Block block;                                                                                      \
    kernel(block);                                                                                    \
  }
#else
#define GRADSTEP_PROGRAM_KERNEL(...)                                                                             \
  extern "C" {                                                                                                   \
  extern const std::size_t gradstep_program_bytes;                                                               \
  const std::size_t gradstep_program_bytes = sizeof(__VA_ARGS__);                                                \
  void gradstep_program(Block& block, const void* kernel);                                                       \
  void gradstep_program(Block& block, const void* kernel) { (*static_cast<const __VA_ARGS__*>(kernel))(block); } \
  }
#endif

}  // namespace gradstep::cuda
