// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Ranks leave a training between two windows, and others join it with an updater that has no history: every mix of both
// for two to four ranks. All that train on end with the same bits, whichever call of the recovery fails; where
// gradients are averaged these are the bits of a training on one rank, which gets the average.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <optional>
#include <set>

#include "comm/communicators.h"
#include "optim/first_order/first_order_optimizer.h"
#include "optim/first_order/typed_options.h"
#include "unit/host_calls.h"
#include "unit/support.h"
#include "unit/updater/simulated_world.h"
#include "updater/updater.h"

namespace gradstep::test {
namespace {

constexpr int kMostAttempts = 6;
constexpr std::int64_t kNoMoreCalls = 300;
constexpr std::int64_t kWindowsPerEpoch = 2;  // a round of local steps
#if defined(GRADSTEP_SANITIZED)
constexpr std::int64_t kStride = 17;
constexpr std::int32_t kMostRanks = 3;
#else
constexpr std::int64_t kStride = 1;
constexpr std::int32_t kMostRanks = 4;
#endif
constexpr Fault::Moment kMoments[] = {Fault::Moment::before, Fault::Moment::after, Fault::Moment::for_others};
const std::vector<std::vector<std::int64_t>> kSmall = {{6, 4}, {5}};
/// Several chunks: with a sharded state each of four ranks has some.
const std::vector<std::vector<std::int64_t>> kChunks = {{2 * kChunk + 3}, {5}, {kChunk, 2}};

/// Who trains, from one change to the next.
using Members = std::vector<std::int32_t>;
using Epochs = std::vector<Members>;

/// Whose state is sharded.
enum class Sharded : std::uint8_t {
  none,
  alone,    ///< the optimizer's, which exchanges gradients by itself
  reduced,  ///< the optimizer's, behind a reducer
  slices,   ///< the optimizer's, which a reducer brings slices
  outer,
  outer_slices,
};

struct Mode {
  std::string name;
  gradstep_updater_options chain = default_updater_options();
  gradstep_reducer_options reduction = default_reducer_options();
  bool has_outer = false;
  bool accumulates = false;
  Sharded sharded = Sharded::none;
  const std::vector<std::vector<std::int64_t>>& shapes() const { return sharded == Sharded::none ? kSmall : kChunks; }
  /// All that ranks have is equal between windows, and the average of their gradients says what it is.
  bool is_average() const { return chain.sync == GRADSTEP_SYNC_GRADIENTS && reduction.mode == GRADSTEP_REDUCER_DENSE; }
};

Mode mode(const std::string& name, std::int32_t reducer_mode, std::int32_t sync = GRADSTEP_SYNC_GRADIENTS) {
  Mode mode{.name = name};
  mode.chain.sync = sync;
  mode.reduction.mode = reducer_mode;
  mode.reduction.fuse_threshold = 1;
  mode.reduction.sparsity = 0.25;
  mode.reduction.rank = 1;
  return mode;
}

std::vector<Mode> modes() {
  std::vector<Mode> all = {
      mode("dense", GRADSTEP_REDUCER_DENSE),
      mode("dense, accumulated", GRADSTEP_REDUCER_DENSE),
      mode("topk", GRADSTEP_REDUCER_SPARSE_TOPK),
      mode("topk with momentum", GRADSTEP_REDUCER_SPARSE_TOPK),
      mode("ef21", GRADSTEP_REDUCER_SPARSE_TOPK),
      mode("powersgd", GRADSTEP_REDUCER_POWERSGD),
      mode("int8", GRADSTEP_REDUCER_INT8),
      mode("half", GRADSTEP_REDUCER_HALF),
      mode("deltas", GRADSTEP_REDUCER_DENSE, GRADSTEP_SYNC_DELTAS),
      mode("topk deltas", GRADSTEP_REDUCER_SPARSE_TOPK, GRADSTEP_SYNC_DELTAS),
      mode("powersgd deltas", GRADSTEP_REDUCER_POWERSGD, GRADSTEP_SYNC_DELTAS),
      mode("int8 deltas", GRADSTEP_REDUCER_INT8, GRADSTEP_SYNC_DELTAS),
      mode("parameters", GRADSTEP_REDUCER_DENSE, GRADSTEP_SYNC_PARAMETERS),
      mode("rounds", GRADSTEP_REDUCER_DENSE, GRADSTEP_SYNC_DELTAS),
      mode("int8 rounds", GRADSTEP_REDUCER_INT8, GRADSTEP_SYNC_DELTAS),
  };
  const std::pair<const char*, Sharded> shardings[] = {
      {"alone", Sharded::alone},         {"reduced", Sharded::reduced},
      {"slices", Sharded::slices},       {"int8 slices", Sharded::slices},
      {"outer, rounds", Sharded::outer}, {"outer slices, rounds", Sharded::outer_slices},
  };
  for (const auto& [name, sharded] : shardings) {
    const bool is_coded = std::string(name).starts_with("int8");
    const bool is_outer = sharded == Sharded::outer || sharded == Sharded::outer_slices;
    all.push_back(mode(std::string("sharded, ") + name, is_coded ? GRADSTEP_REDUCER_INT8 : GRADSTEP_REDUCER_DENSE,
                       is_outer ? GRADSTEP_SYNC_DELTAS : GRADSTEP_SYNC_GRADIENTS));
    all.back().sharded = sharded;
  }
  for (Mode& each : all) {
    each.has_outer = each.name.ends_with("rounds");
    each.accumulates = each.name.ends_with("accumulated");
    if (each.has_outer) each.chain.sync_steps = kWindowsPerEpoch;
    if (each.name == "ef21") each.reduction.error_feedback = GRADSTEP_ERROR_FEEDBACK_EF21;
    if (!each.name.ends_with("momentum")) continue;
    each.reduction.momentum_correction = 0.5;
    each.reduction.warmup_steps = 2;
  }
  return all;
}

/// Whole numbers between -8 and 8: their sums are exact, in whatever order a mode takes them.
float gradient(std::int32_t rank, std::int64_t window, std::size_t place) {
  const std::size_t mixed = (static_cast<std::size_t>(rank * 31 + window * 17) + place + 1) * 0x9E3779B97F4A7C15U;
  return static_cast<float>((mixed >> 40U) % 17U) - 8.0F;
}

/// One rank's host.
class Host {
 public:
  Host(const Mode& mode, std::int32_t rank, float begin) : mode_(mode), rank_(rank) {
    const Schema schema = make_schema(mode.shapes());
    auto adam = default_options<gradstep_adam_options>();
    adam.learning_rate = 0.25;
    adam.amsgrad = 1;
    optimizer_ = std::make_shared<FirstOrderOptimizer>(context_, make_rule(adam), schema);
    if (mode.has_outer) {
      auto sgd = default_options<gradstep_sgd_options>();
      sgd.learning_rate = 0.5;
      sgd.momentum = 0.5;
      outer_ = std::make_shared<FirstOrderOptimizer>(context_, make_rule(sgd), schema);
    }
    if (mode.accumulates) {
      auto options = default_accumulator_options();
      options.steps = 2;
      accumulator_ = std::make_shared<Accumulator>(context_, options, std::nullopt, schema);
    }
    for (const auto& shape : mode.shapes()) {
      params_.emplace_back(shape, begin);
      grads_.emplace_back(shape);
    }
  }

