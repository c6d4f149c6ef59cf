// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "optim/shampoo/shampoo.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "core/error.h"
#include "core/held_bytes.h"
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
void check_room(const Site& site, const Schema& schema, std::size_t first) {
  constexpr std::int64_t kLarge = std::int64_t{1} << 32;
  for (const Parameter& parameter : std::span(schema.begin(), schema.end()).subspan(first)) {
    if (parameter.size > kLarge)
      site.allocate(static_cast<std::size_t>(parameter.size * size_of(arithmetic_dtype(parameter.dtype))), false);
  }
}

/// Over all parameters, so those of the smallest type. Statistics are products of gradients, each no larger than the
/// square of the norm.
kernels::StepLimits limits_of(std::span<const ShampooState> states) {
  const bool is_wide = !states.empty() && std::ranges::all_of(states, [](const ShampooState& state) {
    return state.arithmetic == DType::f64;
  });
  if (is_wide) return {std::sqrt(kernels::kLargestStored<double>), std::numeric_limits<double>::max()};
  return {std::sqrt(double{kernels::kLargestStored<float>}), std::numeric_limits<float>::max()};
}

/// What must be equal on all ranks: they compute alike from the same numbers only with the same arithmetic.
std::string rule_text_of(const ShampooOptions& o, const char* arithmetic) {
  const auto number = [](auto choice) { return static_cast<int>(choice); };
  std::string text = fmt::format(
      "shampoo {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {}", arithmetic, number(o.graft()),
      o.block_size, o.form.start_step, o.root_steps, o.statistics_steps, o.skip_above, o.exponent_override, o.merge,
      o.form.nesterov, o.form.moving_average, o.form.decoupled_decay, number(o.method), number(o.precision),
      number(o.products), o.pad_to_largest, o.retries, o.lag, number(o.sides), o.eigenvalue_corrected(),
      number(o.momentum_coding), number(o.matrix_coding), o.storage.master_weights, o.maximize);
  if (o.form.is_kl()) text += fmt::format(" kl {}", number(o.form.statistics));
  if (o.absolute_ridge) text += " absolute";
  if (o.storage.format == StateFormat::bf16) text += " bf16";
  if (o.storage.stochastic_rounding) text += fmt::format(" random {}", o.storage.seed);
  return text + key_of(o.average);
}

std::vector<const char*> names_of_state(const kernels::AverageForm& average) {
  std::vector<const char*> names = {"momentum", "diagonal_momentum", "diagonal_statistics", "diagonal_exp_avg",
                                    kMasterWeights};
  if (average.exists()) names.insert(names.end(), {kWeightAverage, kWeightAverageCount});
  names.insert(names.end(), {"statistics.{block}.{axis}", "preconditioners.{block}.{axis}"});
  return names;
}

}  // namespace

