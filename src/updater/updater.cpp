// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "updater/updater.h"

#include <algorithm>
#include <utility>

#include "core/caught.h"
#include "core/error.h"
#include "core/shape.h"
#include "core/trace.h"
#include "core/weight.h"
#include "updater/reduced_step.h"
#include "updater/stopwatch.h"

namespace gradstep {

namespace {

void check_same_schema(const char* what, const Schema& optimizer, const Schema& other) {
  if (const std::string difference = optimizer.difference(other); !difference.empty()) {
    fail(GRADSTEP_ERR_MISMATCH, "optimizer and {}: {}", what, difference);
  }
}

void check_outer(const gradstep_updater_options& options, const Optimizer& optimizer, const Optimizer& outer) {
  if (options.sync != GRADSTEP_SYNC_DELTAS) {
    fail_argument("options.outer: steps by deltas, and options.sync is {}, expected {}", options.sync,
                  static_cast<int>(GRADSTEP_SYNC_DELTAS));
  }
  if (&optimizer == &outer) fail_argument("options.outer: is the optimizer itself, expected another one");
  check_same_schema("outer optimizer", optimizer.schema(), outer.schema());
  if (!same_device(optimizer.schema().device(), outer.schema().device())) {
    fail(GRADSTEP_ERR_MISMATCH, "optimizer and outer optimizer: are on {} and {}",
         device_text(optimizer.schema().device()), device_text(outer.schema().device()));
  }
}

StepGuards guards_of(const gradstep_updater_options& options, const Accumulator* accumulator) {
  StepGuards guards;
  guards.grad_scale = options.grad_scale;
  guards.max_norm = options.max_norm;
  guards.clip_value = options.clip_value;
  guards.skip_nonfinite = options.skip_nonfinite != 0 ||
                          (accumulator != nullptr && accumulator->nonfinite_policy() == GRADSTEP_NONFINITE_POISON);
  return guards;
}

}  // namespace

gradstep_updater_options default_updater_options() {
  gradstep_updater_options options{};
  options.grad_scale = 1;
  options.sync_steps = 1;
  options.outer_fragments = 1;
  return options;
}

Updater::Updater(std::shared_ptr<Context> context, std::shared_ptr<Optimizer> optimizer,
                 std::shared_ptr<Accumulator> accumulator, std::shared_ptr<Reducer> reducer,
                 const gradstep_updater_options& options, std::shared_ptr<Optimizer> outer)
    : context_(std::move(context)),
      chain_{std::move(optimizer), std::move(accumulator), std::move(reducer), std::move(outer)},
      options_(options),
      guards_(guards_of(options, chain_.accumulator.get())),
      reducer_options_(chain_.reducer ? chain_.reducer->options() : default_reducer_options()),
      agreement_(chain_, options_, guards_) {
  options_.outer = nullptr;  // the chain has it
  if (options.sync < GRADSTEP_SYNC_GRADIENTS || options.sync > GRADSTEP_SYNC_DELTAS) {
    fail_argument("options.sync: is {}, expected 0 to {}", options.sync, static_cast<int>(GRADSTEP_SYNC_DELTAS));
  }
  if (options.sync_steps < 1) fail_argument("options.sync_steps: is {}, expected at least 1", options.sync_steps);
  if (options_.outer_fragments == 0) options_.outer_fragments = 1;  // the options of an older version
  const RoundShape shape{options_.sync_steps, options_.outer_fragments, options_.outer_delay, options_.outer_mix};
  check_round_shape(shape);
  check_guards(guards_);
  if (chain_.accumulator) check_same_schema("accumulator", chain_.optimizer->schema(), chain_.accumulator->schema());
  if (chain_.reducer) check_same_schema("reducer", chain_.optimizer->schema(), chain_.reducer->schema());
  if (chain_.reducer) check_windows_end_together(chain_.reducer->comm());
  if (chain_.outer) {
    check_outer(options, *chain_.optimizer, *chain_.outer);
    rounds_.emplace(chain_.outer, shape, reducer_options_.fuse_threshold);
  } else if (options.sync != GRADSTEP_SYNC_GRADIENTS) {
    local_.emplace(chain_.optimizer->site(), options);
  }
  if (local_ && chain_.reducer) local_->check(*chain_.optimizer, *chain_.reducer);
  progress_.known_skips = chain_.optimizer->skipped_steps();
  if (chain_.reducer) end_windows_together(*chain_.reducer);  // last: it changes the handles
}

void Updater::check_windows_end_together(const Communicator& comm) const {
  if (!chain_.accumulator || comm.world_size() == 1 || chain_.accumulator->ends_by_count()) return;
  fail(GRADSTEP_ERR_UNSUPPORTED,
       "accumulator: over several ranks windows must end by a count of micro-batches "
       "(trigger steps or schedule), so that they end together");
}

void Updater::end_windows_together(Reducer& reducer) {
  if (!chain_.accumulator || reducer.comm().world_size() == 1) return;
  chain_.accumulator->count_pushes();
  // Only skipped micro-batches can leave every rank with an empty window.
  if (chain_.accumulator->nonfinite_policy() == GRADSTEP_NONFINITE_SKIP) reducer.control().always();
}

bool Updater::is_idle() const {
  return chain_.optimizer->site().is_idle() && (!chain_.accumulator || chain_.accumulator->site().is_idle()) &&
         (!chain_.reducer || chain_.reducer->is_idle()) && (!chain_.outer || chain_.outer->site().is_idle());
}

void Updater::use(void* stream) {
  chain_.optimizer->site().use(stream);
  if (chain_.accumulator) chain_.accumulator->site().use(stream);
  if (chain_.reducer) chain_.reducer->site().use(stream);
  if (chain_.outer) chain_.outer->site().use(stream);
}

/// A step that was queued counts as made until the device says that it was skipped.
const gradstep_updater_statistics& Updater::stats() {
  if (chain_.optimizer->site().is_host()) return stats_;
  const std::int64_t all = chain_.optimizer->skipped_steps();
  const std::int64_t skipped =
      std::max<std::int64_t>(all - progress_.known_skips, 0);  // fewer: another state was loaded
  progress_.known_skips = all;
  stats_.steps -= skipped;
  stats_.skipped_steps += skipped;
  return stats_;
}

void Updater::check_may_push() const {
  if (!waits()) return;
  if (chain_.accumulator) {
    fail(GRADSTEP_ERR_INVALID_STATE,
         "the last window was not applied: flush to retry it, reset the accumulator to drop "
         "it, or recover");
  }
  if (progress_.window != Window::full) {
    fail(GRADSTEP_ERR_INVALID_STATE, "the last push was not finished: flush to finish it, or recover");
  }
}

bool Updater::averages_by_weight() const {
  if (chain_.reducer) return chain_.reducer->options().average == GRADSTEP_AVERAGE_WEIGHTED;
  return chain_.optimizer->is_sharded() &&
         chain_.optimizer->sharding()->default_exchange().average == GRADSTEP_AVERAGE_WEIGHTED;
}

bool Updater::push(const StepBuffers& buffers, double weight) {
  const HeldChain held(chain_);
  chain_.check_parts();
  check_may_push();
  check_weight(weight);
  if (averages_by_weight()) {
    const bool wide = schema().is_all_f64();
    check_weight(weight, chain_.accumulator ? micro_batch_weights(wide) : rank_weights(wide));
  }
  bool ready = true;
  if (chain_.accumulator) {
    const Stopwatch stopwatch(stats_.accumulate_nanoseconds);
    ready = chain_.accumulator->add(buffers.grads, {}, weight);
  }
  progress_.window = Window::open;
  ++stats_.pushes;
  if (!ready) return false;
  ++stats_.windows;
  return finish_window(buffers, weight);
}

bool Updater::flush(const BufferList& params) {
  const HeldChain held(chain_);
  chain_.check_parts();
  if (!chain_.accumulator && chain_.reducer && chain_.reducer->is_open()) return finish_pushed(params);
  if (waits()) {
    if (!chain_.accumulator && progress_.window == Window::full) {
      fail(GRADSTEP_ERR_INVALID_STATE,
           "the last push failed, and without an accumulator nobody has kept its gradients: push them again");
    }
    return finish_window({params, {}, {}}, 1);
  }
  if (!chain_.accumulator || chain_.accumulator->ready() || !chain_.accumulator->flush()) return false;
  progress_.window = Window::open;
  ++stats_.windows;
  return finish_window({params, {}, {}}, 1);
}

/// A reducer whose windows bring slices serves the optimizer that it was attached with.
void Updater::check_slices() const {
  const auto takes_slices = [](const Optimizer& optimizer) {
    return optimizer.is_sharded() && optimizer.sharding()->takes_slices();
  };
  const Optimizer& served = chain_.outer ? *chain_.outer : *chain_.optimizer;
  const bool brings = chain_.reducer && chain_.reducer->layout().is_dealt();
  const bool takes = takes_slices(served);
  const bool takes_alone = chain_.outer && takes_slices(*chain_.optimizer);
  if (brings == takes && !takes_alone && !(local_ && brings)) return;
  if (takes || takes_alone) {
    fail(GRADSTEP_ERR_INVALID_STATE,
         "the optimizer takes its slices of the gradients from the reducer that it was "
         "attached with, expected an updater of both");
  }
  fail(GRADSTEP_ERR_INVALID_STATE,
       "the reducer brings each rank its slices of the gradients, expected sync 0 and an optimizer that is attached "
       "with it");
}

/// The window that the host has pushed into the reducer. What ranks must agree on is compared behind its exchanges,
/// which may be under way.
bool Updater::finish_pushed(const BufferList& params) {
  const Phase phase("window", {{"window", progress_.windows}});
  check_slices();
  if (local_ || rounds_) {
    fail(GRADSTEP_ERR_INVALID_STATE,
         "flush: the reducer has an open window, but ranks step before they exchange (sync)");
  }
  const std::exception_ptr failure = caught([&] { chain_.optimizer->refresh(); });
  progress_.window = Window::open;  // one that waited for its step has lost its gradients to this one
  ++stats_.windows;
  bool is_agreed = false;
  {
    const Stopwatch stopwatch(stats_.reduce_nanoseconds);
    chain_.reducer->finish_pushed();
    is_agreed = agreement_.is_needed() && (!agreement_.has_met() || chain_.reducer->site().is_host());
    if (is_agreed) static_cast<void>(agreement_.reach(failure));
  }
  if (failure) std::rethrow_exception(failure);
  progress_.window = Window::reduced;
  StepBuffers buffers{params, chain_.reducer->gradients(), {}};
  return close_window(step(buffers, nullptr, is_agreed));
}

/// The gradients of `buffers` are the window where no accumulator has gathered it.
bool Updater::finish_window(StepBuffers buffers, double weight) {
  const Phase phase("window", {{"window", progress_.windows}});
  if (progress_.window == Window::open) progress_.window = Window::full;
  const double* norm = nullptr;
  // Also where recover() has dropped the reducer since: a window that is stepped is not stepped again.
  const bool is_stepped = progress_.window == Window::stepped;
  const bool is_dense = !chain_.reducer || chain_.reducer->options().mode == GRADSTEP_REDUCER_DENSE;
  const bool takes_slices = chain_.reducer && chain_.reducer->layout().is_dealt();
  check_slices();
  if (rounds_) return finish_round(*rounds_, buffers, weight);
  const bool reduces_itself =
      chain_.optimizer->is_sharded() && is_dense && !takes_slices && !(local_ && (chain_.reducer || is_stepped));
  if (reduces_itself) return finish_sharded(buffers, weight);
  // A host's schedule that fails does so here, and stops all ranks.
  const std::exception_ptr failure = caught([&] { chain_.optimizer->refresh(); });
  if (local_ && (chain_.reducer || is_stepped)) {
    return finish_local(*local_, buffers, weight, failure);
  }
  if (failure && (!chain_.reducer || progress_.window == Window::reduced)) std::rethrow_exception(failure);
  if (chain_.accumulator && !chain_.reducer) {
    buffers.grads = chain_.accumulator->results();
    norm = chain_.accumulator->norm();
  }
  bool is_agreed = false;
  if (chain_.reducer) {
    if (progress_.window != Window::reduced) {
      const Stopwatch stopwatch(stats_.reduce_nanoseconds);
      if (chain_.accumulator) {
        buffers.grads = chain_.accumulator->results();
        weight = chain_.accumulator->weight();
      }
      agreement_.exchange_gradients(buffers.grads, weight, failure);
      is_agreed = agreement_.is_needed() && chain_.reducer->site().is_host();
      progress_.window = Window::reduced;
    }
    buffers.grads = chain_.reducer->gradients();
  }
  const bool nobody = chain_.reducer && chain_.accumulator &&
                      chain_.accumulator->nonfinite_policy() == GRADSTEP_NONFINITE_SKIP &&
                      chain_.reducer->comm().world_size() > 1 && !chain_.reducer->control().any_gradient();
  return close_window(!nobody && step(buffers, norm, is_agreed));
}

/// What the reducer keeps of a window for the next one is kept only now: until the step is made, the window may have to
/// be reduced again. A window that is skipped leaves nothing: not finite, it would make all those after it so, too.
bool Updater::close_window(bool applied) {
  const bool is_reduced = progress_.window == Window::reduced;
  progress_.window = Window::open;
  ++progress_.windows;
  ++(std::exchange(progress_.local_step, std::nullopt).value_or(applied) ? stats_.steps : stats_.skipped_steps);
  if (is_reduced && applied && chain_.reducer) chain_.reducer->commit();
  return applied;
}

// A sharded optimizer reduces gradients only as far as each rank's slice. With a reducer in the chain it does so in the
// reducer's stead, as that one would.
bool Updater::finish_sharded(StepBuffers buffers, double weight) {
  GradientExchange exchange = sharded_exchange(weight);
  if (chain_.reducer) {
    const std::int32_t ranks = chain_.optimizer->sharding()->comm().world_size();
    if (chain_.reducer->comm().world_size() != ranks) {
      fail(GRADSTEP_ERR_INVALID_STATE, "the reducer has {} ranks, the optimizer's state is spread over {}",
           chain_.reducer->comm().world_size(), ranks);
    }
    const std::int32_t average = chain_.reducer->options().average;
    exchange.gradients = GRADSTEP_SHARDED_GRADIENTS_LOCAL;
    exchange.average = average == GRADSTEP_AVERAGE_UNSET ? GRADSTEP_AVERAGE_MEAN : average;
  }
  if (chain_.accumulator) buffers.grads = chain_.accumulator->results();
  const Stopwatch stopwatch(stats_.step_nanoseconds);
  return close_window(chain_.optimizer->step_sharded(buffers, guards_, exchange).applied);
}

GradientExchange Updater::sharded_exchange(double weight) const {
  GradientExchange exchange = chain_.optimizer->sharding()->default_exchange();
  exchange.weight = weight;
  if (const Accumulator* accumulator = chain_.accumulator.get()) {
    exchange.weight = accumulator->weight();
    exchange.window = accumulator->digest() ^ static_cast<std::uint64_t>(accumulator->pushes());
    exchange.needs_gradient = accumulator->nonfinite_policy() == GRADSTEP_NONFINITE_SKIP;
  }
  return exchange;
}

bool Updater::step(const StepBuffers& buffers, const double* norm, bool is_agreed) {
  const Stopwatch stopwatch(stats_.step_nanoseconds);
  StepGuards guards = guards_;
  guards.norm = norm;
  return step_reduced(*chain_.optimizer, chain_.reducer.get(), buffers, guards, is_agreed);
}

}  // namespace gradstep
