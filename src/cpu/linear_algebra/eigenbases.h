// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Adam in the eigenbasis of the statistics (SOAP; Vyas et al. 2024, algorithm 3). diagonal_exp_avg and
// diagonal_statistics are Adam's two moments in the basis of the step to come.
#pragma once

#include "cpu/linear_algebra/phases.h"

namespace gradstep::cpu {

class Eigenbases {
 public:
  explicit Eigenbases(Phases& phases) : phases_(phases) {}

  void step(const PreconditioningStep& step);
  void install(const PreconditioningStep& step, std::span<const RootJob> jobs, std::span<const RootRecord> records);
  void finish(const PreconditioningStep& step);

 private:
  template <class T>
  void step_block(const PreconditioningStep& step, const BlockPlan& block, Workspace& workspace) const;
  template <class T>
  void install_block(const PreconditioningStep& step, const BlockPlan& block, std::span<const RootJob> jobs,
                     std::span<const RootRecord> records, Workspace& workspace) const;
  template <class T>
  void rotate(const BlockPlan& block, bool back, Workspace& workspace, T*& x, T*& other) const;

  Phases& phases_;
};

}  // namespace gradstep::cpu
