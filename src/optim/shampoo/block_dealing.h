// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Which rank preconditions which block, and how the others get P(g) of it.
#pragma once

#include <span>
#include <vector>

#include "optim/shampoo/root_schedule.h"

namespace gradstep {

class BlockDealing {
 public:
  struct Task {
    std::size_t parameter = 0;
    std::size_t block = 0;
    double cost = 0;
    std::int32_t owner = 0;   ///< the rank that has its factors
    std::int64_t offset = 0;  ///< bytes, in what the ranks exchange
  };

  /// Blocks by owner, the longest first; without owners they are all of this rank.
  void plan(const Site& site, std::span<const ShampooState> states, const ShampooRanks& ranks);

  std::span<const Task> tasks() const { return tasks_; }
  RootShare own() const { return own_; }
  /// Where P(g) of a block is exchanged; NULL = it is not.
  void* exchange(const Task& task) const { return exchanges_ ? exchange_.as<std::byte>() + task.offset : nullptr; }
  /// Brings every rank the blocks that the others have preconditioned. Collective.
  void gather(Communicator& comm, DataPlane& data) const;

  std::size_t bytes() const { return held_bytes(exchange_, tasks_); }

 private:
  std::vector<Task> tasks_;
  RootShare own_;
  bool exchanges_ = false;
  std::vector<std::int64_t> exchange_bytes_;  // by rank
  Buffer exchange_;
};

/// The owner of every block, by parameter.
std::vector<std::vector<std::int32_t>> assign_blocks(const ShampooOptions& options,
                                                     std::span<const ShampooState> states, std::int32_t ranks);

/// The plan that the backend works by. `direction` and `preconditioned` give its scratch for a parameter.
struct StepScratch {
  void* direction;
  void* preconditioned;
};
PreconditioningPlan plan_preconditioning(const ShampooOptions& options, const Schema& schema, const WorkList& work,
                                         std::span<const ShampooState> states, const BlockDealing& blocks,
                                         FunctionRef<StepScratch(std::size_t)> scratch_of);

}  // namespace gradstep
