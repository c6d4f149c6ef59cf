// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// When and where Shampoo computes its roots: at once, or in rounds that a later step installs; alone, or each on the
// rank that it was dealt to. A round keeps the statistics of one step, roots take their places, and some steps later
// all are installed at once. When the roots are computed, and by which rank, changes nothing.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "comm/communicator.h"
#include "comm/data_plane.h"
#include "optim/shampoo/shampoo_state.h"

namespace gradstep {

/// The ranks that share the work.
struct ShampooRanks {
  Communicator* comm = nullptr;  ///< NULL = this one is alone
  DataPlane* data = nullptr;     ///< of comm
  bool owns_blocks = false;      ///< each has the factors of its own blocks only

  std::int32_t rank() const { return comm != nullptr ? comm->rank() : 0; }
  std::int32_t count() const { return comm != nullptr ? comm->world_size() : 1; }
};

/// A run of neighbours among what is sorted by rank.
struct RootShare {
  std::size_t begin = 0;
  std::size_t count = 0;
};

class RootSchedule {
 public:
  RootSchedule(const Site& site, Preconditioning& preconditioning, const ShampooOptions& options, const Schema& schema,
               Log& log)
      : site_(site), preconditioning_(preconditioning), options_(options), schema_(schema), log_(log) {}

  /// For parameters, preconditioning or ranks that are new; sets the factors' places. Rounds under way are completed by
  /// the plan that they were begun with, and go on. `states` stay where they are until the next plan, or follow().
  void plan(std::span<ShampooState> states, const ShampooRanks& ranks);
  /// The states have moved, with new ones behind them, which are not planned for yet.
  void follow(std::span<ShampooState> states) { states_ = states; }

  /// Takes the memory that the refresh of step t needs, which then fails for no want of it.
  void reserve(const PreconditioningStep& step, bool is_due, std::span<const rules::ShampooValues> groups);
  /// The refresh of step t: what the next steps are to use of it is there when this returns, or due later.
  void refresh(std::int64_t t, const PreconditioningStep& step, std::span<const rules::ShampooValues> groups);
  /// Installs what step t is to use. Collective if roots are dealt out, as are the next two.
  void settle(std::int64_t t);
  void complete_all();
  /// Completes and installs everything.
  void finish();
  /// Installs what is complete, and drops the rest. Counts this rank alone.
  void close() noexcept;
  /// The state, pending roots among it, was replaced: which rounds are under way follows from the step count.
  void state_replaced(std::int64_t step_count);

  /// Roots that are under way, which are complete, under their names.
  void append_pending(std::vector<StoredState>& stored);
  std::int64_t largest_extent() const { return largest_extent_; }
  std::size_t bytes() const;

 private:
  /// One matrix, and who computes it.
  struct Task {
    std::size_t parameter = 0;
    std::size_t factor = 0;
    std::int64_t n = 0;
    double cost = 0;
    std::int32_t owner = 0;
    std::int64_t offset = 0;  ///< bytes, of its numbers in a round; -1 = dropped
  };

  struct Round {
    static constexpr std::int64_t kFree = -1;

    bool is_free() const { return step == kFree; }

    std::int64_t step = kFree;  ///< the one whose statistics these are
    bool complete = false;      ///< all matrices are here
    // All by owner, the longest first.
    std::vector<Task> tasks;
    std::vector<RootJob> jobs;
    std::vector<RootRecord> records;
    Buffer numbers;                // of each in its arithmetic
    std::unique_ptr<RootRun> run;  // last: it uses the rest
  };

  void plan_tasks();
  void deal_out();
  void plan_rounds();
  void move_numbers(Round& round, Buffer numbers);
  void bind_jobs(Round& round);

  RootRecipe recipe_of(const Task& task, const rules::ShampooValues& values) const;
  RootAction action_of(const Task& task, bool is_due, const PreconditioningStep& step) const;
  void refresh_here(std::int64_t t);
  void begin_round(std::int64_t t, const PreconditioningStep& step, std::span<const rules::ShampooValues> groups);
  void settle(std::int64_t t, const PreconditioningStep* step);
  void complete(Round& round);
  void gather(Round& round);
  void install(Round& round, const PreconditioningStep* step);
  void record(Round& round);
  void record(const Task& task, const RootRecord& root, double threshold, std::int64_t step);
  /// The matrix of a task in a round.
  Array matrix_in(const Buffer& numbers, const Task& task, std::int64_t offset) const;
  void clear_missing(Round& round);
  std::span<Round* const> rounds_in_order() noexcept;
  Factor& factor_of(const Task& task) { return states_[task.parameter].factors[task.factor]; }

  const Site& site_;
  Preconditioning& preconditioning_;
  const ShampooOptions& options_;
  const Schema& schema_;
  Log& log_;
  std::span<ShampooState> states_;
  ShampooRanks ranks_;
  std::vector<Task> tasks_;          // of all ranks, by owner, the longest first
  std::vector<RootJob> jobs_;        // of the tasks, without results
  std::vector<RootRecord> records_;  // of roots that are taken at once
  RootShare own_;
  std::vector<std::int64_t> number_bytes_;  // by rank
  std::vector<std::int64_t> record_bytes_;  // by rank
  std::int64_t round_bytes_ = 0;
  std::int64_t largest_extent_ = 0;
  std::vector<std::unique_ptr<Round>> rounds_;
  std::vector<Round*> order_;  // of rounds_in_order(), with room for all
};

}  // namespace gradstep
