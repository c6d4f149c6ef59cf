// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "optim/shampoo/root_schedule.h"

#include <algorithm>
#include <cmath>

#include "core/trace.h"
#include "optim/shampoo/step_staging.h"

namespace gradstep {

RootRecipe RootSchedule::recipe_of(const Task& task, const rules::ShampooValues& values) const {
  const auto axes = static_cast<std::int32_t>(states_[task.parameter].axes.size());
  RootRecipe recipe;
  recipe.method = options_.method;
  const bool is_wide = states_[task.parameter].arithmetic == DType::f64;
  recipe.precision = is_wide ? RootPrecision::f64 : options_.precision;
  recipe.exponent = options_.exponent_override > 0 ? options_.exponent_override : 2 * axes;
  recipe.matrix_epsilon = values.matrix_epsilon;
  recipe.absolute_ridge = options_.absolute_ridge;
  recipe.padded = options_.pad_to_largest ? largest_extent_ : 0;
  recipe.pad_value = options_.matrix_coding == Coding::none ? 1 : 0;
  recipe.source_steps = options_.retries == 0;
  recipe.threshold = values.failure_threshold;
  recipe.retries = options_.retries;
  return recipe;
}

/// An eigenvalue-corrected parameter gets its basis with its first gradient.
RootAction RootSchedule::action_of(const Task& task, bool is_due, const PreconditioningStep& step) const {
  const TensorStep& tensor = step.tensors[task.parameter];
  if (!tensor.takes_part || (!is_due && tensor.used)) return RootAction::none;
  if (!options_.eigenvalue_corrected()) return RootAction::root;
  return tensor.used ? RootAction::refine : RootAction::eigenvectors;
}

/// Rounds for later steps may find none in the background: what is left of them is done before a later step begins.
void RootSchedule::reserve(const PreconditioningStep& step, bool is_due, std::span<const rules::ShampooValues> groups) {
  if (options_.lag > 0) return;
  const std::span<const Task> tasks = std::span(tasks_).subspan(own_.begin, own_.count);
  const std::span<RootJob> jobs = std::span(jobs_).subspan(own_.begin, own_.count);
  records_.resize(jobs.size());
  for (std::size_t at = 0; at < jobs.size(); ++at) {
    jobs[at].action = action_of(tasks[at], is_due, step);
    jobs[at].recipe = recipe_of(tasks[at], groups[static_cast<std::size_t>(states_[tasks[at].parameter].group)]);
  }
  preconditioning_.reserve_roots(jobs);
}

void RootSchedule::refresh(std::int64_t t, const PreconditioningStep& step,
                           std::span<const rules::ShampooValues> groups) {
  if (rounds_.empty()) {
    refresh_here(t);
    return;
  }
  begin_round(t, step, groups);
  settle(t, &step);
}

/// At once and without a copy of the statistics, by the jobs that reserve() has filled in.
void RootSchedule::refresh_here(std::int64_t t) {
  const Phase phase("roots", {{"jobs", static_cast<std::int64_t>(own_.count)}});
  const std::span<const Task> tasks = std::span(tasks_).subspan(own_.begin, own_.count);
  const std::span<RootJob> jobs = std::span(jobs_).subspan(own_.begin, own_.count);
  preconditioning_.refresh_roots(jobs, records_, site_.queue());
  for (std::size_t at = 0; at < jobs.size(); ++at) {
    if (records_[at].computed) record(tasks[at], records_[at], jobs[at].recipe.threshold, t);
  }
}

/// Keeps this step's statistics and starts on their roots: in the background, if they are for a later step.
void RootSchedule::begin_round(std::int64_t t, const PreconditioningStep& step,
                               std::span<const rules::ShampooValues> groups) {
  Round& round = *rounds_[static_cast<std::size_t>(t / options_.root_steps) % rounds_.size()];
  if (!round.is_free()) {
    complete(round);
    install(round, &step);
  }
  const bool is_due = t % options_.root_steps == 0;
  round.tasks = tasks_;
  round.jobs = jobs_;
  round.records.assign(tasks_.size(), {});
  bind_jobs(round);
  for (std::size_t at = 0; at < round.tasks.size(); ++at) {
    const Task& task = round.tasks[at];
    round.jobs[at].action = action_of(task, is_due, step);
    round.jobs[at].recipe = recipe_of(task, groups[static_cast<std::size_t>(states_[task.parameter].group)]);
  }
  round.complete = false;
  round.step = t;
  round.run->begin(std::span(round.jobs).subspan(own_.begin, own_.count),
                   std::span(round.records).subspan(own_.begin, own_.count), options_.lag > 0, site_.queue());
}

/// Does what is left of a round, and brings it to all ranks.
void RootSchedule::complete(Round& round) {
  if (round.complete) return;
  round.run->finish(site_.queue());
  if (ranks_.count() > 1 && !ranks_.owns_blocks) gather(round);
  round.complete = true;
}

void RootSchedule::gather(Round& round) {
  Communicator& comm = *ranks_.comm;
  const std::byte* own = round.numbers.as<std::byte>() + (own_.count > 0 ? round.tasks[own_.begin].offset : 0);
  comm.all_gather_v(round.records.data() + own_.begin, round.records.data(), record_bytes_, comm.deadline());
  const Deadline deadline = comm.deadline();
  ranks_.data->all_gather_v(own, round.numbers.data(), number_bytes_, deadline);
  ranks_.data->settle(deadline);
}

/// Without `step` a round of bases, which cannot outlive its own, is dropped.
void RootSchedule::install(Round& round, const PreconditioningStep* step) {
  if (round.is_free()) return;
  if (!options_.eigenvalue_corrected()) {
    record(round);
    preconditioning_.install_roots(round.jobs, round.records, site_.queue());
  } else if (step != nullptr) {
    record(round);
    preconditioning_.install_bases(*step, round.jobs, round.records, site_.queue());
  }
  round.step = Round::kFree;
}

/// What the roots say in the metrics. That of a parameter that was switched off is dropped.
void RootSchedule::record(Round& round) {
  for (std::size_t at = 0; at < round.tasks.size(); ++at) {
    const Task& task = round.tasks[at];
    if (!round.records[at].computed || task.offset < 0) continue;
    record(task, round.records[at], round.jobs[at].recipe.threshold, round.step);
  }
}

void RootSchedule::record(const Task& task, const RootRecord& root, double threshold, std::int64_t step) {
  Factor& factor = factor_of(task);
  factor.record(root, threshold, step);
  if (root.accepted) return;
  log_.write(
      GRADSTEP_LOG_WARNING,
      "shampoo: the root of '{}', block {}, axis {}, after step {} was refused: its error is {}, the threshold {}; "
      "the old one stays",
      schema_[task.parameter].name, factor.block, factor.axis, step + 1, root.error, threshold);
}

std::span<RootSchedule::Round* const> RootSchedule::rounds_in_order() noexcept {
  order_.clear();
  for (const auto& round : rounds_) {
    if (!round->is_free()) order_.push_back(round.get());
  }
  std::sort(order_.begin(), order_.end(), [](const Round* a, const Round* b) { return a->step < b->step; });
  return order_;
}

void RootSchedule::settle(std::int64_t t) { settle(t, nullptr); }

void RootSchedule::settle(std::int64_t t, const PreconditioningStep* step) {
  for (Round* round : rounds_in_order()) {
    if (round->step + options_.lag > t) return;
    complete(*round);
    install(*round, step);
  }
}

void RootSchedule::complete_all() {
  for (Round* round : rounds_in_order()) complete(*round);
}

void RootSchedule::finish() {
  complete_all();
  for (Round* round : rounds_in_order()) install(*round, nullptr);
}

void RootSchedule::close() noexcept {
  for (Round* round : rounds_in_order()) {
    if (round->complete) {
      install(*round, nullptr);
    } else {
      round->run->stop();
      round->step = Round::kFree;
    }
  }
}

/// A matrix of zeros means that there is no new one.
void RootSchedule::state_replaced(std::int64_t step_count) {
  for (const auto& round : rounds_) round->step = Round::kFree;
  if (!keeps_pending_roots(options_)) {
    for (const auto& round : rounds_) round->run->stop();
    return;
  }
  if (step_count == 0) return;
  const auto slots = static_cast<std::int64_t>(rounds_.size());
  const std::int64_t newest = (step_count - 1) / options_.root_steps;  // in refreshes; the last one that was begun
  for (std::int64_t slot = 0; slot < slots; ++slot) {
    Round& round = *rounds_[static_cast<std::size_t>(slot)];
    const std::int64_t refresh = newest - (newest + slots - slot) % slots;  // the last one that took this slot
    const std::int64_t step = refresh * options_.root_steps;
    if (refresh < 0 || step + options_.lag <= step_count) continue;
    round.step = step;
    round.complete = true;
    round.tasks = tasks_;
    round.jobs = jobs_;
    bind_jobs(round);
    std::vector<double> first(tasks_.size());
    for (std::size_t at = 0; at < tasks_.size(); ++at) {
      const RootJob& job = round.jobs[at];
      if (job.result == nullptr) continue;
      first[at] = with_arithmetic(job.is_wide(), [&](auto type) {
        return static_cast<double>(read(site_.queue(), static_cast<const decltype(type)*>(job.result)));
      });
    }
    round.records.assign(tasks_.size(), {});
    for (std::size_t at = 0; at < tasks_.size(); ++at) {
      round.records[at].computed = round.records[at].accepted = first[at] != 0;
    }
  }
}

void RootSchedule::append_pending(std::vector<StoredState>& stored) {
  if (!keeps_pending_roots(options_)) return;
  for (std::size_t slot = 0; slot < rounds_.size(); ++slot) {
    Round& round = *rounds_[slot];
    clear_missing(round);
    for (std::size_t i = 0; i < states_.size(); ++i) {
      const ShampooState& state = states_[i];
      if (!state.preconditioned) continue;
      for (const Factor& factor : state.factors) {
        const std::int64_t n = factor.extent;
        Array array;
        array.dtype = state.arithmetic;
        if (factor.offset >= 0) {
          array.data = round.numbers.as<std::byte>() + factor.offset;
          array.size = n * n;
        }
        const std::string name = "pending_roots." + std::to_string(slot) + "." + factor.place();
        stored.push_back({i, name, array, 0, n * n, false, state.owner(factor.block), {n, n}});
      }
    }
  }
}

/// A matrix of zeros says that there is no new root.
void RootSchedule::clear_missing(Round& round) {
  const Array none;
  CopyList zeros;
  if (round.is_free()) {
    zeros.begin(1);
    zeros.set(0, compact_array(round.numbers.data(), round_bytes_ / size_of(DType::f32), DType::f32), none);
  } else {
    zeros.begin(round.tasks.size());
    for (std::size_t at = 0; at < round.tasks.size(); ++at) {
      if (round.records[at].accepted || round.jobs[at].result == nullptr) continue;
      zeros.set(at, matrix_in(round.numbers, round.tasks[at], round.tasks[at].offset), none);
    }
  }
  zeros.run(site_);
}

std::size_t RootSchedule::bytes() const {
  constexpr std::size_t kTask = sizeof(Task) + sizeof(RootJob) + sizeof(RootRecord);
  std::size_t total = tasks_.capacity() * kTask;
  for (const auto& round : rounds_) {
    total += round->tasks.capacity() * kTask;
    if (!keeps_pending_roots(options_)) total += round->numbers.bytes();
  }
  return total;
}

}  // namespace gradstep
