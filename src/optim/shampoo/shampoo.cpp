// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "optim/shampoo/shampoo.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "comm/all_or_none.h"
#include "core/error.h"
#include "kernels/stored.h"

namespace gradstep {

namespace {

bool deals_out_blocks(const Sharding* sharding) {
  return sharding != nullptr && sharding->options().preconditioners == GRADSTEP_SHARDED_PRECONDITIONERS_OWNED;
}

/// Whether a tensor has its first gradient.
bool meets_new(const PreconditioningStep& step) {
  return std::any_of(step.tensors.begin(), step.tensors.end(),
                     [](const TensorStep& tensor) { return tensor.takes_part && !tensor.used; });
}

/// Throws OUT_OF_MEMORY if there is not even room for one number each: to list the blocks of so many takes minutes.
void check_room(const Site& site, const Schema& schema) {
  constexpr std::int64_t kLarge = std::int64_t{1} << 32;
  for (const Parameter& parameter : schema) {
    if (parameter.size > kLarge) site.allocate(static_cast<std::size_t>(parameter.size) * sizeof(float), false);
  }
}

/// A state that a new schema or new schedules call for.
struct FreshState {
  std::size_t parameter = 0;
  double matrix_epsilon = 0;  // what statistics start with
  ShampooState state;
};

void allocate(const Site& site, Preconditioning& preconditioning, std::vector<FreshState>& fresh) {
  std::vector<NewFactor> factors;
  for (FreshState& f : fresh) {
    ShampooState& s = f.state;
    for (StateMatrix* matrix :
         {&s.momentum, &s.diagonal_momentum, &s.diagonal_statistics, &s.diagonal_exp_avg, &s.master}) {
      if (matrix->exists()) allocate_matrices(site, {&matrix, 1});
    }
    for (Factor& factor : s.factors) factors.push_back({&factor, f.matrix_epsilon});
  }
  allocate_factors(site, preconditioning, factors);
}

}  // namespace

Shampoo::Shampoo(std::shared_ptr<Context> context, const gradstep_shampoo_options& options, Schema parameters)
    : Optimizer(std::move(context), std::move(parameters), ShampooOptions::fields(), ShampooOptions(options).values),
      options_(options),
      preconditioning_(site().backend().make_preconditioning(options_.form)),
      staging_(site()),
      move_(site(), *preconditioning_, options_),
      roots_(site(), *preconditioning_, options_, schema(), this->context()->log()) {
  // Statistics are products of gradients, each no larger than the square of the norm.
  step_plan().limits = {std::sqrt(double{kernels::kLargestStored<float>}), std::numeric_limits<float>::max()};
  prepare(schema(), hyper_parameters());
  list_work();
}

std::int64_t Shampoo::state_bytes(const gradstep_shampoo_options& options, const Schema& schema) {
  const ShampooOptions checked(options);
  const HyperParameters hyper_parameters(ShampooOptions::fields(), checked.values, schema.group_count());
  std::int64_t bytes = 0;
  for (const Parameter& parameter : schema) {
    check_parameter(checked, parameter);
    const bool active = can_precondition(checked, parameter) && checked.values[kPrecondition] != 0;
    bytes += shampoo_state_bytes(checked, parameter, active);
  }
  return bytes;
}

bool Shampoo::wants_preconditioner(const Parameter& parameter, const HyperParameters& hyper_parameters) const {
  return can_precondition(options_, parameter) &&
         !hyper_parameters.schedule(parameter.group, kPrecondition).is_absent();
}

void Shampoo::check_gives_updates() const {
  for (const Parameter& parameter : schema()) {
    if (wants_master(options_, parameter)) {
      fail(GRADSTEP_ERR_UNSUPPORTED,
           "updates: parameter '{}' has master weights, which only a step in place can follow", parameter.name);
    }
  }
}

void Shampoo::prepare(const Schema& schema, const HyperParameters& hyper_parameters) {
  check_room(site(), schema);
  std::vector<FreshState> fresh;
  for (std::size_t i = 0; i < schema.size(); ++i) {
    check_parameter(options_, schema[i]);
    const bool wanted = wants_preconditioner(schema[i], hyper_parameters);
    const bool is_known = i < parameters_.size();
    if (is_known && (!wanted || !parameters_[i].factors.empty())) continue;
    if (is_known && ranks().owns_blocks) {
      fail(GRADSTEP_ERR_INVALID_STATE, "precondition: blocks are dealt out to ranks: attach no communicator first");
    }
    const double epsilon = options_.eigenvalue_corrected() ? 0
                                                           : hyper_parameters.evaluate(schema[i].group, kMatrixEpsilon,
                                                                                       step_count(), &site().queue());
    ShampooState state = make_shampoo_state(options_, schema[i], wanted);
    if (is_known) {
      // Switched on later: the momentum of the grafting rule goes on, the other one begins.
      if (parameters_[i].momentum.exists()) state.momentum = {};
      state.diagonal_momentum = state.diagonal_statistics = state.diagonal_exp_avg = state.master = {};
    }
    fresh.push_back({i, epsilon, std::move(state)});
  }
  allocate(site(), *preconditioning_, fresh);
  parameters_.reserve(schema.size());

  planned_ = false;
  for (FreshState& f : fresh) {
    if (f.parameter >= parameters_.size()) {
      parameters_.push_back(std::move(f.state));
      continue;
    }
    ShampooState& state = parameters_[f.parameter];
    state.partition = std::move(f.state.partition);
    state.axes = std::move(f.state.axes);
    state.factors = std::move(f.state.factors);
    if (f.state.momentum.exists()) state.momentum = std::move(f.state.momentum);
  }
  roots_.follow(parameters_);
  for (std::size_t i = 0; i < schema.size(); ++i) {
    parameters_[i].preconditioned = wants_preconditioner(schema[i], hyper_parameters);
  }
}

ShampooRanks Shampoo::ranks() const {
  if (!is_sharded()) return {};
  return {&sharding()->comm(), &sharding()->data(), deals_out_blocks(sharding())};
}

/// For parameters, preconditioning or ranks that are new.
void Shampoo::plan() {
  if (planned_) return;
  roots_.plan(parameters_, ranks());
  blocks_.plan(site(), parameters_, ranks());
  staging_.plan(schema(), parameters_);
  preconditioning_->plan(plan_preconditioning(options_, schema(), work(), parameters_, blocks_,
                                              [this](std::size_t i) -> StepScratch {
                                                return {staging_.direction(i), staging_.preconditioned(i)};
                                              }),
                         site().queue());
  planned_ = true;
}

/// What can fail for want of memory comes before the first number of the state changes.
void Shampoo::apply(double clip_value) {
  if (!gate_is_open()) return write_zero_updates();
  plan();
  roots_.settle(t());
  const PreconditioningStep step = begin_step(clip_value);
  const bool is_due = t() % options_.root_steps == 0;
  if (is_due || meets_new(step)) roots_.reserve(step, is_due, values_);
  nothing_has_changed();
  if (options_.eigenvalue_corrected()) {
    apply_in_eigenbases(step);
  } else {
    apply_roots(step);
  }
  staging_.publish();
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    if (step.tensors[i].takes_part) parameters_[i].used = true;
  }
  site().backend().close_step(scalars(), site().queue());
}

