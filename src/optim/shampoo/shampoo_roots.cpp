// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// When and where Shampoo computes its roots: at once, or in rounds that a later step installs; alone, or each on the
// rank that it was dealt to.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "optim/assignment.h"
#include "optim/shampoo/shampoo.h"

namespace gradstep {

namespace {

/// Beside the vectors themselves a refreshed basis tells which old one each of them came from.
std::int64_t numbers_of(std::int64_t n, bool is_basis) { return n * n + (is_basis ? n : 0); }

}  // namespace

/// Matrices by the rank that computes them.
void Shampoo::plan_matrices() {
  matrices_.clear();
  largest_extent_ = 0;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    ShampooState& state = parameters_[i];
    for (Factor& factor : state.factors) factor.offset = -1;
    if (!state.preconditioned) continue;
    for (std::size_t k = 0; k < state.factors.size(); ++k) {
      Factor& factor = state.factors[k];
      const std::int64_t n = factor.extent();
      largest_extent_ = std::max(largest_extent_, n);
      if (factor.statistic.is_here()) matrices_.push_back({i, k, n, std::pow(static_cast<double>(n), 3)});
    }
  }
  if (!owns_blocks()) {
    std::vector<double> costs;
    for (const RootTask& task : matrices_) costs.push_back(task.cost);
    const std::vector<std::int32_t> owners = assign_longest_first(costs, ranks());
    for (std::size_t at = 0; at < matrices_.size(); ++at) matrices_[at].owner = owners[at];
  } else {
    for (RootTask& task : matrices_) task.owner = rank();
  }
  std::stable_sort(matrices_.begin(), matrices_.end(), [](const RootTask& a, const RootTask& b) {
    return a.owner != b.owner ? a.owner < b.owner : a.cost > b.cost;
  });
  matrix_counts_.assign(static_cast<std::size_t>(ranks()), 0);
  matrix_tasks_.assign(static_cast<std::size_t>(ranks()), 0);
  own_matrices_ = {};
  round_size_ = 0;
  for (std::size_t at = 0; at < matrices_.size(); ++at) {
    RootTask& task = matrices_[at];
    const std::int64_t count = numbers_of(task.n, options_.eigenvalue_corrected);
    task.offset = factor_of(task).offset = round_size_;
    factor_of(task).task = at;
    round_size_ += count;
    matrix_counts_[static_cast<std::size_t>(task.owner)] += count;
    ++matrix_tasks_[static_cast<std::size_t>(task.owner)];
    if (task.owner == rank() && own_matrices_.count++ == 0) own_matrices_.begin = at;
  }
}

/// Gives every round room for the planned matrices. Those under way, which are complete, move.
void Shampoo::plan_rounds() {
  const bool exchanges = ranks() > 1 && !owns_blocks();
  const bool at_once = options_.lag == 0 && !exchanges && !options_.eigenvalue_corrected;
  const auto count = static_cast<std::size_t>(at_once ? 0 : std::max<std::int64_t>(options_.rounds(), 1));
  if (rounds_.size() != count) {
    complete_all();
    for (RootRound* round : rounds_in_order()) install(*round);
    rounds_.clear();
    for (std::size_t r = 0; r < count; ++r) rounds_.push_back(std::make_unique<RootRound>());
  }
  for (const auto& round : rounds_) {
    if (round->is_free()) round->tasks.clear();
    Buffer numbers = context()->allocate(static_cast<std::size_t>(round_size_) * sizeof(float), /*zeroed=*/true);
    for (RootTask& task : round->tasks) {
      // The root of a parameter that was switched off is dropped, for good.
      const std::int64_t offset = task.offset >= 0 ? factor_of(task).offset : -1;
      if (offset >= 0) {
        std::copy_n(round->numbers.as<float>() + task.offset, task.n * task.n, numbers.as<float>() + offset);
      }
      task.offset = offset;
    }
    round->numbers = std::move(numbers);
  }
}

