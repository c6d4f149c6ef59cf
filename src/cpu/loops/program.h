// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Rules that hosts have written as text (rules/text/program.h): each operation runs over a block that stays in the
// first-level cache. What comes from memory is read and written once; a state is often computed in its own place.
#pragma once

#include "cpu/loops/rule.h"
#include "kernels/elementary.h"
#include "kernels/stored.h"
#include "rules/text/code.h"
#include "rules/text/limits.h"

namespace gradstep::cpu {
namespace {

/// A number of the step, as if it were a register.
template <class T>
struct Same {
  T value;
  GRADSTEP_FORMULA T operator[](std::int64_t /*i*/) const { return value; }
};

// f(a[i], ...) for every element. `to` may be one of the operands.
template <class T, class F, class A, class... More>
GRADSTEP_FORMULA void for_elements(T* to, std::int64_t count, F f, A a, More... more) {
  GRADSTEP_INDEPENDENT
  for (std::int64_t i = 0; i < count; ++i) to[i] = f(a[i], more[i]...);
}

/// What no compiler makes vectors of.
template <class T, class F, class A, class... More>
[[gnu::noinline]] void for_elements_in_turn(T* to, std::int64_t count, F f, A a, More... more) {
  for (std::int64_t i = 0; i < count; ++i) {
    to[i] = static_cast<T>(f(static_cast<double>(a[i]), static_cast<double>(more[i])...));
  }
}

/// A program with the numbers of a step, in the arithmetic of T.
template <class T>
class ProgramRule {
 public:
  static constexpr int kStates = rules::kMaxStates;  // at most

  ProgramRule(const UpdateItem& item, const rules::RuleConstants& constants)
      : code_(*item.program), coupled_(static_cast<T>(constants.coupled)), decay_(static_cast<T>(constants.decoupled)) {
    for (int i = 0; i < code_.number_count; ++i) numbers_[i] = static_cast<T>(item.numbers[code_.numbers[i]]);
  }

  GRADSTEP_FORMULA int states() const { return code_.state_count; }
  GRADSTEP_FORMULA int sums() const { return code_.sum_count; }

  /// As run_rule().
  template <bool kAddToParam>
  [[gnu::noinline]] void run(GradientScale<T> scale, T* out, const T* p, const T* g, T* const* states,
                             std::int64_t count) const {
    Workplace place;
    walk(code_.step, place, scale, p, g, states, count);
    with(code_.result, place.registers, [&](auto x) { finish<kAddToParam>(out, p, x, count); });
    for (int s = 0; s < code_.state_count; ++s) {
      for_elements(states[s], count, [](T x) { return kernels::stored(x); }, static_cast<const T*>(states[s]));
    }
  }

  /// body(sum, its terms, what each is multiplied by) for each sum, before the step. States are only read.
  template <class Body>
  GRADSTEP_FORMULA void measure(GradientScale<T> scale, const T* p, const T* g, T* const* states, std::int64_t count,
                                Body body) const {
    Workplace place;
    Scratch<T> ones;
    Scratch<T> equal;
    for_elements(ones.values, count, [](T one) { return one; }, Same<T>{1});
    walk(code_.measurement, place, scale, p, g, states, count);
    for (int s = 0; s < code_.sum_count; ++s) {
      const rules::text::Sum& sum = code_.sums[s];
      const T* terms = equal.values;
      if (sum.of.is_number()) {
        for_elements(equal.values, count, [](T x) { return x; }, Same<T>{numbers_[sum.of.number()]});
      } else {
        terms = place.registers[sum.of.index];
      }
      body(s, terms, sum.squares ? terms : ones.values);
    }
  }

 private:
  using Register = rules::text::Register;
  using Operation = rules::text::Operation;
  using Operand = rules::text::Operand;
  using Step = rules::text::Step;
  using Outcome = rules::text::Outcome;

  struct Workplace {
    Scratch<T> scaled;
    Scratch<T> temporaries[rules::text::kMostTemporaries];
    T* registers[Register::first_temporary + rules::text::kMostTemporaries];
  };

  void walk(const rules::text::Walk& walk, Workplace& place, GradientScale<T> scale, const T* p, const T* g,
            T* const* states, std::int64_t count) const {
    Scratch<T>& scaled = place.scaled;
    if (scale.multiplier != 1 || scale.bound <= kernels::largest_stored<T>()) {
      for_elements(scaled.values, count, [=](T gradient) { return scale(gradient); }, g);
      g = scaled.values;
    }
    if (coupled_ != 0) {
      const T coupled = coupled_;
      for_elements(scaled.values, count, [=](T gradient, T value) { return gradient + coupled * value; }, g, p);
      g = scaled.values;
    }
    T** const registers = place.registers;
    // The first two are read only.
    registers[Register::gradient] = const_cast<T*>(g);
    registers[Register::param] = const_cast<T*>(p);
    for (int s = 0; s < code_.state_count; ++s) registers[Register::first_state + s] = states[s];
    for (int k = 0; k < walk.temporary_count; ++k) {
      registers[Register::first_temporary + k] = place.temporaries[k].values;
    }
    for (int k = 0; k < walk.count; ++k) compute(walk.operations[k], registers, count);
  }

  /// body(register or number)
  template <class Body>
  GRADSTEP_FORMULA void with(Operand operand, T* const* registers, Body body) const {
    if (operand.is_number()) {
      body(Same<T>{numbers_[operand.number()]});
    } else {
      body(const_cast<const T*>(registers[operand.index]));
    }
  }

