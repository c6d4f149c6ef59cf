// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// From the list of rules to the kernels that every device instantiates, in f32 and f64: each variant of each rule with
// each kind of weight decay. A kernel is called with numbers of T, or with vectors of them, for which Lanes has
// square_root (kernels/macros.h).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>

#include "kernels/macros.h"
#include "kernels/stored.h"
#include "rules/constants.h"
#include "rules/list.h"

namespace gradstep::rules {

struct KernelForm {
  int rule = 0;  ///< place in the list
  int variant = 0;
  Decay decay = Decay::none;
};

namespace detail {

/// Rules that are rarely bound by arithmetic have one kernel for all kinds of decay.
template <class Rule>
constexpr bool has_one_kernel() {
  return requires { Rule::kOneKernel; };
}

template <class... Rules>
constexpr int count_kernels(RuleList<Rules...> /*list*/) {
  return ((Rules::kVariants * (has_one_kernel<Rules>() ? 1 : static_cast<int>(std::size(kDecays)))) + ...);
}

template <class... Rules>
constexpr auto list_kernels(RuleList<Rules...> /*list*/) {
  std::array<KernelForm, count_kernels(RuleList<Rules...>{})> forms{};
  std::size_t next = 0;
  int rule = 0;
  const auto append = [&](int variants, bool is_one) {
    for (int v = 0; v < variants; ++v) {
      if (is_one) {
        forms[next++] = {rule, v, Decay::any};
      } else {
        for (const Decay decay : kDecays) forms[next++] = {rule, v, decay};
      }
    }
    ++rule;
  };
  (append(Rules::kVariants, has_one_kernel<Rules>()), ...);
  return forms;
}

}  // namespace detail

/// A place in kKernels.
enum class KernelId : std::int32_t {};

inline constexpr auto kKernels = detail::list_kernels(AllRules{});
inline constexpr int kKernelCount = static_cast<int>(kKernels.size());

/// -1 for what is not in the list.
constexpr KernelId kernel_id(int rule, int variant, Decay decay) {
  for (int id = 0; id < kKernelCount; ++id) {
    const KernelForm& form = kKernels[static_cast<std::size_t>(id)];
    const bool has_decay = form.decay == decay || form.decay == Decay::any;
    if (form.rule == rule && form.variant == variant && has_decay) return KernelId{id};
  }
  return KernelId{-1};
}

template <class Rule>
constexpr KernelId kernel_id(int variant, Decay decay) {
  return kernel_id(place_of<Rule>(AllRules{}), variant, decay);
}

/// The function object of a rule in the arithmetic of T.
template <class T, class Rule, int kVariant, Decay kDecay>
class Kernel {
 public:
  static constexpr int kStates = [] {
    int count = 0;
    for (std::size_t s = 0; s < kMaxStates; ++s) count += static_cast<int>((Rule::states(kVariant) >> s) & 1U);
    return count;
  }();
  static constexpr bool kWritesStates = true;
  static constexpr int kSums = sums_of<Rule>();

  /// Bit s: state s of those that the kernel gets has signs.
  static constexpr std::uint8_t kSignedStates = [] {
    std::uint32_t bits = 0;
    std::uint32_t left = Rule::states(kVariant);
    int place = 0;
    for (const State& state : Rule::kStates) {
      if ((left & 1U) != 0 && state.has_signs) bits |= 1U << place;
      if ((left & 1U) != 0) ++place;
      left >>= 1U;
    }
    return static_cast<std::uint8_t>(bits);
  }();

  /// Bit s: state s of those that the kernel gets is exact.
  static constexpr std::uint8_t kExactStates = [] {
    std::uint32_t bits = 0;
    std::uint32_t left = Rule::states(kVariant);
    int place = 0;
    for (const State& state : Rule::kStates) {
      if ((left & 1U) != 0 && state.is_exact) bits |= 1U << place;
      if ((left & 1U) != 0) ++place;
      left >>= 1U;
    }
    return static_cast<std::uint8_t>(bits);
  }();
  static constexpr bool kHasExactStates = kExactStates != 0;

  GRADSTEP_FORMULA explicit Kernel(const RuleConstants& constants)
      : constants_(read<Rule, T>(constants)),
        decay_(static_cast<T>(kDecay == Decay::any ? constants.decoupled : constants.decay)),
        coupled_(static_cast<T>(constants.coupled)) {}

  /// Returns the change of p. `state` holds the states that exist, in the order of the description, and then what is
  /// stored of them.
  template <class V>
  GRADSTEP_FORMULA V operator()(V p, V g, V* state) const {
    const V delta = exactly(p, g, state);
    for (int s = 0; s < kStates; ++s) {
      if ((kExactStates >> s & 1) == 0) state[s] = kernels::stored(state[s]);
    }
    return delta;
  }

  /// Returns the change of p, and leaves the state unrounded: its numbers may be subnormal.
  template <class V>
  GRADSTEP_FORMULA V exactly(V p, V g, V* state) const {
    const V delta = Rule::template delta<T, kVariant>(constants_, p, seen(p, g), state, largest_);
    if constexpr (kDecay == Decay::decoupled || kDecay == Decay::any) return delta - decay_ * p;
    return delta;
  }

  /// Writes the factors whose products the sums of the step are taken of.
  template <class V>
  GRADSTEP_FORMULA void measure(V p, V g, const V* state, V* a, V* b) const {
    if constexpr (kSums > 0) Rule::template measure<T, kVariant>(constants_, p, seen(p, g), state, a, b);
  }

 private:
  template <class V>
  GRADSTEP_FORMULA V seen(V p, V g) const {
    if constexpr (kDecay == Decay::coupled) return g + decay_ * p;
    if constexpr (kDecay == Decay::any) return g + coupled_ * p;
    return g;
  }

  typename Rule::template Constants<T> constants_;
  T decay_;
  T coupled_;
  T largest_ = kernels::largest_stored<T>();
};

/// The kernel of an id in the arithmetic of T.
template <std::size_t kId, class T>
using KernelOf =
    Kernel<T, AllRules::At<static_cast<std::size_t>(kKernels[kId].rule)>, kKernels[kId].variant, kKernels[kId].decay>;

}  // namespace gradstep::rules