RootRecipe Shampoo::recipe_of(const RootTask& task) const {
  const auto values = values_of(task.parameter);
  const auto axes = static_cast<std::int32_t>(parameters_[task.parameter].axes.size());
  RootRecipe recipe;
  recipe.options.dense = &dense_;
  recipe.options.lapack = context()->lapack().get();
  recipe.options.method = options_.method;
  recipe.options.precision = options_.precision;
  recipe.options.exponent = options_.exponent_override > 0 ? options_.exponent_override : 2 * axes;
  recipe.options.matrix_epsilon = values[kMatrixEpsilon];
  recipe.options.padded = options_.pad_to_largest ? largest_extent_ : 0;
  recipe.options.pad_value = options_.matrix_coding == Coding::none ? 1 : 0;
  recipe.options.seed_rules = options_.retries == 0;
  recipe.threshold = values[kFailureThreshold];
  recipe.retries = options_.retries;
  return recipe;
}

void Shampoo::refresh_preconditioners() {
  if (rounds_.empty()) {
    refresh_here();
    return;
  }
  begin_round();
  settle();
}

/// At once and without a copy of the statistics.
void Shampoo::refresh_here() {
  context()->parallel_for(static_cast<std::int64_t>(own_matrices_.count), [&](std::int64_t at) {
    RootTask task = matrices_[own_matrices_.begin + static_cast<std::size_t>(at)];
    if (!takes_part(task.parameter)) return;
    const Workspaces::Lent workspace(workspaces_);
    Factor& factor = factor_of(task);
    const std::int64_t count = task.n * task.n;
    const float* statistic =
        factor.statistic.read(factor.statistic.is_coded() ? Workspace::resized(workspace->first, count) : nullptr);
    float* root = Workspace::resized(workspace->second, count);
    const RootOutcome outcome = compute_root(statistic, task.n, recipe_of(task), *workspace, root);
    factor.record(outcome, recipe_of(task).threshold, step_count());
    if (outcome.accepted) factor.preconditioner.write(root);
  });
}

/// Keeps this step's statistics and starts on their roots: in the background, if they are for a later step.
void Shampoo::begin_round() {
  const auto slot = static_cast<std::size_t>(step_count() / options_.root_steps) % rounds_.size();
  RootRound& round = *rounds_[slot];
  if (!round.is_free()) {
    complete(round);
    install(round);
  }
  // An eigenvalue-corrected parameter gets its basis with its first gradient.
  const bool is_due = step_count() % options_.root_steps == 0;
  round.tasks = matrices_;
  for (RootTask& task : round.tasks) {
    task.wanted = takes_part(task.parameter) && (is_due || !parameters_[task.parameter].used);
    task.recipe = recipe_of(task);
  }
  const std::span<RootTask> own = std::span(round.tasks).subspan(own_matrices_.begin, own_matrices_.count);
  if (!options_.eigenvalue_corrected) {
    context()->parallel_for(static_cast<std::int64_t>(own.size()), [&](std::int64_t at) {
      const RootTask& task = own[static_cast<std::size_t>(at)];
      float* numbers = round.numbers.as<float>() + task.offset;
      const float* statistic = factor_of(task).statistic.read(numbers);
      if (statistic != numbers) std::copy_n(statistic, task.n * task.n, numbers);
    });
  }
  round.complete = false;
  round.step = step_count();
  round.job = std::make_shared<BackgroundJob>(
      static_cast<std::int64_t>(own.size()),
      [this, &round, own](std::int64_t at) { run_task(round, own[static_cast<std::size_t>(at)]); });
  if (options_.lag > 0) context()->background().submit(round.job);
}

/// On any thread: touches nothing but the round, and for a basis its factor, whose round is over within the step.
void Shampoo::run_task(RootRound& round, RootTask& task) {
  if (!task.wanted) return;
  const Workspaces::Lent workspace(workspaces_);
  if (options_.eigenvalue_corrected) {
    refine_basis(round, task, *workspace);
    return;
  }
  float* numbers = round.numbers.as<float>() + task.offset;
  task.outcome = compute_root(numbers, task.n, task.recipe, *workspace, numbers);
}