Shampoo::Shampoo(std::shared_ptr<Context> context, const gradstep_shampoo_options& options, Schema parameters)
    : Optimizer(std::move(context), std::move(parameters),
                std::vector<GroupFields>(1, {ShampooOptions::fields(), ShampooOptions(options).values}),
                {.kind = "shampoo",
                 .state_names = names_of_state(ShampooOptions(options).average),
                 .steps_whole = true,
                 .flags_at_site = false}),
      options_(options),
      preconditioning_(site().backend().make_preconditioning(options_.form)),
      staging_(site()),
      roots_(site(), *preconditioning_, options_, schema(), this->context()->log()) {
  set_rule_text(rule_text_of(options_, preconditioning_->arithmetic()));
  prepare(schema(), hyper_parameters(), 0);
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

/// Everything that can throw happens on the side.
void Shampoo::prepare(const Schema& schema, const HyperParameters& hyper_parameters, std::size_t first) {
  check_room(site(), schema, first);
  std::vector<ShampooState> fresh;
  std::vector<ParameterWish> wishes;
  for (std::size_t i = first; i < schema.size(); ++i) {
    check_parameter(options_, schema[i]);
    const bool wanted = wants_preconditioner(schema[i], hyper_parameters);
    const bool is_known = i < parameters_.size();
    const bool is_fresh = !is_known || (wanted && parameters_[i].factors.empty());
    double epsilon = 0;
    if (is_fresh) {
      if (is_known && ranks().owns_blocks) {
        fail(GRADSTEP_ERR_INVALID_STATE, "precondition: blocks are dealt out to ranks: attach no communicator first");
      }
      if (!options_.eigenvalue_corrected()) {
        epsilon = hyper_parameters.evaluate(schema[i].group, kMatrixEpsilon, step_count(), &site().queue());
      }
      fresh.push_back(make_shampoo_state(options_, schema[i], wanted));
      fresh.back().store = &store();
      fresh.back().index = i;
    }
    ShampooState known;  // switched on or off
    if (!is_fresh) {
      known.preconditioned = wanted;
      known.factors = parameters_[i].factors;
    }
    const bool has_momentum = store().tensor(i, kMomentum).exists();
    wishes.push_back({shampoo_wishes(options_, schema[i], is_fresh ? fresh.back() : known, has_momentum, epsilon),
                      slice_of(schema, i)});
  }
  StateStore::Growth growth = store().grow(wishes, first);
  if (schema.size() > parameters_.capacity()) parameters_.reserve(std::max(schema.size(), 2 * parameters_.size()));

  store().commit(std::move(growth));
  planned_ = false;
  for (ShampooState& state : fresh) {
    if (state.index < parameters_.size()) {
      parameters_[state.index] = std::move(state);
    } else {
      parameters_.push_back(std::move(state));
    }
  }
  roots_.follow(parameters_);
  step_plan().limits = limits_of(parameters_);
  for (std::size_t i = first; i < schema.size(); ++i) {
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
  staging_.plan(schema(), parameters_, options_.storage.seed);
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
  if (buffers_changed() || !planned_) {
    averages_.fill(store(), {kAverage, kMaster}, params(), schema(), [&](std::int32_t) { return options_.average; });
  }
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
  averages_.run(site(), scalars());
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    if (step.tensors[i].takes_part) store().flags().mark(site(), i);
  }
  site().backend().close_step(scalars(), site().queue());
}

/// What the step computes with: constants by group, and numbers where the backend can read them.
PreconditioningStep Shampoo::begin_step(double clip_value) {
  const auto groups = static_cast<std::size_t>(hyper_parameters().group_count());
  values_.resize(groups);
  constants_.resize(groups);
  for (std::size_t g = 0; g < groups; ++g) {
    read_values(hyper_parameters().values(static_cast<std::int32_t>(g)), values_[g]);
    rules::set_shampoo_constants(options_.form, values_[g], t(), /*adds=*/updates().empty(), constants_[g]);
  }
  const std::int64_t random_step = options_.storage.stochastic_rounding ? t() : -1;
  const PreconditioningStep step{staging_.tensors(), constants_, random_step};
  if (staging_.load_parameters(params(), store().flags().here()) && options_.storage.master_weights) {
    preconditioning_->follow_masters(step, site().queue());
    staging_.step_masters();
  }
  staging_.load_gradients(grads(), &scalars()->grad_multiplier, options_.maximize, clip_value,
                          is_plain(options_.graft()));
  staging_.place_outcomes(params(), updates(), random_step);
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

Optimizer::OwnerOf Shampoo::owners(const Sharding* next) {
  const bool deals_out = deals_out_blocks(next);
  if (options_.eigenvalue_corrected() && deals_out) {
    fail(GRADSTEP_ERR_UNSUPPORTED, "options.preconditioners: OWNED does not go with eigenvalue_corrected");
  }
  plan();
  if (!deals_out) return nullptr;
  return [this, owners = assign_blocks(options_, parameters_, next->comm().world_size())](std::size_t i,
                                                                                          std::size_t slot) {
    if (slot < kFirstMatrix) return std::int32_t{-1};  // every rank has it
    return owners[i][parameters_[i].factors[(slot - kFirstMatrix) / 2].block];
  };
}

void Shampoo::on(StateEvent event) {
  switch (event) {
    case StateEvent::is_read:
      return roots_.settle(step_count());
    case StateEvent::is_saved:
      plan();
      roots_.settle(step_count());
      roots_.complete_all();
      return roots_.append_pending(pending_);
    case StateEvent::is_measured:
      return append_metrics();
    case StateEvent::is_dealt_out:
      return roots_.complete_all();
    case StateEvent::is_lost:  // the peers that roots under way would be exchanged with are gone
      return roots_.close();
    case StateEvent::is_moving:
      roots_.close();
      planned_ = false;
      return;
    case StateEvent::was_replaced:
      return roots_.state_replaced(step_count());
    case StateEvent::is_counted:
      return roots_.finish();
    case StateEvent::was_counted:
    case StateEvent::has_new_flags:
      return;
  }
}

std::int64_t Shampoo::scratch_bytes() const {
  return preconditioning_->bytes() +
         static_cast<std::int64_t>(held_bytes(staging_, blocks_, roots_, averages_, parameters_, values_, constants_));
}

void Shampoo::append_metrics() {
  // Over several ranks that would be collective: there, metrics are as of the last step.
  if (!is_sharded()) roots_.settle(step_count());
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const ShampooState& state = parameters_[i];
    if (!state.preconditioned) continue;
    for (std::size_t k = 0; k < state.factors.size(); ++k) {
      if (!state.statistic(k).is_here()) continue;
      const Factor& factor = state.factors[k];
      const auto append = [&](const char* name, double value) {
        gradstep_metric record{};
        std::strncpy(record.name, name, sizeof record.name - 1);
        record.parameter = static_cast<std::int64_t>(i);
        record.block = static_cast<std::int64_t>(factor.block);
        record.axis = static_cast<std::int64_t>(factor.axis);
        record.value = value;
        metrics_.push_back(record);
      };
      append("inverse_pth_root_errors", factor.error);
      append("root_max_eigenvalue", factor.max_eigenvalue);
      append("root_iterations", factor.iterations);
      append("root_retries", static_cast<double>(factor.retries));
      append("root_failures", static_cast<double>(factor.failures));
      append("preconditioner_age", static_cast<double>(step_count() - factor.refreshed));
    }
  }
}

}  // namespace gradstep
