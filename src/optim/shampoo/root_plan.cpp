// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// The plan of a RootSchedule: which rank computes which matrix, and where rounds keep their numbers.
#include <algorithm>
#include <cmath>

#include "optim/assignment.h"
#include "optim/shampoo/root_schedule.h"
#include "optim/shampoo/step_staging.h"

namespace gradstep {

namespace {

/// Beside the vectors themselves a refreshed basis tells which old one each of them came from.
std::int64_t numbers_of(std::int64_t n, bool is_basis) { return n * n + (is_basis ? n : 0); }

}  // namespace

void RootSchedule::plan(std::span<ShampooState> states, const ShampooRanks& ranks) {
  states_ = states;
  complete_all();  // by the plan that they were begun with
  ranks_ = ranks;
  plan_tasks();
  plan_rounds();
}

/// Matrices by the rank that computes them.
void RootSchedule::plan_tasks() {
  tasks_.clear();
  largest_extent_ = 0;
  for (std::size_t i = 0; i < states_.size(); ++i) {
    ShampooState& state = states_[i];
    for (Factor& factor : state.factors) factor.offset = -1;
    if (!state.preconditioned) continue;
    for (std::size_t k = 0; k < state.factors.size(); ++k) {
      const std::int64_t n = state.factors[k].extent;
      largest_extent_ = std::max(largest_extent_, n);
      if (state.statistic(k).is_here()) tasks_.push_back({i, k, n, std::pow(static_cast<double>(n), 3)});
    }
  }
  deal_out();
  const auto count = static_cast<std::size_t>(ranks_.count());
  number_bytes_.assign(count, 0);
  record_bytes_.assign(count, 0);
  own_ = {};
  round_bytes_ = 0;
  const std::int64_t unit = number_unit(states_);
  jobs_.clear();
  for (std::size_t at = 0; at < tasks_.size(); ++at) {
    Task& task = tasks_[at];
    Factor& factor = factor_of(task);
    const std::int64_t numbers = numbers_of(task.n, options_.eigenvalue_corrected());
    const std::int64_t bytes = whole_units(numbers * size_of(states_[task.parameter].arithmetic), unit);
    task.offset = factor.offset = round_bytes_;
    factor.task = at;
    round_bytes_ += bytes;
    number_bytes_[static_cast<std::size_t>(task.owner)] += bytes;
    record_bytes_[static_cast<std::size_t>(task.owner)] += static_cast<std::int64_t>(sizeof(RootRecord));
    if (task.owner == ranks_.rank() && own_.count++ == 0) own_.begin = at;
    RootJob job;
    job.n = task.n;
    job.statistic = states_[task.parameter].statistic(task.factor).matrix();
    job.preconditioner = states_[task.parameter].preconditioner(task.factor).matrix();
    jobs_.push_back(job);
  }
}

void RootSchedule::deal_out() {
  if (ranks_.owns_blocks) {
    for (Task& task : tasks_) task.owner = ranks_.rank();
  } else {
    std::vector<double> costs;
    for (const Task& task : tasks_) costs.push_back(task.cost);
    const std::vector<std::int32_t> owners = assign_longest_first(costs, ranks_.count());
    for (std::size_t at = 0; at < tasks_.size(); ++at) tasks_[at].owner = owners[at];
  }
  std::stable_sort(tasks_.begin(), tasks_.end(), [](const Task& a, const Task& b) {
    return a.owner != b.owner ? a.owner < b.owner : a.cost > b.cost;
  });
}

/// Gives every round room for the planned matrices. Roots under way, which are complete, move.
void RootSchedule::plan_rounds() {
  const bool exchanges = ranks_.count() > 1 && !ranks_.owns_blocks;
  const bool at_once = options_.lag == 0 && !exchanges && !options_.eigenvalue_corrected();
  const auto count = static_cast<std::size_t>(at_once ? 0 : std::max<std::int64_t>(options_.rounds(), 1));
  if (rounds_.size() != count) {
    std::vector<std::unique_ptr<Round>> rounds;
    for (std::size_t r = 0; r < count; ++r) {
      auto round = std::make_unique<Round>();
      round->run = preconditioning_.make_root_run();
      rounds.push_back(std::move(round));
    }
    order_.reserve(count);
    finish();
    rounds_.swap(rounds);
  }
  for (const auto& round : rounds_) {
    round->tasks.reserve(tasks_.size());
    round->jobs.reserve(tasks_.size());
    round->records.reserve(tasks_.size());
    if (round->is_free()) round->tasks.clear();
    move_numbers(*round, site_.allocate(static_cast<std::size_t>(round_bytes_), /*zeroed=*/true));
    bind_jobs(*round);
  }
}

Array RootSchedule::matrix_in(const Buffer& numbers, const Task& task, std::int64_t offset) const {
  return compact_array(numbers.as<std::byte>() + offset, task.n * task.n, states_[task.parameter].arithmetic);
}

/// The root of a parameter that was switched off is dropped, for good. Places change when all numbers have moved.
void RootSchedule::move_numbers(Round& round, Buffer numbers) {
  const auto offset_of = [this](const Task& task) { return task.offset >= 0 ? factor_of(task).offset : -1; };
  CopyList moved;
  moved.begin(round.tasks.size());
  for (std::size_t at = 0; at < round.tasks.size(); ++at) {
    const Task& task = round.tasks[at];
    const std::int64_t offset = offset_of(task);
    if (offset < 0) continue;
    moved.set(at, matrix_in(numbers, task, offset), matrix_in(round.numbers, task, task.offset));
  }
  moved.run(site_);
  for (Task& task : round.tasks) task.offset = offset_of(task);
  round.numbers = std::move(numbers);
}

/// Where the matrices and the numbers of a round lie now.
void RootSchedule::bind_jobs(Round& round) {
  round.jobs.resize(round.tasks.size());
  for (std::size_t at = 0; at < round.tasks.size(); ++at) {
    const Task& task = round.tasks[at];
    RootJob& job = round.jobs[at];
    job.n = task.n;
    job.statistic = states_[task.parameter].statistic(task.factor).matrix();
    job.preconditioner = states_[task.parameter].preconditioner(task.factor).matrix();
    job.result = task.offset >= 0 ? round.numbers.as<std::byte>() + task.offset : nullptr;
  }
}

}  // namespace gradstep
