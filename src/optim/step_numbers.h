// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// The numbers that a step computes with: the hyper-parameters at its t, and the plan by which the site decides on the
// step and writes the rules' constants.
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "core/held_bytes.h"
#include "optim/step_clock.h"

namespace gradstep {

class StepNumbers {
 public:
  /// `site` and `work`, which lists all gradients, outlive it.
  StepNumbers(const Site& site, const WorkList& work, std::span<const GroupFields> fields, std::int32_t groups)
      : site_(site), hyper_parameters_(fields, groups), clock_(site, hyper_parameters_) {
    plan_.gradients.work = &work;
    plan_.fields = static_cast<std::int32_t>(hyper_parameters_.field_count());
  }

  const HyperParameters& hyper_parameters() const { return hyper_parameters_; }
  void set_hyper_parameters(HyperParameters changed) {
    refreshed_ = false;
    hyper_parameters_ = std::move(changed);
    plan_.forms = {};
  }
  StepClock& clock() { return clock_; }
  const StepClock& clock() const { return clock_; }
  void set_steps(std::int64_t steps) {
    clock_.set_steps(steps);
    refreshed_ = false;
  }
  StepPlan& plan() { return plan_; }
  std::size_t bytes() const { return held_bytes(plan_.prepared, plan_.gradients.prepared); }

  /// Evaluates the hyper-parameters of the next step, which then does not do it again: what could fail in a host's
  /// callback fails here.
  void refresh() {
    take();
    refreshed_ = true;
  }
  /// For the step that is about to be made.
  void take();
  void begin(const BufferList& grads, const StepGuards& guards);

 private:
  bool is_evaluated_here() const;

  const Site& site_;
  HyperParameters hyper_parameters_;
  StepClock clock_;
  StepPlan plan_;
  std::vector<kernels::HyperParameterForm> forms_;  // of devices, which evaluate schedules themselves
  bool refreshed_ = false;                          // hyper-parameters are those of the next step
};

}  // namespace gradstep
