// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Windows in which each rank steps by itself, before what travels.
#include <cmath>

#include "core/caught.h"
#include "core/error.h"
#include "updater/stopwatch.h"
#include "updater/updater.h"

namespace gradstep {

bool Updater::finish_local(LocalSteps& local, StepBuffers buffers, double weight, const std::exception_ptr& failure) {
  const bool was_stepped = progress_.window == Window::stepped;
  if (failure) {
    if (!was_stepped && agreement_.votes_first()) static_cast<void>(agreement_.reach(failure));
    // The others learn of it in the exchange, and add nothing.
    if (!was_stepped && !agreement_.votes_first() && local.exchanges_deltas() && agreement_.goes_beside()) {
      agreement_.compare_beside(failure, [&] { local.take_part(*chain_.optimizer, *chain_.reducer); });
    }
    std::rethrow_exception(failure);
  }
  if (!was_stepped) {
    if (chain_.accumulator) {
      buffers.grads = chain_.accumulator->results();
      weight = chain_.accumulator->weight();
    }
    if (!step_locally(local, buffers, weight)) return close_window(false);
    progress_.window = Window::stepped;
  }
  try {
    // A peer may have failed before its step, and now asks first.
    if (was_stepped && agreement_.votes_first() && !agreement_.reach(nullptr)) return close_window(false);
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
  StepGuards guards = guards_;
  if (chain_.accumulator) guards.norm = chain_.accumulator->norm();
  if (agreement_.votes_first()) {
    if (guards.norm == nullptr) guards.norm = norm_of(buffers.grads);
    guards.skip = !agreement_.reach(nullptr, std::isfinite(read(chain_.optimizer->site().queue(), guards.norm)));
    if (guards.skip) ++progress_.known_skips;
  }
  return local.step(*chain_.optimizer, buffers, guards, weight);
}

void Updater::exchange_locally(LocalSteps& local, const BufferList& params) {
  const Stopwatch stopwatch(stats_.reduce_nanoseconds);
  const auto run = [&](FunctionRef<void()> exchange) {
    return agreement_.goes_beside() ? agreement_.compare_beside(nullptr, exchange) : exchange();
  };
  if (local.exchange(chain_.reducer.get(), params, run)) progress_.window = Window::reduced;
}

const double* Updater::norm_of(const BufferList& grads) {
  const Site& site = chain_.optimizer->site();
  if (norm_.bytes() == 0) norm_ = site.allocate(sizeof(double), /*zeroed=*/false);
  WorkList work;
  for (const Array& grad : grads) work.append(grad.size);
  site.backend().measure({&work, grads, {}}, norm_.as<double>(), site.queue());
  return norm_.as<double>();
}

bool Updater::finish_round(OuterRounds& rounds, const StepBuffers& buffers, double weight) {
  if (progress_.window == Window::full) {
    bool applied = false;
    const std::exception_ptr failure = caught([&] { applied = step_in_round(rounds, buffers, weight); });
    if (failure) {
      // The others wait for this rank where the change leaves.
      if (rounds.sends_next() && agreement_.is_needed()) static_cast<void>(agreement_.reach(failure));
      std::rethrow_exception(failure);
    }
    if (!rounds.sends() && !rounds.is_complete()) return close_window(applied);
    progress_.local_step = applied;
    progress_.window = Window::stepped;
  }
  bool applied = false;
  try {
    if (progress_.window == Window::stepped) exchange_round(rounds, buffers.params);
    if (!rounds.is_complete()) return close_window(progress_.local_step.value_or(true));
    progress_.window = Window::reduced;
    const Stopwatch stopwatch(stats_.step_nanoseconds);
    applied = rounds.step(chain_.reducer.get(), buffers.params, guards_.skip_nonfinite);
  } catch (const Error& error) {
    fail(error.status(), "{} (the local step stands: flush finishes the exchange)", error.what());
  }
  return close_window(applied);
}

bool Updater::step_in_round(OuterRounds& rounds, StepBuffers buffers, double weight) {
  const Stopwatch stopwatch(stats_.step_nanoseconds);
  Optimizer& optimizer = *chain_.optimizer;
  StepGuards guards = guards_;
  if (!optimizer.is_sharded()) optimizer.refresh();
  if (chain_.accumulator) {
    buffers.grads = chain_.accumulator->results();
    weight = chain_.accumulator->weight();
    if (!optimizer.is_sharded()) guards.norm = chain_.accumulator->norm();
  }
  rounds.begin_window(buffers.params);
  const bool applied = optimizer.is_sharded()
                           ? optimizer.step_sharded(buffers, guards, sharded_exchange(weight)).applied
                           : optimizer.step(buffers, guards).applied;
  rounds.end_window(weight);
  return applied;
}

void Updater::exchange_round(OuterRounds& rounds, const BufferList& params) {
  const Stopwatch stopwatch(stats_.reduce_nanoseconds);
  if (rounds.sends()) {
    const std::exception_ptr failure = caught([&] { rounds.prepare(chain_.reducer.get(), params); });
    if (agreement_.is_needed()) {
      static_cast<void>(agreement_.reach(failure));
    } else if (failure) {
      std::rethrow_exception(failure);
    }
    rounds.send(chain_.reducer.get());
  }
  if (rounds.is_complete()) rounds.receive(chain_.reducer.get());
}

}  // namespace gradstep