  const std::shared_ptr<Context>& context() const { return context_; }
  std::int64_t windows() const { return optimizer_->step_count(); }

  void begin(const std::shared_ptr<Communicator>& comm) {
    begin_unsharded(comm);
    shard();
  }
  /// What a newcomer does before it recovers: its reducer's options are those of the others.
  void begin_alone() { begin_unsharded(make_self_communicator(context_, {})); }

  /// Goes, and hands over what it has of a sharded state.
  void leave() {
    const auto params = tensors(params_);
    host::recover(*updater_, nullptr, params.data(), params.size());
  }
  bool hands_over() const { return mode_.sharded != Sharded::none; }
  void gather() {
    for (const auto& optimizer : {optimizer_, outer_}) {
      if (optimizer && optimizer->is_sharded()) optimizer->attach(nullptr, {});
    }
  }

  void go_on_over(const std::shared_ptr<Communicator>& comm) {
    const auto params = tensors(params_);
    host::recover(*updater_, comm.get(), params.data(), params.size());
    comm_ = comm;
    try {
      host::flush(*updater_, params.data(), params.size());
    } catch (const Error& error) {
      if (accumulator_ || error.status() != GRADSTEP_ERR_INVALID_STATE) throw;  // the gradients are to come again
    }
  }

  void train_to(std::int64_t window) {
    while (windows() < window) {
      fill(rank_);
      push();
    }
  }
  /// With the average gradient of these ranks, on one.
  void step_for(const Members& members) {
    for (const std::int32_t rank : members) fill(rank, /*adds=*/rank != members.front());
    for (auto& tensor : grads_) {
      for (float& value : tensor.values) value /= static_cast<float>(members.size());
    }
    push();
  }

