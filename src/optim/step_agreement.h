// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// What ranks must have in common to make a step as one.
#pragma once

#include <array>
#include <cstdint>

#include "comm/communicator.h"
#include "optim/sharding.h"
#include "optim/step_clock.h"

namespace gradstep {

class StepAgreement {
 public:
  /// `hyper_parameters` outlive it. `steps`: those before this one; 0 where they are the device's.
  StepAgreement(const HyperParameters& hyper_parameters, const StepGuards& guards, const GradientExchange& exchange,
                std::int64_t steps);

  /// Stands for all of it, with the hyper-parameters as they were last refreshed.
  std::uint64_t digest() const;
  /// Collective, by ranks of which some differ in something. Throws MISMATCH, on all ranks alike, that names it.
  [[noreturn]] void compare(Communicator& comm, const Deadline& deadline) const;

 private:
  const HyperParameters& hyper_parameters_;
  std::array<std::uint64_t, 7> facts_;
};

}  // namespace gradstep