/// What the step computes with: constants by group, and f32 numbers where the backend can read them.
PreconditioningStep Shampoo::begin_step(double clip_value) {
  const auto groups = static_cast<std::size_t>(group_count());
  values_.resize(groups);
  constants_.resize(groups);
  for (std::size_t g = 0; g < groups; ++g) {
    read_values(hyper_parameters().values(static_cast<std::int32_t>(g)), values_[g]);
    kernels::set_shampoo_constants(options_.form, values_[g], t(), /*adds=*/updates().empty(), constants_[g]);
  }
  const PreconditioningStep step{staging_.tensors(), constants_};
  if (staging_.load_parameters(params()) && options_.master_weights) {
    preconditioning_->follow_masters(step, site().queue());
    staging_.step_masters();
  }
  staging_.load_gradients(grads(), &scalars()->grad_multiplier, clip_value, is_plain(options_.graft()));
  staging_.place_outcomes(params(), updates());
  return step;
}

void Shampoo::apply_roots(const PreconditioningStep& step) {
  const bool statistics_due = t() % options_.statistics_steps == 0;
  const bool roots_due = t() % options_.root_steps == 0;
  if (roots_due) {
    if (statistics_due) preconditioning_->update_statistics(step, /*only_new=*/false, site().queue());
    roots_.refresh(t(), step, values_);
  }
  // Without roots in between, what a block's gradient is read for is done at once.
  preconditioning_->precondition(step, /*with_statistics=*/statistics_due && !roots_due, site().queue());
  if (ranks().owns_blocks) {
    blocks_.gather(sharding()->comm(), sharding()->data());
    preconditioning_->spread_exchanged(step, site().queue());
  }
  preconditioning_->graft(step, site().queue());
  preconditioning_->finish(step, site().queue());
}

