// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// What an optimizer does together with the ranks that share its state: agrees on a step, makes it, deals the state out
// and gathers it.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <exception>
#include <limits>

#include "comm/all_or_none.h"
#include "comm/compare_ranks.h"
#include "core/error.h"
#include "core/hash.h"
#include "kernels/block_code.h"
#include "optim/optimizer.h"

namespace gradstep {

namespace {

/// What ranks must agree on in a step, beside the hyper-parameters.
constexpr std::array<const char*, 7> kStepFactWords = {"grad_scale",
                                                       "max_norm",
                                                       "clip_value",
                                                       "skip_nonfinite",
                                                       "how gradients are averaged",
                                                       "the step count",
                                                       "the accumulator, or how many micro-batches its window has"};
using StepFacts = std::array<std::uint64_t, kStepFactWords.size()>;

StepFacts facts_of_step(const StepGuards& guards, const GradientExchange& exchange, std::int64_t steps) {
  return {std::bit_cast<std::uint64_t>(guards.grad_scale),
          std::bit_cast<std::uint64_t>(guards.max_norm),
          std::bit_cast<std::uint64_t>(guards.clip_value),
          guards.skip_nonfinite ? 1U : 0U,
          static_cast<std::uint64_t>(exchange.gradients) << 32U | static_cast<std::uint32_t>(exchange.average),
          static_cast<std::uint64_t>(steps),
          exchange.window};
}

}  // namespace

StepOutcome Optimizer::step_sharded(const StepBuffers& buffers, const StepGuards& asked,
                                    const GradientExchange& exchange) {
  take(buffers);
  check_state_is_whole();
  Sharding& sharding = *sharding_;
  StepGuards guards = asked;
  const Deadline deadline = sharding.comm().deadline();
  const Sharding::Agreement agreed = agree_on_step(guards, exchange, deadline);
  bool has_stepped = false;
  try {
    sharding.bring_gradients(buffers_.grads, exchange, deadline);
    if (exchange.needs_gradient && !agreed.any_gradient) {
      StepOutcome nothing;
      nothing.grad_norm = std::numeric_limits<double>::quiet_NaN();
      return nothing;
    }
    if (guards.found_inf != nullptr && agreed.found_inf) write(site_.queue(), guards.found_inf, 1.0F);
    if (agreed.wants_norm) guards.norm = sharding.norm(deadline);
    guards.skip = agreed.found_inf;
    sharding.data().settle(deadline);
    guards.is_part = true;
    // The norm has the same bits on all ranks, so all of them ask or none does.
    if (guards.norm != nullptr && site_.is_host() &&
        kernels::depends_on_elements(guards, step_plan_.limits, *guards.norm)) {
      guards.largest = sharding.largest(deadline);
    }
    const std::uint64_t shown = sharding.gradients().version;
    buffers_changed_ = buffers_changed_ || shown == 0 || shown != stepped_gradients_;
    begin_step(guards);
    if (site_.is_host() && !gate_is_open()) {
      write_zero_updates();
      return outcome(guards);
    }
    if (has_slices()) sharding.stage(buffers_.params);
    apply_guarded(guards.clip_value);
    has_stepped = true;
    buffers_changed_ = false;
    stepped_gradients_ = shown;
    if (has_slices()) sharding.publish(buffers_.updates.empty() ? buffers_.params : buffers_.updates, deadline);
  } catch (...) {
    torn_ = torn_ || has_stepped;  // not all of the parameters are where the state is
    // The other ranks cannot go on without this one's share, and would take its next exchange for this one.
    if (torn_ || is_of_this_rank(translate_exception())) sharding.comm().abort();
    lost_ = sharding.comm().status().code != GRADSTEP_OK;
    throw;
  }
  return outcome(guards);
}

// A rank that cannot step takes part, so that the others learn of it; and nothing is lost by what they disagree on.
Sharding::Agreement Optimizer::agree_on_step(const StepGuards& guards, const GradientExchange& exchange,
                                             const Deadline& deadline) {
  std::exception_ptr failure;
  Sharding::Agreement own;
  try {
    take_hyper_parameters();
    own.found_inf = guards.found_inf != nullptr && read(site_.queue(), guards.found_inf) != 0;
    own.wants_norm = guards.norm == nullptr && guards.depends_on_norm();
    own.facts = digest_of_step(guards, exchange);
  } catch (...) {
    failure = std::current_exception();
    own.has_failed = true;
  }
  Communicator& comm = sharding_->comm();
  try {
    const Sharding::Agreement agreed = sharding_->agree(buffers_.grads, exchange, own, deadline);
    if (!agreed.is_equal) compare_step(guards, exchange, deadline);
    return agreed;
  } catch (...) {
    if (is_of_this_rank(translate_exception())) comm.abort();
    lost_ = comm.status().code != GRADSTEP_OK;
    if (failure) std::rethrow_exception(failure);
    throw;
  }
}

std::string Optimizer::hyper_parameter_text(std::size_t field) const {
  return fmt::format("the hyper-parameter '{}', its schedule or the value that a callback gave",
                     hyper_parameters_.names()[field]);
}

std::uint64_t Optimizer::digest_of_step(const StepGuards& guards, const GradientExchange& exchange) {
  const StepFacts facts = facts_of_step(guards, exchange, site_.is_host() ? t() : 0);
  return hash_bytes(facts.data(), sizeof facts, hyper_parameters_.digest());
}

void Optimizer::compare_hyper_parameters(Communicator& comm, const Deadline& deadline) const {
  const auto what = [&](std::size_t field) { return hyper_parameter_text(field); };
  compare_ranks(comm, hyper_parameters_.facts(), what, deadline);
}

/// Collective, by ranks of which some differ in something. Throws.
void Optimizer::compare_step(const StepGuards& guards, const GradientExchange& exchange, const Deadline& deadline) {
  std::vector<std::uint64_t> facts = hyper_parameters_.facts();
  const std::size_t fields = facts.size();
  for (const std::uint64_t fact : facts_of_step(guards, exchange, site_.is_host() ? t() : 0)) facts.push_back(fact);
  const auto what = [&](std::size_t i) {
    return i < fields ? hyper_parameter_text(i) : std::string(kStepFactWords[i - fields]);
  };
  compare_ranks(sharding_->comm(), facts, what, deadline);
  fail(GRADSTEP_ERR_MISMATCH, "the ranks disagree on the step");
}

bool Optimizer::can_be_reached() const { return !is_sharded() || sharding_->comm().status().code == GRADSTEP_OK; }

// A state of which a part is gone can be gathered by nobody. The ranks that are to share it agree, over their own
// channel, on whether that is so: one of them may have finished the exchange in which another one failed.
void Optimizer::attach(Communicator* comm, const gradstep_sharding_options& options) {
  if (comm == nullptr && !is_sharded()) return;  // views of the state stay valid
  const Deadline deadline = comm != nullptr ? comm->deadline() : sharding_->comm().deadline();
  std::shared_ptr<Communicator> channel;
  if (comm != nullptr) channel = comm->private_channel(deadline);
  const auto all_have_it = [&] {
    const bool is_here = state_is_whole() && can_be_reached();
    return channel != nullptr ? channel->vote(is_here, deadline) : is_here;
  };
  if (all_have_it()) {
    try {
      return deal_out(channel, options, /*keep=*/true, deadline);
    } catch (...) {
      const std::exception_ptr failure = std::current_exception();
      bool is_kept = true;
      try {
        is_kept = channel == nullptr || all_have_it();
      } catch (...) {
        // The channel is broken: what came first says why.
      }
      if (is_kept) std::rethrow_exception(failure);
    }
  }
  if (is_sharded()) sharding_->comm().abort();  // peers that do not know it yet wait for nothing
  deal_out(channel, options, /*keep=*/false, deadline);
  lost_ = true;
  context_->log().write(GRADSTEP_LOG_WARNING, "optimizer {}: its state is lost with a peer: load a saved one", kind());
}

// All ranks take the new sharding or none does: those that share the state now, if it is kept, and those that are to
// share it. The latter have the last word, for they go on together.
void Optimizer::deal_out(const std::shared_ptr<Communicator>& channel, const gradstep_sharding_options& options,
                         bool keep, const Deadline& deadline) {
  Communicator* present = keep && is_sharded() ? &sharding_->comm() : nullptr;
  // Ranks vote equally often, whatever has failed and whether they share state now.
  const auto agree = [&](const char* what, FunctionRef<void()> body) {
    std::exception_ptr failure;
    const auto fail_if_failed = [&] {
      if (failure) std::rethrow_exception(failure);
    };
    const auto vote = [&](Communicator* ranks, FunctionRef<void()> step) {
      try {
        all_or_none(ranks, what, deadline, step);
      } catch (...) {
        failure = std::current_exception();
      }
    };
    vote(channel.get(), body);
    if (keep) {
      vote(present, fail_if_failed);
      vote(channel.get(), fail_if_failed);
    }
    fail_if_failed();
  };
  std::unique_ptr<Sharding> next;
  std::vector<std::uint64_t> facts;
  std::vector<std::uint64_t> values;
  std::vector<std::uint64_t> room;
  agree("share the state", [&] {
    if (channel == nullptr) return;
    next = std::make_unique<Sharding>(*context_, site_, channel, schema_, options, traits_.dealing);
    facts = Sharding::facts(schema_, rule_text_, keep ? step_count() : 0, options);
    if (keep) values = hyper_parameters_.facts();
    room.resize(std::max(facts.size(), values.size()) * static_cast<std::size_t>(channel->world_size()));
  });
  agree("share the state", [&] {
    if (channel == nullptr) return;
    compare_ranks(*channel, facts, [](std::size_t i) { return Sharding::fact_text(i); }, deadline, room);
    if (keep) compare_ranks(*channel, values, [&](std::size_t i) { return hyper_parameter_text(i); }, deadline, room);
  });
  try {
    agree("take over its part of the state", [&] { prepare_move(next.get(), keep, deadline); });
  } catch (...) {
    state_.discard_move();
    throw;
  }
  sharding_ = std::move(next);
  if (is_sharded()) {
    context_->log().write(GRADSTEP_LOG_INFO, "optimizer {}: its state is spread over {} ranks, this is rank {}", kind(),
                          sharding_->comm().world_size(), sharding_->comm().rank());
  }
  on(StateEvent::is_moving);
  state_.commit_move();
  buffers_ = {};
}

/// A rank that fails must not leave the others in an exchange: what can fail on one of them comes first and is agreed
/// on.
void Optimizer::prepare_move(const Sharding* next, bool keep, const Deadline& deadline) {
  const bool is_spread = keep && is_sharded();
  const bool gathers = is_spread && has_slices();
  if (!keep && is_sharded()) on(StateEvent::is_lost);
  Buffer whole;
  all_or_none(is_spread ? &sharding_->comm() : nullptr, "allocate its part of the state", deadline, [&] {
    const OwnerOf owner_of = owners(next);
    const std::int32_t rank = next != nullptr ? next->comm().rank() : 0;
    const auto place = [&](std::size_t i, std::size_t slot) -> StatePlace {
      const StateTensor& tensor = state_.tensor(i, slot);
      if (!state_.is_whole(i, slot)) return {slice_under(next, schema_[i], i), -1};
      const std::int32_t owner = owner_of ? owner_of(i, slot) : -1;
      return {{0, owner < 0 || owner == rank ? tensor.form().size() : 0}, owner};
    };
    state_.prepare_move(place, gathers, keep);
    if (is_spread) whole = context_->allocate(static_cast<std::size_t>(state_.largest_moved()), /*zeroed=*/false);
  });
  if (!keep) return;
  on(StateEvent::is_dealt_out);
  state_.fill_moved(gathers, [&](const StoredState& stored, void* to) { gather(stored, to, deadline); }, whole.data());
}

void Optimizer::gather(const StoredState& stored, void* whole) const {
  gather(stored, whole, is_sharded() ? sharding_->comm().deadline() : Deadline::after_ms(0));
}

void Optimizer::gather(const StoredState& stored, void* whole, const Deadline& deadline) const {
  if (is_sharded() && stored.owner >= 0) {
    Communicator& comm = sharding_->comm();
    const std::int64_t bytes = stored.total * size_of(stored.array.dtype);
    if (stored.owner == comm.rank()) {
      site_.queue().download(whole, stored.array.data, static_cast<std::size_t>(bytes));
    }
    comm.broadcast(whole, bytes, stored.owner, deadline);
  } else if (has_slices() && !stored.is_whole) {
    sharding_->gather(stored.parameter, stored.array, stored.is_blocked ? kernels::kCodeBlock : 1, whole, deadline);
  } else if (stored.array.bytes() > 0) {
    site_.queue().download(whole, stored.array.data, static_cast<std::size_t>(stored.array.bytes()));
  }
}

}  // namespace gradstep