  /// What is equal on all ranks.
  std::string end(bool with_state) {
    std::string bytes = fmt::format("{} {} ", optimizer_->step_count(), optimizer_->skipped_steps());
    if (outer_) bytes += fmt::format("{} ", outer_->step_count());
    for (const auto& param : params_) {
      bytes.append(reinterpret_cast<const char*>(param.values.data()), param.values.size() * sizeof(float));
    }
    for (const auto& optimizer : {with_state ? optimizer_ : nullptr, outer_}) {
      if (!optimizer || optimizer->is_sharded()) continue;  // each rank has its own share
      for (const StoredState& state : optimizer->state().stored()) {
        bytes.append(static_cast<const char*>(state.array.data), static_cast<std::size_t>(state.array.bytes()));
      }
    }
    return bytes;
  }

 private:
  void begin_unsharded(const std::shared_ptr<Communicator>& comm) {
    comm_ = comm;
    if (mode_.sharded != Sharded::alone) {
      reducer_ = std::make_shared<Reducer>(context_, *comm, mode_.reduction, make_schema(mode_.shapes()));
    }
    updater_ = std::make_unique<Updater>(context_, optimizer_, accumulator_, reducer_, mode_.chain, outer_);
  }
  void shard() {
    if (mode_.sharded == Sharded::none) return;
    Optimizer& sharded = mode_.has_outer ? *outer_ : *optimizer_;
    if (mode_.sharded != Sharded::slices && mode_.sharded != Sharded::outer_slices) return sharded.attach(&*comm_, {});
    const auto groups = reducer_->layout().groups();
    reducer_->deal(sharded.slices_of(groups, comm_->world_size()));
    sharded.attach(&reducer_->comm(), {}, groups);
  }
  static std::vector<gradstep_tensor> tensors(std::vector<TestTensor<float>>& list) {
    std::vector<gradstep_tensor> result;
    for (auto& tensor : list) result.push_back(tensor.tensor());
    return result;
  }
  void fill(std::int32_t rank, bool adds = false) {
    std::size_t place = 0;
    for (auto& tensor : grads_) {
      for (float& value : tensor.values) value = (adds ? value : 0) + gradient(rank, windows(), place++);
    }
  }
  void push() {
    const auto params = tensors(params_);
    const auto grads = tensors(grads_);
    const std::int64_t before = windows();
    while (windows() == before) host::push(*updater_, params.data(), grads.data(), params.size(), 1);
  }