/// A parameter's first gradient only makes its bases.
void Shampoo::apply_in_eigenbases(const PreconditioningStep& step) {
  const bool statistics_due = t() % options_.statistics_steps == 0;
  const bool bases_due = t() % options_.root_steps == 0;
  const bool any_new = meets_new(step);
  preconditioning_->step_in_bases(step, site().queue());
  if (statistics_due || any_new)
    preconditioning_->update_statistics(step, /*only_new=*/!statistics_due, site().queue());
  if (bases_due || any_new) roots_.refresh(t(), step, values_);
  preconditioning_->finish_in_bases(step, site().queue());
}

/// Ranks compute the same from the same numbers only with the same arithmetic.
std::string Shampoo::sharding_key() const {
  const ShampooOptions& o = options_;
  const auto number = [](auto choice) { return static_cast<int>(choice); };
  return fmt::format("{} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {}", kind(),
                     preconditioning_->arithmetic(), number(o.graft()), o.block_size, o.form.start_step, o.root_steps,
                     o.statistics_steps, o.skip_above, o.exponent_override, o.merge, o.form.nesterov,
                     o.form.moving_average, o.form.decoupled_decay, number(o.method), number(o.precision),
                     number(o.products), o.pad_to_largest, o.retries, o.lag, number(o.sides), o.eigenvalue_corrected(),
                     number(o.momentum_coding), number(o.matrix_coding), o.master_weights);
}

void Shampoo::prepare_slices(const Sharding* next, bool keep, const Deadline& deadline) {
  const bool gathers = keep && is_sharded();
  if (!keep && is_sharded()) roots_.close();  // the peers that roots under way would be exchanged with are gone
  Buffer whole;
  all_or_none(gathers ? &sharding()->comm() : nullptr, "allocate its part of the state", deadline, [&] {
    if (options_.eigenvalue_corrected() && deals_out_blocks(next)) {
      fail(GRADSTEP_ERR_UNSUPPORTED, "options.preconditioners: OWNED does not go with eigenvalue_corrected");
    }
    plan();
    std::vector<std::vector<std::int32_t>> owners;
    if (deals_out_blocks(next)) owners = assign_blocks(options_, parameters_, next->comm().world_size());
    std::vector<double> epsilons;
    for (const Parameter& parameter : schema()) {
      epsilons.push_back(hyper_parameters().values(parameter.group)[kMatrixEpsilon]);
    }
    move_.prepare(parameters_, std::move(owners), next != nullptr ? next->comm().rank() : 0, epsilons, keep);
    const std::int64_t largest = roots_.largest_extent();
    whole = context()->allocate(static_cast<std::size_t>(largest * largest) * sizeof(float), /*zeroed=*/false);
  });
  if (!keep) return;
  roots_.complete_all();
  move_.gather(parameters_, whole.data(),
               [&](const StoredState& stored, void* to) { Optimizer::gather(stored, to, deadline); });
}

void Shampoo::commit_slices() noexcept {
  roots_.close();
  move_.commit(parameters_, ranks().rank());
  planned_ = false;
}

}  // namespace gradstep
