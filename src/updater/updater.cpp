// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "updater/updater.h"

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "core/hash.h"
#include "core/trace.h"
#include "core/weight.h"
#include "updater/chain.h"

namespace gradstep {

namespace {

void check_same_schema(const char* what, const Schema& optimizer, const Schema& other) {
  if (const std::string difference = optimizer.difference(other); !difference.empty()) {
    fail(GRADSTEP_ERR_MISMATCH, "optimizer and {}: {}", what, difference);
  }
}

std::uint64_t rule_number(const Optimizer& optimizer) {
  const std::string& text = optimizer.rule_text();
  return hash_bytes(text.data(), text.size());
}

}  // namespace

gradstep_updater_options default_updater_options() {
  gradstep_updater_options options{};
  options.grad_scale = 1;
  options.sync_steps = 1;
  return options;
}

Updater::Updater(std::shared_ptr<Context> context, std::shared_ptr<Optimizer> optimizer,
                 std::shared_ptr<Accumulator> accumulator, std::shared_ptr<Reducer> reducer,
                 const gradstep_updater_options& options)
    : context_(std::move(context)),
      optimizer_(std::move(optimizer)),
      accumulator_(std::move(accumulator)),
      reducer_(std::move(reducer)),
      options_(options),
      rule_(rule_number(*optimizer_)),
      reducer_options_(reducer_ ? reducer_->options() : default_reducer_options()) {
  if (options.sync < GRADSTEP_SYNC_GRADIENTS || options.sync > GRADSTEP_SYNC_DELTAS) {
    fail_argument("options.sync: is {}, expected 0 to {}", options.sync, static_cast<int>(GRADSTEP_SYNC_DELTAS));
  }
  if (options.sync_steps < 1) fail_argument("options.sync_steps: is {}, expected at least 1", options.sync_steps);
  check_guards(step_guards());
  if (accumulator_) check_same_schema("accumulator", optimizer_->schema(), accumulator_->schema());
  if (reducer_) check_same_schema("reducer", optimizer_->schema(), reducer_->schema());
  if (reducer_) check_windows_end_together(reducer_->comm());
  if (options.sync != GRADSTEP_SYNC_GRADIENTS) local_.emplace(optimizer_->site(), options);
  if (local_ && reducer_) local_->check(*optimizer_, *reducer_);
  known_skips_ = optimizer_->skipped_steps();
  if (reducer_) end_windows_together(*reducer_);  // last: it changes the handles
}

void Updater::check_windows_end_together(const Communicator& comm) const {
  if (!accumulator_ || comm.world_size() == 1 || accumulator_->ends_by_count()) return;
  fail(GRADSTEP_ERR_UNSUPPORTED,
       "accumulator: over several ranks windows must end by a count of micro-batches "
       "(trigger steps or schedule), so that they end together");
}

void Updater::end_windows_together(Reducer& reducer) {
  if (!accumulator_ || reducer.comm().world_size() == 1) return;
  accumulator_->count_pushes();
  // Only skipped micro-batches can leave every rank with an empty window.
  if (accumulator_->nonfinite_policy() == GRADSTEP_NONFINITE_SKIP) reducer.always_control();
}

bool Updater::is_idle() const {
  return optimizer_->site().is_idle() && (!accumulator_ || accumulator_->site().is_idle()) &&
         (!reducer_ || reducer_->is_idle());
}

void Updater::use(void* stream) {
  optimizer_->site().use(stream);
  if (accumulator_) accumulator_->site().use(stream);
  if (reducer_) reducer_->site().use(stream);
}

/// A step that was queued counts as made until the device says that it was skipped.
const gradstep_updater_statistics& Updater::stats() {
  if (optimizer_->site().is_host()) return stats_;
  const std::int64_t all = optimizer_->skipped_steps();
  const std::int64_t skipped = std::max<std::int64_t>(all - known_skips_, 0);  // fewer: another state was loaded
  known_skips_ = all;
  stats_.steps -= skipped;
  stats_.skipped_steps += skipped;
  return stats_;
}

bool Updater::skip_nonfinite() const {
  return options_.skip_nonfinite != 0 ||
         (accumulator_ && accumulator_->nonfinite_policy() == GRADSTEP_NONFINITE_POISON);
}

void Updater::check_may_push() const {
  if (!waits()) return;
  if (accumulator_) {
    fail(GRADSTEP_ERR_INVALID_STATE,
         "the last window was not applied: flush to retry it, reset the accumulator to drop "
         "it, or recover");
  }
  if (window_ != Window::full) {
    fail(GRADSTEP_ERR_INVALID_STATE, "the last push was not finished: flush to finish it, or recover");
  }
}

bool Updater::averages_by_weight() const {
  if (reducer_) return reducer_->options().average == GRADSTEP_AVERAGE_WEIGHTED;
  return optimizer_->is_sharded() && optimizer_->sharding()->default_exchange().average == GRADSTEP_AVERAGE_WEIGHTED;
}

bool Updater::push(const StepBuffers& buffers, double weight) {
  const Chain chain(*this);
  check_may_push();
  check_weight(weight);
  if (averages_by_weight()) {
    const bool wide = schema().is_all_f64();
    check_weight(weight, accumulator_ ? micro_batch_weights(wide) : rank_weights(wide));
  }
  bool ready = true;
  if (accumulator_) {
    const Stopwatch stopwatch(stats_.accumulate_nanoseconds);
    ready = accumulator_->add(buffers.grads, {}, weight);
  }
  window_ = Window::open;
  ++stats_.pushes;
  if (!ready) return false;
  ++stats_.windows;
  return finish_window(buffers, weight);
}

bool Updater::flush(const BufferList& params) {
  const Chain chain(*this);
  if (!accumulator_ && reducer_ && reducer_->is_open()) return finish_pushed(params);
  if (waits()) {
    if (!accumulator_ && window_ == Window::full) {
      fail(GRADSTEP_ERR_INVALID_STATE,
           "the last push failed, and without an accumulator nobody has kept its gradients: push them again");
    }
    return finish_window({params, {}, {}}, 1);
  }
  if (!accumulator_ || accumulator_->ready() || !accumulator_->flush()) return false;
  window_ = Window::open;
  ++stats_.windows;
  return finish_window({params, {}, {}}, 1);
}

/// A reducer whose windows bring slices serves the optimizer that it was attached with.
void Updater::check_slices() const {
  const bool brings = reducer_ && reducer_->is_dealt();
  const bool takes = optimizer_->is_sharded() && optimizer_->sharding()->takes_slices();
  if (brings == takes && !(local_ && brings)) return;
  if (takes) {
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
  const Phase phase("window", {{"window", windows_}});
  check_slices();
  if (local_) {
    fail(GRADSTEP_ERR_INVALID_STATE,
         "flush: the reducer has an open window, but ranks step before they exchange (sync)");
  }
  const std::exception_ptr failure = refresh_hyper_parameters();
  window_ = Window::open;  // one that waited for its step has lost its gradients to this one
  ++stats_.windows;
  bool is_agreed = false;
  {
    const Stopwatch stopwatch(stats_.reduce_nanoseconds);
    reducer_->finish_pushed();
    is_agreed = agrees() && (!has_met_ || reducer_->site().is_host());
    if (is_agreed) static_cast<void>(agree(failure, /*is_finite=*/true));
  }
  if (failure) std::rethrow_exception(failure);
  window_ = Window::reduced;
  StepBuffers buffers{params, reducer_->gradients(), {}};
  return close_window(step(buffers, nullptr, is_agreed));
}

/// The gradients of `buffers` are the window where no accumulator has gathered it.
bool Updater::finish_window(StepBuffers buffers, double weight) {
  const Phase phase("window", {{"window", windows_}});
  if (window_ == Window::open) window_ = Window::full;
  const double* norm = nullptr;
  // Also where recover() has dropped the reducer since: a window that is stepped is not stepped again.
  const bool is_stepped = window_ == Window::stepped;
  const bool is_dense = !reducer_ || reducer_->options().mode == GRADSTEP_REDUCER_DENSE;
  const bool takes_slices = reducer_ && reducer_->is_dealt();
  check_slices();
  const bool reduces_itself =
      optimizer_->is_sharded() && is_dense && !takes_slices && !(local_ && (reducer_ || is_stepped));
  if (reduces_itself) return finish_sharded(buffers, weight);
  // A host's schedule that fails does so here, and stops all ranks.
  const std::exception_ptr failure = refresh_hyper_parameters();
  if (local_ && (reducer_ || is_stepped)) {
    return finish_local(*local_, buffers, weight, failure);
  }
  if (failure && (!reducer_ || window_ == Window::reduced)) std::rethrow_exception(failure);
  if (accumulator_ && !reducer_) {
    buffers.grads = accumulator_->results();
    norm = accumulator_->norm();
  }
  bool is_agreed = false;
  if (reducer_) {
    if (window_ != Window::reduced) {
      const Stopwatch stopwatch(stats_.reduce_nanoseconds);
      if (accumulator_) {
        buffers.grads = accumulator_->results();
        weight = accumulator_->weight();
      }
      exchange_gradients(buffers.grads, weight, failure);
      is_agreed = agrees() && reducer_->site().is_host();
      window_ = Window::reduced;
    }
    buffers.grads = reducer_->gradients();
  }
  const bool nobody = reducer_ && accumulator_ && accumulator_->nonfinite_policy() == GRADSTEP_NONFINITE_SKIP &&
                      reducer_->comm().world_size() > 1 && !reducer_->any_gradient();
  return close_window(!nobody && step(buffers, norm, is_agreed));
}

bool Updater::votes_first() const { return agrees() && skip_nonfinite(); }

bool Updater::finish_local(LocalSteps& local, StepBuffers buffers, double weight, const std::exception_ptr& failure) {
  const bool was_stepped = window_ == Window::stepped;
  if (failure) {
    if (!was_stepped && votes_first()) static_cast<void>(agree(failure, /*is_finite=*/true));
    // The others learn of it in the exchange, and add nothing.
    if (!was_stepped && !votes_first() && local.exchanges_deltas() && notes_serve()) {
      compare_beside(failure, [&] { local.take_part(*optimizer_, *reducer_); });
    }
    std::rethrow_exception(failure);
  }
  if (!was_stepped) {
    if (accumulator_) {
      buffers.grads = accumulator_->results();
      weight = accumulator_->weight();
    }
    if (!step_locally(local, buffers, weight)) return close_window(false);
    window_ = Window::stepped;
  }
  try {
    // A peer may have failed before its step, and now asks first.
    if (was_stepped && votes_first() && !agree(nullptr, /*is_finite=*/true)) return close_window(false);
    exchange_locally(local, buffers.params);
  } catch (const Error& error) {
    fail(error.status(), "{} ({})", error.what(),
         local.exchanges_deltas()
             ? "the optimizer's state is one step ahead of the parameters: flush finishes the exchange"
             : "the local step stands: flush finishes the exchange");
  }
  return close_window(true);
}

/// Ranks that skip what is not finite do so together: their step counts stay equal.
bool Updater::step_locally(LocalSteps& local, const StepBuffers& buffers, double weight) {
  const Stopwatch stopwatch(stats_.step_nanoseconds);
  StepGuards guards = step_guards();
  if (accumulator_) guards.norm = accumulator_->norm();
  if (votes_first()) {
    if (guards.norm == nullptr) guards.norm = norm_of(buffers.grads);
    guards.skip = !agree(nullptr, std::isfinite(read(optimizer_->site().queue(), guards.norm)));
    if (guards.skip) ++known_skips_;
  }
  return local.step(*optimizer_, buffers, guards, weight);
}

void Updater::exchange_locally(LocalSteps& local, const BufferList& params) {
  const Stopwatch stopwatch(stats_.reduce_nanoseconds);
  const auto run = [&](FunctionRef<void()> exchange) {
    return notes_serve() ? compare_beside(nullptr, exchange) : exchange();
  };
  if (local.exchange(reducer_.get(), params, run)) window_ = Window::reduced;
}

const double* Updater::norm_of(const BufferList& grads) {
  const Site& site = optimizer_->site();
  if (norm_.bytes() == 0) norm_ = site.allocate(sizeof(double), /*zeroed=*/false);
  WorkList work;
  for (const Array& grad : grads) work.append(grad.size);
  site.backend().measure({&work, grads, {}}, norm_.as<double>(), site.queue());
  return norm_.as<double>();
}

/// What the reducer keeps of a window for the next one is kept only now: until the step is made, the window may have to
/// be reduced again. A window that is skipped leaves nothing: not finite, it would make all those after it so, too.
bool Updater::close_window(bool applied) {
  const bool is_reduced = window_ == Window::reduced;
  window_ = Window::open;
  ++windows_;
  ++(applied ? stats_.steps : stats_.skipped_steps);
  if (is_reduced && applied && reducer_) reducer_->commit();
  return applied;
}

// A sharded optimizer reduces gradients only as far as each rank's slice. With a reducer in the chain it does so in the
// reducer's stead, as that one would.
bool Updater::finish_sharded(StepBuffers buffers, double weight) {
  GradientExchange exchange = optimizer_->sharding()->default_exchange();
  if (reducer_) {
    const std::int32_t ranks = optimizer_->sharding()->comm().world_size();
    if (reducer_->comm().world_size() != ranks) {
      fail(GRADSTEP_ERR_INVALID_STATE, "the reducer has {} ranks, the optimizer's state is spread over {}",
           reducer_->comm().world_size(), ranks);
    }
    const std::int32_t average = reducer_->options().average;
    exchange.gradients = GRADSTEP_SHARDED_GRADIENTS_LOCAL;
    exchange.average = average == GRADSTEP_AVERAGE_UNSET ? GRADSTEP_AVERAGE_MEAN : average;
  }
  if (accumulator_) {
    buffers.grads = accumulator_->results();
    exchange.weight = accumulator_->weight();
    exchange.window = accumulator_->digest() ^ static_cast<std::uint64_t>(accumulator_->pushes());
    exchange.needs_gradient = accumulator_->nonfinite_policy() == GRADSTEP_NONFINITE_SKIP;
  } else {
    exchange.weight = weight;
  }
  const Stopwatch stopwatch(stats_.step_nanoseconds);
  return close_window(optimizer_->step_sharded(buffers, step_guards(), exchange).applied);
}

StepGuards Updater::step_guards() const {
  StepGuards guards;
  guards.grad_scale = options_.grad_scale;
  guards.max_norm = options_.max_norm;
  guards.clip_value = options_.clip_value;
  guards.skip_nonfinite = skip_nonfinite();
  return guards;
}

bool Updater::step(const StepBuffers& buffers, const double* norm, bool is_agreed) {
  const Stopwatch stopwatch(stats_.step_nanoseconds);
  StepGuards guards = step_guards();
  const bool in_slices = reducer_ && reducer_->is_dealt();
  const bool needs_norm = guards.max_norm > 0 || guards.skip_nonfinite;
  if (norm == nullptr && reducer_ && !in_slices && needs_norm) norm = reducer_->norm();
  guards.norm = norm;
  bool applied = false;
  if (optimizer_->is_sharded()) {
    // The reducer has done what a sharded step would do with gradients of its own.
    GradientExchange reduced = optimizer_->sharding()->default_exchange();
    reduced.gradients = GRADSTEP_SHARDED_GRADIENTS_REDUCED;
    reduced.in_slices = in_slices;
    reduced.is_agreed = is_agreed && optimizer_->sharding()->comm().world_size() == reducer_->comm().world_size();
    applied = optimizer_->step_sharded(buffers, guards, reduced).applied;
  } else {
    applied = optimizer_->step(buffers, guards).applied;
  }
  // A device decides by itself, and is asked only where something depends on it here.
  const bool asks =
      applied && guards.skip_nonfinite && !optimizer_->site().is_host() && reducer_ && reducer_->has_memory();
  return asks ? optimizer_->last_outcome().applied : applied;
}

std::shared_ptr<Reducer> Updater::next_reducer(Communicator& comm, const Deadline& deadline) {
  check_windows_end_together(comm);
  auto reducer = std::make_shared<Reducer>(context_, comm, reducer_options_, optimizer_->schema(), deadline);
  if (local_) local_->check(*optimizer_, *reducer);
  end_windows_together(*reducer);
  return reducer;
}

Standing Updater::standing() const {
  Standing own;
  own.windows = windows_;
  own.is_stepped = waits() && window_ == Window::stepped ? 1 : 0;
  const bool holds_window = accumulator_ && (waits() || !accumulator_->ready());
  own.pushes = holds_window ? accumulator_->pushes() : 0;
  own.local_steps = local_ ? local_->count() : 0;
  own.partition = local_ ? local_->partition() : 0;
  own.recoveries = recoveries_;
  own.recovered_at = recovered_at_;
  return own;
}

Replicated Updater::replicated() const {
  if (options_.sync == GRADSTEP_SYNC_GRADIENTS) return Replicated::parameters_and_state;
  return options_.sync == GRADSTEP_SYNC_DELTAS ? Replicated::parameters : Replicated::nothing;
}

// All that can fail comes first, and leaves everything as it was; a rank on which the last vote fails can recover anew
// with ranks on which it did not.
void Updater::recover(Communicator* comm, const BufferList& params) {
  const Chain chain(*this);
  if (optimizer_->is_sharded()) {
    fail(GRADSTEP_ERR_INVALID_STATE,
         "recover: the optimizer's state is spread over ranks that may be gone: attach it to the "
         "new communicator and load a saved state");
  }
  if (comm == nullptr) {
    if (window_ == Window::reduced) window_ = Window::full;  // the result goes with the reducer
    reducer_.reset();
    return;
  }
  const Deadline deadline = comm->deadline();
  std::shared_ptr<Reducer> reducer = next_reducer(*comm, deadline);
  Recovery recovery(*comm, *optimizer_, standing(), deadline);
  if (local_) local_->check_partition(recovery.root_standing().partition, *reducer);
  recovery.bring(params.arrays, replicated());
  // A window that the root has skipped has left nothing behind.
  const bool is_applied = local_ || recovery.root_standing().steps > recovery.own_standing().steps;
  if (reducer_) reducer->take_over(*reducer_, waits() && recovery.is_finished_by_root() && is_applied);
  reducer->saved().rejoin(recovery.root(), deadline);
  if (!comm->vote(true, deadline)) fail(GRADSTEP_ERR_ABORTED, "a rank did not agree to recover");
  recovery.commit();
  go_on_from(recovery);
  reducer_ = std::move(reducer);
  has_met_ = false;
  context_->log().write(GRADSTEP_LOG_INFO,
                        "updater: recovered with {} ranks, from rank {} after {} windows and {} steps",
                        comm->world_size(), recovery.root(), windows_, recovery.root_standing().steps);
}

void Updater::go_on_from(const Recovery& recovery) {
  const Standing& own = recovery.own_standing();
  const Standing& root = recovery.root_standing();
  if (recovery.keeps_windows()) {
    if (window_ == Window::reduced) window_ = Window::full;  // others may not have reduced it
  } else {
    // Where parameters are averaged, the root's local step is in them and stays.
    const bool stays = recovery.is_root() && own.is_stepped != 0 && replicated() == Replicated::nothing;
    const bool holds = own.pushes > 0 || own.is_stepped != 0;
    if (holds && !stays && !recovery.is_finished_by_root()) {
      ++stats_.dropped_windows;
      context_->log().write(GRADSTEP_LOG_WARNING, "updater: recovery dropped this rank's window of {} micro-batches",
                            own.pushes);
    }
    const bool is_repeated =
        !accumulator_ && waits() && own.is_stepped == 0 && own.windows == root.windows && own.steps == root.steps;
    window_ = is_repeated ? Window::full : Window::open;
    if (accumulator_) accumulator_->reset();
  }
  if (local_ && !recovery.together()) {
    // All have the root's parameters: what it had not exchanged needs no exchange.
    local_->go_on_from(root.is_stepped != 0 ? 0 : root.local_steps, root.partition);
  }
  windows_ = root.windows;
  recoveries_ = root.recoveries + 1;
  recovered_at_ = root.windows;
}

}  // namespace gradstep
