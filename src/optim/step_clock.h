// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Whether a step is made, what came of it, and how many were made. The numbers lie at the site. On devices the host
// follows them as long as it can tell, and else waits.
#pragma once

#include <cstdint>
#include <optional>

#include "backend/site.h"
#include "optim/hyper_parameters.h"

namespace gradstep {

/// What decides whether, and by how much, a step is made.
using StepGuards = kernels::StepRequest;

/// Throws INVALID_ARGUMENT for a number outside its range, by the name of its field in gradstep_step_options.
void check_guards(const StepGuards& guards);

struct StepOutcome {
  bool applied = false;  ///< where work is queued: the step is on its way
  double grad_norm = 0;  ///< NaN when nothing asked for it
  double clip_coefficient = 1;
};

class StepClock {
 public:
  /// Both outlive it. `hyper_parameters` are those that a device may find out of their range.
  StepClock(const Site& site, const HyperParameters& hyper_parameters)
      : site_(site),
        hyper_parameters_(hyper_parameters),
        scalars_(site.allocate(sizeof(kernels::StepScalars), /*zeroed=*/true)) {}

  kernels::StepScalars* scalars() const { return scalars_.as<kernels::StepScalars>(); }
  /// On devices this waits for all that is queued, and throws NUMERIC for a hyper-parameter that has left its range
  /// there: no step is made since.
  std::int64_t steps() const { return site_.is_host() ? scalars()->steps : awaited().steps; }
  std::int64_t skipped() const { return read(site_.queue(), &scalars()->skipped); }
  /// What the last step did, waited for. Throws as steps().
  StepOutcome last_outcome() const;
  void set_steps(std::int64_t steps) { set(&scalars()->steps, steps); }
  void set_skipped(std::int64_t skipped) { set(&scalars()->skipped, skipped); }

  /// Whether the step is made, and t. On devices this waits if a step since it was last asked for could have been
  /// skipped there.
  bool gate_is_open() const { return known().gate != 0; }
  std::int64_t t() const { return known().steps; }

  /// The site was asked to begin a step. `is_evaluated_here`: with hyper-parameters from the host.
  void follow_begin(const StepGuards& guards, const kernels::StepLimits& limits, bool is_evaluated_here);
  /// The site was asked to close it.
  void follow_close() {
    if (known_) kernels::close_step(*known_);
  }

 private:
  const kernels::StepScalars& known() const;
  kernels::StepScalars awaited() const;
  void set(std::int64_t* counter, std::int64_t value) {
    write(site_.queue(), counter, value);
    known_.reset();
  }

  const Site& site_;
  const HyperParameters& hyper_parameters_;
  Buffer scalars_;
  // On devices: gate and counters as they are after all that is queued, as long as the host can tell.
  mutable std::optional<kernels::StepScalars> known_;
};

}  // namespace gradstep
