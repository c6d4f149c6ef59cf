// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// What an optimizer does together with the ranks that share its state: agrees on a step, makes it, and deals the state
// out.
#include <algorithm>
#include <exception>
#include <limits>

#include "comm/all_or_none.h"
#include "comm/compare_ranks.h"
#include "core/error.h"
#include "core/hash.h"
#include "core/shape.h"
#include "core/trace.h"
#include "optim/optimizer.h"
#include "optim/state_holdings.h"
#include "optim/step_agreement.h"

namespace gradstep {

namespace {

/// What must be equal on all ranks before state is dealt out.
constexpr std::size_t kPartsFact = 0;
constexpr std::size_t kSchemaFact = 1;
constexpr std::size_t kRuleFact = kSchemaFact + Schema::kDigestSize;
constexpr std::size_t kStepFact = kRuleFact + 1;
constexpr std::size_t kGroupFact = kStepFact + 1;

std::vector<std::uint64_t> state_facts(const Schema& schema, const std::string& rule, std::int64_t step_count,
                                       const gradstep_sharding_options& options, const Dealing& dealing) {
  std::vector<std::uint64_t> facts(kGroupFact + 1);
  facts[kPartsFact] = dealing.in_parts ? 1 : 0;
  const auto digest = schema.digest(/*arithmetic=*/false);
  std::copy(digest.begin(), digest.end(), facts.begin() + kSchemaFact);
  if (dealing.in_parts) facts[kSchemaFact + Schema::kDigestShapes] = 0;  // Parts compares them
  const std::int32_t words[] = {options.gradients, options.average, options.preconditioners};
  facts[kRuleFact] = hash_bytes(words, sizeof words, hash_bytes(rule.data(), rule.size()));
  facts[kStepFact] = static_cast<std::uint64_t>(step_count);
  for (const std::vector<std::size_t>& group : dealing.groups) {
    facts[kGroupFact] = hash_bytes(group.data(), group.size() * sizeof group[0], facts[kGroupFact] + 1);
  }
  return facts;
}

std::string state_fact_text(std::size_t i) {
  if (i == kPartsFact) return "whether the host has spread the parameters";
  if (i < kRuleFact) return Schema::kDigestWords[i - kSchemaFact];
  if (i == kRuleFact) return "the rule or its options";
  return i == kStepFact ? "the step count" : "the reducer's buckets";
}

/// Throws UNSUPPORTED, on all ranks alike, for what a rule cannot do with parts.
void check_rule_takes(const Parts& parts, const Schema& schema, const Dealing& dealing, const StateStore& store,
                      const char* rule, const Engine& engine) {
  for (std::size_t i = 0; i < schema.size(); ++i) {
    if (!parts.is_divided(i)) continue;
    const std::string whole = shape_text(schema[i].whole_shape());
    if (dealing.is_whole) {
      fail(GRADSTEP_ERR_UNSUPPORTED,
           "parameter '{}': {} steps whole tensors on every rank, and the ranks have parts of {}", schema[i].name, rule,
           whole);
    }
    if (parts.travels(i) && !engine.can_exchange()) {
      fail(GRADSTEP_ERR_UNSUPPORTED,
           "parameter '{}': {} steps whole tensors, and the {} engine only gathers: it cannot send one rank the parts "
           "of {}",
           schema[i].name, rule, engine.name(), whole);
    }
    if (parts.owner(i) >= 0) continue;
    if (store.has_codes(i)) {  // switched off or not: momentum may come back
      fail(GRADSTEP_ERR_UNSUPPORTED, "parameter '{}': state in 8-bit codes cannot be saved by parts of {}",
           schema[i].name, whole);
    }
  }
}

/// Throws INVALID_STATE, on all ranks alike, where steps were made with a state that none of the ranks has.
void check_owners_are_there(const Parts& parts, const Schema& schema, const StateStore& store,
                            const std::vector<std::uint8_t>& used) {
  for (std::size_t i = 0; i < schema.size(); ++i) {
    if (!parts.travels(i) || used[i] == 0 || !store.has_owner(i) || parts.has_state(parts.owner(i), i)) continue;
    fail(GRADSTEP_ERR_INVALID_STATE,
         "parameter '{}': the rank that has its state is not among these {}: attach that one too, or make an optimizer "
         "anew and load a saved state",
         schema[i].name, parts.ranks());
  }
}

}  // namespace

StepOutcome Optimizer::step_sharded(const StepBuffers& buffers, const StepGuards& asked,
                                    const GradientExchange& exchange) {
  const Phase phase("step", {{"parameters", static_cast<std::int64_t>(schema().size())}});
  take(buffers);
  check_state_is_whole();
  Sharding& sharding = *sharding_;
  if (sharding.takes_slices() != exchange.in_slices) {
    fail(GRADSTEP_ERR_INVALID_STATE,
         "the optimizer's gradients are those of the reducer that it was attached with: step it by an updater that has "
         "both");
  }
  StepGuards guards = asked;
  const Deadline deadline = sharding.comm().deadline();
  const Sharding::Agreement agreed = agree_on_step(guards, exchange, deadline);
  bool has_stepped = false;
  try {
    sharding.bring_gradients(buffers_, exchange, deadline);
    if (exchange.needs_gradient && !agreed.any_gradient) {
      StepOutcome nothing;
      nothing.grad_norm = std::numeric_limits<double>::quiet_NaN();
      return nothing;
    }
    if (guards.found_inf != nullptr && agreed.found_inf) write(site().queue(), guards.found_inf, 1.0F);
    if (agreed.wants_norm) guards.norm = sharding.norm(deadline);
    guards.skip = agreed.found_inf;
    sharding.data().settle(deadline);
    guards.is_part = true;
    // The norm has the same bits on all ranks, so all of them ask or none does.
    if (guards.norm != nullptr && site().is_host() &&
        kernels::depends_on_elements(guards, step_plan().limits, *guards.norm)) {
      guards.largest = sharding.largest(deadline);
    }
    step_numbers_.begin(buffers_.grads, guards);
    if (site().is_host() && !gate_is_open()) {
      write_zero_updates();
      return outcome(guards);
    }
    WorkingBuffers* working = sharding.working();
    if (working != nullptr) working->stage(buffers_.params);
    apply_guarded(guards.clip_value);
    has_stepped = true;
    if (working != nullptr) {
      working->publish(buffers_.updates.empty() ? buffers_.params : buffers_.updates, deadline);
    }
  } catch (...) {
    wholeness_.exchange_failed(sharding.comm(), has_stepped);
    throw;
  }
  return outcome(guards);
}

// A rank that cannot step takes part, so that the others learn of it; and nothing is lost by what they disagree on.
Sharding::Agreement Optimizer::agree_on_step(const StepGuards& guards, const GradientExchange& exchange,
                                             const Deadline& deadline) {
  std::exception_ptr failure;
  Sharding::Agreement own;
  const StepAgreement terms(hyper_parameters(), guards, exchange, site().is_host() ? t() : 0);
  try {
    step_numbers_.take();
    own.wants_norm = guards.norm == nullptr && guards.depends_on_norm();
    own.any_gradient = true;
    if (exchange.is_agreed) return own;
    own.found_inf = guards.found_inf != nullptr && read(site().queue(), guards.found_inf) != 0;
    own.facts = terms.digest();
  } catch (...) {
    failure = std::current_exception();
    own.has_failed = true;
  }
  try {
    if (exchange.is_agreed) std::rethrow_exception(failure);
    const Sharding::Agreement agreed = sharding_->agree(buffers_.grads, exchange, own, deadline);
    if (!agreed.is_equal) terms.compare(sharding_->comm(), deadline);
    return agreed;
  } catch (...) {
    wholeness_.exchange_failed(sharding_->comm(), /*has_stepped=*/false);
    if (failure) std::rethrow_exception(failure);
    throw;
  }
}

DealtSlices Optimizer::slices_of(const std::vector<std::vector<std::size_t>>& groups, std::int32_t ranks) const {
  const Dealing dealing = dealing_by(groups);
  if (dealing.is_whole) {
    fail(GRADSTEP_ERR_UNSUPPORTED,
         "reducer: every rank of a {} steps the whole model, with gradients of all parameters", kind());
  }
  DealtSlices dealt{deal_out(schema(), dealing, ranks), {}};
  for (std::size_t i = 0; i < schema().size(); ++i) dealt.is_undivided.push_back(dealing.is_undivided(i));
  return dealt;
}

// A state of which a part is gone cannot be gathered. The ranks that are to share it agree, over their own
// channel, on whether that is so: one of them may have finished the exchange in which another one failed.
void Optimizer::attach(Communicator* comm, const gradstep_sharding_options& options,
                       const std::vector<std::vector<std::size_t>>& groups, bool in_parts) {
  if (comm == nullptr && !is_sharded()) return;  // views of the state stay valid
  const Deadline deadline = comm != nullptr ? comm->deadline() : sharding_->comm().deadline();
  Dealing dealing = dealing_by(groups);
  dealing.in_parts = in_parts;
  std::shared_ptr<Communicator> channel;
  if (comm != nullptr) channel = comm->private_channel(deadline);
  const auto all_have_it = [&] {
    const bool is_here = can_reach_peers();
    return channel != nullptr ? channel->vote(is_here, deadline) : is_here;
  };
  if (all_have_it()) {
    try {
      return deal_out_state(channel, options, dealing, /*keep=*/true, deadline);
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
  deal_out_state(channel, options, dealing, /*keep=*/false, deadline);
  wholeness_.lose();
  context()->log().write(GRADSTEP_LOG_WARNING, "optimizer {}: its state is lost with a peer: load a saved one", kind());
}

// All ranks take the new sharding or none does: those that share the state now, if it is kept, and those that are to
// share it. The latter have the last word, for they go on together.
void Optimizer::deal_out_state(const std::shared_ptr<Communicator>& channel, const gradstep_sharding_options& options,
                               const Dealing& dealing, bool keep, const Deadline& deadline) {
  commit_move(prepare_to_deal(channel, options, dealing, keep, deadline));
  if (is_sharded()) {
    context()->log().write(GRADSTEP_LOG_INFO, "optimizer {}: its state is spread over {} ranks, this is rank {}",
                           kind(), sharding_->comm().world_size(), sharding_->comm().rank());
  }
}

std::unique_ptr<Sharding> Optimizer::prepare_handover(const std::shared_ptr<Communicator>& comm,
                                                      const gradstep_sharding_options& options,
                                                      const std::vector<std::vector<std::size_t>>& groups,
                                                      const Handover& handover, const Deadline& deadline) {
  return prepare_to_deal(comm, options, dealing_by(groups), /*keep=*/true, deadline, &handover);
}

std::unique_ptr<Sharding> Optimizer::prepare_to_deal(const std::shared_ptr<Communicator>& channel,
                                                     const gradstep_sharding_options& options, const Dealing& dealing,
                                                     bool keep, const Deadline& deadline, const Handover* handover) {
  const bool asks_peers = keep && is_sharded() && (handover == nullptr || handover->asks_peers);
  Communicator* present = asks_peers ? &sharding_->comm() : nullptr;
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
  std::unique_ptr<Parts> parts;
  std::vector<std::uint64_t> facts;
  std::vector<std::uint64_t> values;
  std::vector<std::uint64_t> room;
  agree("share the state", [&] {
    if (channel == nullptr) return;
    if (dealing.in_parts) {
      std::vector<bool> has_state(schema().size());
      for (std::size_t i = 0; keep && i < has_state.size(); ++i) has_state[i] = store().is_owner(i);
      parts = std::make_unique<Parts>(schema(), channel->world_size(), has_state);
    } else {
      check_has_no_parts(schema());
      next = std::make_unique<Sharding>(*context(), site(), channel, schema(), options, dealing);
    }
    const std::int64_t steps = handover != nullptr ? handover->steps : step_count();
    facts = state_facts(schema(), rule_text_, keep ? steps : 0, options, dealing);
    if (keep) values = hyper_parameters().facts();
    room.resize(std::max(facts.size(), values.size()) * static_cast<std::size_t>(channel->world_size()));
  });
  agree("share the state", [&] {
    if (channel == nullptr) return;
    compare_ranks(*channel, facts, [](std::size_t i) { return state_fact_text(i); }, deadline, room);
    if (keep)
      compare_ranks(*channel, values, [&](std::size_t i) { return hyper_parameters().fact_text(i); }, deadline, room);
    if (!dealing.in_parts) return;
    parts->exchange(*channel, schema(), deadline);
    parts->name_owners(schema(), dealing.costs);
    check_rule_takes(*parts, schema(), dealing, store(), kind(), channel->connection().engine());
    if (keep) check_owners_are_there(*parts, schema(), store(), state().flags());
    next = std::make_unique<Sharding>(*context(), site(), channel, schema(), options, dealing, std::move(parts));
  });
  try {
    agree("take over its part of the state", [&] { prepare_move(next.get(), keep, deadline, handover); });
  } catch (...) {
    store().discard_move();
    throw;
  }
  return next;
}

}  // namespace gradstep
