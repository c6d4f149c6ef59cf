// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// schedule.hpp: hyper-parameters that follow the step count t, which is 0 in the first step.
#pragma once

#include <gradstep/schedule.h>
#include <gradstep/error.hpp>

#include <concepts>
#include <functional>
#include <utility>

namespace gradstep::inline cpp_v0 {

/// A number as a function of t; <gradstep/schedule.h> has the formulas. A value: it can be copied, and is when given.
class Schedule {
 public:
  using Function = std::function<double(std::int64_t)>;

  static Schedule constant(double value) { return Schedule(GRADSTEP_SCHEDULE_CONSTANT, {.init_value = value}); }

  struct Decay {
    double init_value = 0;
    std::int64_t decay_steps = 0;
    double decay_rate = 0;
    bool staircase = false;
  };
  static Schedule exponential_decay(const Decay& decay) {
    return Schedule(GRADSTEP_SCHEDULE_EXPONENTIAL_DECAY, numbers(decay));
  }
  static Schedule inverse_time(const Decay& decay) { return Schedule(GRADSTEP_SCHEDULE_INVERSE_TIME, numbers(decay)); }

  struct Polynomial {
    double init_value = 0;
    double end_value = 0;
    std::int64_t decay_steps = 0;
    double power = 1;
  };
  static Schedule polynomial(const Polynomial& p) {
    return Schedule(
        GRADSTEP_SCHEDULE_POLYNOMIAL,
        {.init_value = p.init_value, .end_value = p.end_value, .decay_steps = p.decay_steps, .power = p.power});
  }

  struct Cosine {
    double init_value = 0;
    double end_value = 0;
    std::int64_t decay_steps = 0;
  };
  static Schedule cosine(const Cosine& c) {
    return Schedule(GRADSTEP_SCHEDULE_COSINE,
                    {.init_value = c.init_value, .end_value = c.end_value, .decay_steps = c.decay_steps});
  }

  /// values[i] for boundaries[i - 1] < t <= boundaries[i]: one value more than boundaries.
  static Schedule piecewise(std::vector<std::int64_t> boundaries, std::vector<double> values) {
    if (values.size() != boundaries.size() + 1) {
      throw InvalidArgument(std::to_string(values.size()) + " values for " + std::to_string(boundaries.size()) +
                            " boundaries, expected one more");
    }
    Schedule schedule(GRADSTEP_SCHEDULE_PIECEWISE, {});
    schedule.boundaries_ = std::move(boundaries);
    schedule.values_ = std::move(values);
    return schedule;
  }

  /// Any function, a lambda say, which is called on the thread whose call needs the value. What it throws makes that
  /// call a CallbackError, with nothing changed.
  template <class F>
    requires(!std::same_as<F, Schedule> && std::is_invocable_r_v<double, F, std::int64_t>)
  Schedule(F function) : Schedule(GRADSTEP_SCHEDULE_CALLBACK, {}) {
    function_ = std::move(function);
  }

  /// f(0) * (t + 1) / (steps + 1) while t < steps; then this schedule, from its beginning.
  [[nodiscard]] Schedule after_warmup(std::int64_t steps) const {
    Schedule schedule = *this;
    schedule.warmup_steps_ = steps;
    return schedule;
  }

  /// The value at t = step >= 0.
  [[nodiscard]] double operator()(std::int64_t step) const {
    gradstep_schedule c = shown();
    c.user = const_cast<Function*>(&function_);
    double value = 0;
    check(gradstep_schedule_value(&c, step, &value));
    return value;
  }

  /// The C struct for a call that keeps a schedule: that call owns what `release` frees.
  [[nodiscard]] gradstep_schedule given() const {
    gradstep_schedule c = shown();
    if (function_) {
      c.user = new Function(function_);
      c.release = detail::release<Function>;
    }
    return c;
  }

 private:
  struct Numbers {
    double init_value = 0;
    double end_value = 0;
    std::int64_t decay_steps = 0;
    double decay_rate = 0;
    double power = 1;
    bool staircase = false;
  };

  Schedule(gradstep_schedule_kind kind, const Numbers& numbers) noexcept : kind_(kind), numbers_(numbers) {}

  static Numbers numbers(const Decay& decay) noexcept {
    return {.init_value = decay.init_value,
            .decay_steps = decay.decay_steps,
            .decay_rate = decay.decay_rate,
            .staircase = decay.staircase};
  }

  [[nodiscard]] gradstep_schedule shown() const {
    gradstep_schedule c;
    check(gradstep_schedule_init(&c, sizeof c));
    c.kind = kind_;
    c.init_value = numbers_.init_value;
    c.end_value = numbers_.end_value;
    c.decay_steps = numbers_.decay_steps;
    c.decay_rate = numbers_.decay_rate;
    c.power = numbers_.power;
    c.staircase = numbers_.staircase ? 1 : 0;
    c.warmup_steps = warmup_steps_;
    c.n_points = static_cast<std::int32_t>(values_.size());
    c.boundaries = boundaries_.data();
    c.values = values_.data();
    c.function = function_ ? call : nullptr;
    return c;
  }

  static gradstep_status call(void* user, std::int64_t step, double* value) {
    return detail::guarded([&] { *value = (*static_cast<const Function*>(user))(step); });
  }

  gradstep_schedule_kind kind_;
  Numbers numbers_;
  std::int64_t warmup_steps_ = 0;
  std::vector<std::int64_t> boundaries_;
  std::vector<double> values_;
  Function function_;
};

}  // namespace gradstep::inline cpp_v0