  const Mode& mode_;
  std::int32_t rank_;
  std::shared_ptr<Context> context_ = make_context();
  std::shared_ptr<Optimizer> optimizer_;
  std::shared_ptr<Optimizer> outer_;
  std::shared_ptr<Accumulator> accumulator_;
  std::shared_ptr<Communicator> comm_;
  std::shared_ptr<Reducer> reducer_;  // the first one, which the host keeps
  std::unique_ptr<Updater> updater_;
  std::vector<TestTensor<float>> params_;
  std::vector<TestTensor<float>> grads_;
};

bool has(const Members& members, std::int32_t rank) { return std::ranges::find(members, rank) != members.end(); }

struct Run {
  std::map<std::int32_t, std::string> ends;
  bool is_lost = false;  // a state of which shares were of different steps
  std::string complaint;
  std::size_t struck = 0;
};

/// To gather a sharded state is a call, too, which may be the one that fails.
bool compares_state(const Mode& mode, const std::vector<Fault>& faults) {
  const bool is_sharded = mode.sharded != Sharded::none;
  return mode.chain.sync == GRADSTEP_SYNC_GRADIENTS && !(is_sharded && !faults.empty());
}

Run train(const Mode& mode, const Epochs& epochs, std::int32_t ranks, const std::vector<Fault>& faults,
          std::uint32_t seed) {
  SimulatedWorld world(ranks, seed, /*pairs=*/seed % 2 == 0, faults);
  Run run;
  std::vector<std::size_t> here(epochs.size());  // how many have come to an epoch, to train or to go
  std::vector<std::size_t> changed(epochs.size());
  for (std::int32_t rank = 0; rank < ranks; ++rank) world.leave(rank);
  world.turns().run([&](std::int32_t rank) {
    std::unique_ptr<Host> host;
    world.count_calls(rank);
    const auto body = [&](std::size_t epoch) {
      const auto meet = [&](std::size_t& arrived) {
        ++arrived;
        world.turns().wait(rank, [&] { return arrived == static_cast<std::size_t>(ranks); });
      };
      meet(here[epoch]);
      if (has(epochs[epoch], rank)) {
        world.join(rank);
      } else {
        world.leave(rank);
      }
      meet(changed[epoch]);
      if (!has(epochs[epoch], rank)) {
        if (host && host->hands_over()) host->leave();
        host.reset();
        return;
      }
      const std::int64_t begins = kWindowsPerEpoch * static_cast<std::int64_t>(epoch);
      const bool is_first = epoch == 0;
      const bool is_new = host == nullptr;
      // A newcomer's parameters are its own until it has recovered.
      if (is_new) host = std::make_unique<Host>(mode, rank, is_first ? 1.0F : static_cast<float>(rank + 2));
      if (is_new && !is_first) host->begin_alone();
      for (int attempt = 0;; ++attempt) {
        try {
          // Ranks that leave hand over by the old channel.
          const auto comm = world.connect(rank, host->context(), /*keeps=*/attempt == 0 && host->hands_over());
          if (is_first) {
            host->begin(comm);
          } else {
            host->go_on_over(comm);
          }
          host->train_to(begins + kWindowsPerEpoch);
          if (!world.finish(rank)) return;
        } catch (const Error& error) {
          if (host->hands_over() && std::string(error.what()).find("load a saved state") != std::string::npos) {
            run.is_lost = true;
            return world.leave(rank);
          }
          if (attempt < kMostAttempts) continue;
          run.complaint += fmt::format("rank {} cannot go on: {}; ", rank, error.what());
          return world.leave(rank);
        }
      }
    };
    for (std::size_t epoch = 0; epoch < epochs.size() && !run.is_lost && run.complaint.empty(); ++epoch) body(epoch);
    const bool with_state = compares_state(mode, faults);
    if (host && faults.empty() && run.complaint.empty()) host->gather();
    if (host) run.ends[rank] = host->end(with_state);
  });
  if (world.turns().stuck()) run.complaint += "all ranks wait for each other; ";
  run.struck = world.struck();
  return run;
}

std::string train_alone(const Mode& mode, const Epochs& epochs, bool with_state) {
  Host host(mode, 0, 1.0F);
  host.begin_alone();
  for (std::size_t epoch = 0; epoch < epochs.size(); ++epoch) {
    for (std::int64_t k = 0; k < kWindowsPerEpoch; ++k) host.step_for(epochs[epoch]);
  }
  return host.end(with_state);
}

std::string text_of(const Epochs& epochs) {
  std::string text;
  for (const Members& members : epochs) text += fmt::format("[{}]", fmt::join(members, ","));
  return text;
}

/// False if the fault has not struck.
bool check(const Mode& mode, const Epochs& epochs, std::int32_t ranks, const std::vector<Fault>& faults,
           std::uint32_t seed) {
  const Run run = train(mode, epochs, ranks, faults, seed);
  if (run.struck < faults.size()) return false;
  const std::string what = fmt::format("{}, {}", mode.name, text_of(epochs));
  EXPECT_EQ(run.complaint, "") << what;
  if (run.is_lost) {
    EXPECT_FALSE(faults.empty()) << what << ": a change alone has lost the state";
    return true;
  }
  EXPECT_EQ(run.ends.size(), epochs.back().size()) << what;
  const std::string expected =
      mode.is_average() ? train_alone(mode, epochs, compares_state(mode, faults)) : run.ends.begin()->second;
  for (const auto& [rank, end] : run.ends) EXPECT_TRUE(end == expected) << what << ": rank " << rank;
  return true;
}

/// All that train first, and all that train then, with at least one rank in both: each rank in one of three roles.
std::vector<Epochs> every_mix(std::int32_t ranks) {
  std::vector<Epochs> all;
  std::int32_t mixes = 1;
  for (std::int32_t rank = 0; rank < ranks; ++rank) mixes *= 3;
  for (std::int32_t mix = 0; mix < mixes; ++mix) {
    Epochs epochs(3);
    std::int32_t roles = mix;
    bool any_stays = false;
    for (std::int32_t rank = 0; rank < ranks; ++rank, roles /= 3) {
      const std::int32_t role = roles % 3;
      any_stays = any_stays || role == 0;
      if (role != 1) epochs[0].push_back(rank);
      if (role != 2) epochs[1].push_back(rank);
      epochs[2].push_back(rank);
    }
    if (any_stays) all.push_back(epochs);
  }
  return all;
}

TEST(JoiningSimulation, EveryMixOfLeavingAndJoiningEndsWithTheSameBits) {
  std::uint32_t seed = 17;
  for (const Mode& each : modes()) {
    for (std::int32_t ranks = 2; ranks <= kMostRanks; ++ranks) {
      for (const Epochs& epochs : every_mix(ranks)) {
        EXPECT_TRUE(check(each, epochs, ranks, {}, ++seed));
        if (HasFailure()) return;
      }
    }
    std::printf("[   CASES  ] %u: %s\n", seed, each.name.c_str());
    std::fflush(stdout);
  }
}

TEST(JoiningSimulation, AnyCallOfARecoveryWithNewcomersMayFail) {
  const std::vector<Epochs> mixes = {{{0, 1}, {0, 1, 2}}, {{1, 2}, {0, 1, 2}}, {{1, 2}, {0, 1}}, {{2}, {0, 2}}};
  std::uint32_t seed = 17;
  std::int64_t variant = 0;
  for (const Mode& each : modes()) {
    for (const Epochs& epochs : mixes) {
      if (each.sharded != Sharded::none && epochs[1].size() < 3) continue;  // who hands over may be gone for good
      Fault fault{.in_recovery = true};
      for (fault.rank = 0; fault.rank < 3; ++fault.rank) {
        for (fault.call = fault.rank % kStride; fault.call < kNoMoreCalls; fault.call += kStride) {
          fault.moment = kMoments[++variant % 3];
          if (!check(each, epochs, 3, {fault}, ++seed)) break;
          if (HasFailure()) {
            FAIL() << each.name << ", " << text_of(epochs) << ": rank " << fault.rank << " in call " << fault.call;
          }
        }
        ASSERT_LT(fault.call, kNoMoreCalls);
      }
    }
  }
}

}  // namespace
}  // namespace gradstep::test
