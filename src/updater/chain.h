// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "updater/updater.h"

namespace gradstep {

/// Exclusive use of the handles in the chain during a call of the updater.
class Updater::Chain {
 public:
  explicit Chain(Updater& updater) : optimizer_(updater.optimizer_->busy(), "the updater's optimizer") {
    if (updater.accumulator_) accumulator_.emplace(updater.accumulator_->busy(), "the updater's accumulator");
    if (updater.reducer_) reducer_.emplace(updater.reducer_->busy(), "the updater's reducer");
  }

 private:
  Exclusive optimizer_;
  std::optional<Exclusive> accumulator_;
  std::optional<Exclusive> reducer_;
};

}  // namespace gradstep