/// Does what is left of a round, and brings it to all ranks.
void Shampoo::complete(RootRound& round) {
  if (round.complete) return;
  const auto count = static_cast<std::int64_t>(own_matrices_.count);
  context()->parallel_for(count, [&](std::int64_t /*at*/) { round.job->run_one(); });
  round.job->wait();
  // What failed for want of memory in the background is tried again here, where it can be reported.
  context()->parallel_for(static_cast<std::int64_t>(round.tasks.size()), [&](std::int64_t at) {
    RootTask& task = round.tasks[static_cast<std::size_t>(at)];
    if (task.owner == rank() && task.wanted && !task.outcome.computed) run_task(round, task);
  });
  if (ranks() > 1 && !owns_blocks()) gather_round(round);
  round.job.reset();
  round.complete = true;
}

void Shampoo::gather_round(RootRound& round) {
  Communicator& comm = sharding()->comm();
  const auto in_bytes = [](std::vector<std::int64_t> counts, std::size_t size) {
    for (std::int64_t& count : counts) count *= static_cast<std::int64_t>(size);
    return counts;
  };
  outcomes_.clear();
  for (const RootTask& task : round.tasks) outcomes_.push_back(task.outcome);
  const RootTask* first = own_matrices_.count > 0 ? &round.tasks[own_matrices_.begin] : nullptr;
  const float* own_numbers = round.numbers.as<float>() + (first != nullptr ? first->offset : 0);
  comm.all_gather_v(outcomes_.data() + own_matrices_.begin, outcomes_.data(),
                    in_bytes(matrix_tasks_, sizeof(RootOutcome)), comm.deadline());
  comm.all_gather_v(own_numbers, round.numbers.data(), in_bytes(matrix_counts_, sizeof(float)), comm.deadline());
  for (std::size_t at = 0; at < round.tasks.size(); ++at) round.tasks[at].outcome = outcomes_[at];
}

void Shampoo::install(RootRound& round) {
  if (round.is_free()) return;
  if (options_.eigenvalue_corrected) {
    install_bases(round);
  } else {
    for (const RootTask& task : round.tasks) {
      if (!task.outcome.computed || task.offset < 0) continue;
      Factor& factor = factor_of(task);
      factor.record(task.outcome, task.recipe.threshold, round.step);
      if (task.outcome.accepted) factor.preconditioner.write(round.numbers.as<float>() + task.offset);
    }
  }
  round.step = RootRound::kFree;
}

std::vector<RootRound*> Shampoo::rounds_in_order() {
  std::vector<RootRound*> rounds;
  for (const auto& round : rounds_) {
    if (!round->is_free()) rounds.push_back(round.get());
  }
  std::sort(rounds.begin(), rounds.end(), [](const RootRound* a, const RootRound* b) { return a->step < b->step; });
  return rounds;
}

/// Installs what the next step is to use.
void Shampoo::settle() {
  for (RootRound* round : rounds_in_order()) {
    if (round->step + options_.lag > step_count()) return;
    complete(*round);
    install(*round);
  }
}

void Shampoo::complete_all() {
  for (RootRound* round : rounds_in_order()) complete(*round);
}

void Shampoo::finish_pending() {
  complete_all();
  for (RootRound* round : rounds_in_order()) install(*round);
}

/// Which rounds are under way follows from the step count; a matrix of zeros means that there is no new one.
void Shampoo::state_replaced() {
  if (!keeps_pending_roots(options_)) {
    for (const auto& round : rounds_) {
      round->stop();
      round->step = RootRound::kFree;
    }
    return;
  }
  const auto slots = static_cast<std::int64_t>(rounds_.size());
  const std::int64_t newest = (step_count() - 1) / options_.root_steps;  // in refreshes; the last one that was begun
  for (std::int64_t slot = 0; slot < slots; ++slot) {
    RootRound& round = *rounds_[static_cast<std::size_t>(slot)];
    round.step = RootRound::kFree;
    const std::int64_t refresh = newest - ((newest - slot) % slots + slots) % slots;
    const std::int64_t step = refresh * options_.root_steps;
    if (step_count() == 0 || refresh < 0 || step + options_.lag <= step_count()) continue;
    round.step = step;
    round.complete = true;
    round.tasks = matrices_;
    for (RootTask& task : round.tasks) {
      task.outcome.computed = task.outcome.accepted = round.numbers.as<float>()[task.offset] != 0;
    }
  }
}

}  // namespace gradstep
