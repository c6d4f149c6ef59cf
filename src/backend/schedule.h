// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// A gradstep_schedule that is checked, deep-copied and owned; or a number that the host keeps in its memory.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/host_callback.h"
#include "gradstep/schedule.h"
#include "kernels/schedule.h"

namespace gradstep {

class Schedule {
 public:
  /// The constant 0.
  Schedule() = default;
  explicit Schedule(double constant) { form_.init_value = constant; }

  /// Checks and copies; owns user from here on if `take_callback`. `argument` is for the text of errors.
  Schedule(const char* argument, const gradstep_schedule* source, bool take_callback = true);

  /// Whatever stands at `number` when a value is asked for; it is borrowed, and in the memory of the backend that
  /// asks.
  static Schedule in_memory(const double* number);
  /// That place; NULL for all others.
  const double* number() const { return form_.number; }

  /// Throws CALLBACK when the host's function fails.
  double value(std::int64_t step) const;

  /// For devices; shows this schedule's tables. A callback has none but its warm-up.
  kernels::ScheduleForm form() const;
  bool has_callback() const { return form_.kind == kernels::ScheduleKind::callback; }

  /// Goes on with `state`, see hash_bytes. Equal for equal definitions; of a callback, and of a number in memory, only
  /// the kind and the warm-up.
  std::uint64_t digest(std::uint64_t state) const;

  bool is_constant() const { return form_.kind == kernels::ScheduleKind::constant && form_.warmup_steps == 0; }

  /// Whether the definition alone gives all values: neither a callback nor a number in memory.
  bool is_closed_form() const { return !has_callback() && number() == nullptr; }

  /// SINGA's notion of a hyper-parameter that is switched off: the constant 0, or an exponential decay from 0.
  bool is_absent() const {
    return form_.init_value == 0 &&
           (form_.kind == kernels::ScheduleKind::constant || form_.kind == kernels::ScheduleKind::exponential_decay);
  }

 private:
  struct Callback {
    gradstep_status (*function)(void*, std::int64_t, double*) = nullptr;
    void* user = nullptr;
    CallbackOwner owner;  // of user, where it was taken over
  };

  kernels::ScheduleForm form_;
  std::vector<std::int64_t> boundaries_;
  std::vector<double> values_;
  std::shared_ptr<Callback> callback_;
};

}  // namespace gradstep