  void compute(const Operation& operation, T* const* registers, std::int64_t count) const {
    T* const to = registers[operation.to];
    const auto one = [&](auto f) { with(operation.a, registers, [&](auto a) { for_elements(to, count, f, a); }); };
    const auto two = [&](auto f) {
      with(operation.a, registers,
           [&](auto a) { with(operation.b, registers, [&](auto b) { for_elements(to, count, f, a, b); }); });
    };
    // Constants come behind.
    const auto behind = [&](auto f) {
      const T* const a = registers[operation.a.index];
      with(operation.b, registers, [&](auto b) { for_elements(to, count, f, a, b); });
    };
    switch (operation.step) {
      case Step::copy:
        return one([](T a) { return a; });
      case Step::negate:
        return one([](T a) { return -a; });
      case Step::absolute:
        return one([](T a) { return kernels::magnitude(a); });
      case Step::sign:
        return one([](T a) { return kernels::sign<T>(a); });
      case Step::root:
        return one([](T a) { return kernels::square_root(a); });
      case Step::exponential:
        return for_elements_in_turn(
            to, count, [](double a) { return kernels::exponential(a); }, registers[operation.a.index]);
      case Step::logarithm:
        return for_elements_in_turn(
            to, count, [](double a) { return kernels::logarithm_of_any(a); }, registers[operation.a.index]);
      case Step::power:
        return with(operation.a, registers, [&](auto a) {
          with(operation.b, registers, [&](auto b) {
            for_elements_in_turn(to, count, [](double x, double y) { return kernels::power_of_any(x, y); }, a, b);
          });
        });
      case Step::add:
        return behind([](T a, T b) { return a + b; });
      case Step::multiply:
        return behind([](T a, T b) { return a * b; });
      case Step::subtract:
        return two([](T a, T b) { return a - b; });
      case Step::divide:
        return two([](T a, T b) { return a / b; });
      case Step::minimum:
        return two([](T a, T b) { return kernels::smaller_of(a, b); });
      case Step::maximum:
        return two([](T a, T b) { return kernels::larger_of(a, b); });
      case Step::less:
        return two([](T a, T b) { return a < b ? T{1} : T{0}; });
      case Step::less_equal:
        return two([](T a, T b) { return a <= b ? T{1} : T{0}; });
      case Step::equal:
        return two([](T a, T b) { return a == b ? T{1} : T{0}; });
      case Step::not_equal:
        return two([](T a, T b) { return a != b ? T{1} : T{0}; });
      case Step::select:
        return with(operation.a, registers, [&](auto a) {
          with(operation.b, registers, [&](auto b) {
            with(operation.c, registers,
                 [&](auto c) { for_elements(to, count, [](T x, T y, T z) { return x != 0 ? y : z; }, a, b, c); });
          });
        });
      case Step::multiply_add: {
        const T* const a = registers[operation.a.index];
        return with(operation.b, registers, [&](auto b) {
          with(operation.c, registers,
               [&](auto c) { for_elements(to, count, [](T x, T y, T z) { return x * y + z; }, a, b, c); });
        });
      }
      case Step::sum_of_products: {
        const T* const a = registers[operation.a.index];
        const T* const c = registers[operation.c.index];
        return with(operation.b, registers, [&](auto b) {
          with(operation.d, registers,
               [&](auto d) { for_elements(to, count, [](T x, T y, T z, T w) { return x * y + z * w; }, a, b, c, d); });
        });
      }
    }
  }

  /// The change of p, or what p becomes, and the decay that the library subtracts.
  template <bool kAddToParam, class X>
  GRADSTEP_FORMULA void finish(T* out, const T* p, X x, std::int64_t count) const {
    const T decay = decay_;
    const auto write = [&](auto change) {
      if (decay == 0) {
        for_elements(
            out, count,
            [=](T value, T result) {
              const T delta = change(value, result);
              return kAddToParam ? value + delta : delta;
            },
            p, x);
      } else {
        for_elements(
            out, count,
            [=](T value, T result) {
              const T delta = change(value, result) - decay * value;
              return kAddToParam ? value + delta : delta;
            },
            p, x);
      }
    };
    if (code_.outcome == Outcome::added) return write([](T /*value*/, T result) { return result; });
    if (code_.outcome == Outcome::subtracted) return write([](T /*value*/, T result) { return -result; });
    if constexpr (kAddToParam) {
      // A value that the text gives is not rounded by way of a change.
      if (decay == 0) return for_elements(out, count, [](T result) { return result; }, x);
      for_elements(out, count, [=](T value, T result) { return result - decay * value; }, p, x);
    } else {
      write([](T value, T result) { return result - value; });
    }
  }

  const rules::text::Code& code_;
  T coupled_;
  T decay_;
  T numbers_[rules::text::kMostNumbers];
};

template <class T>
int states_of(const ProgramRule<T>& rule) {
  return rule.states();
}

template <bool kAddToParam, class T>
void run_rule(const ProgramRule<T>& rule, GradientScale<T> scale, T* out, const T* p, const T* g,
              T* const* block_states, std::int64_t count) {
  rule.template run<kAddToParam>(scale, out, p, g, block_states, count);
}

}  // namespace
}  // namespace gradstep::cpu
