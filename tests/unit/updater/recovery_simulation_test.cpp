// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Whichever call of a training fails, on whichever rank, before or after its data has gone out: the ranks recover, and
// end with the bits of a run that never failed. Where ranks step before they exchange and end apart, all take over the
// furthest one, and end with the bits of a run in which they did so without a failure. A rank that is gone leaves a run
// like one that it left between two windows.
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <optional>

#include "reduce/reducer_options.h"
#include "unit/updater/simulated_training.h"

namespace gradstep::test {
namespace {

constexpr int kMostComplaints = 5;
constexpr std::int64_t kNoMoreCalls = 200;
/// Sanitizers take a part of the calls in each variant, another part in the next.
#if defined(GRADSTEP_SANITIZED)
constexpr std::int64_t kStride = 17;
constexpr std::int32_t kManyRanks = 32;
#else
constexpr std::int64_t kStride = 1;
constexpr std::int32_t kManyRanks = 128;
#endif
constexpr Fault::Moment kMoments[] = {Fault::Moment::before, Fault::Moment::after, Fault::Moment::for_others};

SimulatedSetup mode(const std::string& name, std::int32_t reducer_mode) {
  SimulatedSetup setup;
  setup.name = name;
  setup.reduction.mode = reducer_mode;
  setup.reduction.fuse_threshold = 1;  // a bucket for each parameter
  setup.reduction.sparsity = reducer_mode == GRADSTEP_REDUCER_SPARSE_THRESHOLD ? 6 : 0.25;
  setup.reduction.rank = 1;
  return setup;
}

std::vector<SimulatedSetup> modes() {
  std::vector<SimulatedSetup> all = {
      mode("dense", GRADSTEP_REDUCER_DENSE),
      mode("half", GRADSTEP_REDUCER_HALF),
      mode("bfloat16", GRADSTEP_REDUCER_BFLOAT16),
      mode("sparse_threshold", GRADSTEP_REDUCER_SPARSE_THRESHOLD),
      mode("sparse_topk", GRADSTEP_REDUCER_SPARSE_TOPK),
      mode("adasum_tree", GRADSTEP_REDUCER_ADASUM_TREE),
      mode("adasum_nway", GRADSTEP_REDUCER_ADASUM_NWAY),
      mode("powersgd", GRADSTEP_REDUCER_POWERSGD),
      mode("weighted", GRADSTEP_REDUCER_DENSE),
      mode("half_fp16", GRADSTEP_REDUCER_HALF),
      mode("topk_split", GRADSTEP_REDUCER_SPARSE_TOPK),
      mode("topk_momentum", GRADSTEP_REDUCER_SPARSE_TOPK),
      mode("topk_ef21", GRADSTEP_REDUCER_SPARSE_TOPK),
      mode("int8", GRADSTEP_REDUCER_INT8),
      mode("int4", GRADSTEP_REDUCER_INT4),
      mode("fp8_e4m3", GRADSTEP_REDUCER_FP8_E4M3),
  };
  all[8].reduction.average = GRADSTEP_AVERAGE_WEIGHTED;
  all[9].reduction.half_sum = GRADSTEP_HALF_SUM_FP16;
  all[10].reduction.sparse_exchange = GRADSTEP_SPARSE_EXCHANGE_SPLIT;
  all[11].reduction.momentum_correction = 0.5;
  all[11].reduction.warmup_steps = 2;
  all[12].reduction.error_feedback = GRADSTEP_ERROR_FEEDBACK_EF21;
  for (const std::int32_t by_hosts : {GRADSTEP_REDUCER_DENSE, GRADSTEP_REDUCER_INT8, GRADSTEP_REDUCER_ADASUM_TREE}) {
    all.push_back(mode(std::string(mode_name(by_hosts)) + "_hosts", by_hosts));
    all.back().by_hosts = true;
  }
  return all;
}

SimulatedSetup with(SimulatedSetup setup, const std::string& name, std::int32_t sync, std::int32_t sync_steps = 1) {
  setup.name += name;
  setup.chain.sync = sync;
  setup.chain.sync_steps = sync_steps;
  return setup;
}

SimulatedSetup skipping(SimulatedSetup setup) {
  setup.name += "_skips";
  setup.chain.skip_nonfinite = 1;
  setup.has_infinity = true;
  return setup;
}

std::vector<SimulatedSetup> local_setups() {
  const SimulatedSetup dense = mode("", GRADSTEP_REDUCER_DENSE);
  std::vector<SimulatedSetup> all = {
      with(dense, "parameters", GRADSTEP_SYNC_PARAMETERS),
      with(dense, "parameters_every_2", GRADSTEP_SYNC_PARAMETERS, 2),
      with(dense, "partial", GRADSTEP_SYNC_PARAMETERS_PARTIAL),
  };
  all[1].windows = 5;
  return all;
}

/// DiLoCo: rounds of two windows.
std::vector<SimulatedSetup> round_setups() {
  std::vector<SimulatedSetup> all = {mode("dense", GRADSTEP_REDUCER_DENSE), mode("topk", GRADSTEP_REDUCER_SPARSE_TOPK),
                                     mode("int8", GRADSTEP_REDUCER_INT8)};
  for (SimulatedSetup& setup : all) {
    setup = with(setup, "_rounds", GRADSTEP_SYNC_DELTAS, 2);
    setup.has_outer = true;
    setup.windows = 5;
  }
  return all;
}

std::vector<SimulatedSetup> skipping_setups() {
  const SimulatedSetup dense = mode("", GRADSTEP_REDUCER_DENSE);
  std::vector<SimulatedSetup> all = {skipping(with(dense, "gradients", GRADSTEP_SYNC_GRADIENTS)),
                                     skipping(with(dense, "deltas", GRADSTEP_SYNC_DELTAS))};
  for (const SimulatedSetup& setup : local_setups()) all.push_back(skipping(setup));
  for (const SimulatedSetup& setup : modes()) {
    const std::int32_t kind = setup.reduction.mode;
    if (kind == GRADSTEP_REDUCER_SPARSE_TOPK || kind == GRADSTEP_REDUCER_POWERSGD || is_coded(kind))
      all.push_back(skipping(setup));
  }
  return all;
}

/// Runs cases, and says which of them break the promise.
class Simulation {
 public:
  ~Simulation() { std::printf("[   CASES  ] %lld\n", static_cast<long long>(cases_)); }

  /// False if not all of the faults have struck. `has_pairs`: whether ranks also send and receive; else chance says.
  bool run(const SimulatedSetup& setup, std::int32_t ranks, const std::vector<Fault>& faults,
           std::optional<bool> has_pairs = std::nullopt) {
    std::uint32_t seed = 17;
    for (const Fault& f : faults) {
      seed = seed * 1000003U + static_cast<std::uint32_t>(f.call * 16 + f.rank * 4 + static_cast<int>(f.moment));
    }
    const bool pairs = has_pairs.value_or(setup.by_hosts || seed % 2 == 0);
    const SimulatedRun got = train_with_faults(setup, ranks, pairs, faults, seed);
    if (got.struck < faults.size()) return false;
    ++cases_;
    std::string complaint = got.complaint;
    if (complaint.empty()) {
      SimulatedEnds expected = train_without_faults(setup, ranks, got.interventions);
      for (const Fault& f : faults) {
        if (f.dies) expected.erase(f.rank);  // after the last exchange no other rank has noticed
      }
      if (got.ends != expected) complaint = difference(got.ends, expected);
    }
    if (complaint.empty() || ++complaints_ > kMostComplaints) return true;
    ADD_FAILURE() << describe(setup, ranks, faults, got, pairs) << ": " << complaint;
    return true;
  }
  bool gives_up() const { return complaints_ > kMostComplaints; }

 private:
  static std::string difference(const SimulatedEnds& got, const SimulatedEnds& expected) {
    std::string text = "these ranks end otherwise than without a failure:";
    for (const auto& [rank, end] : expected) {
      const auto own = got.find(rank);
      if (own == got.end()) {
        text += fmt::format(" {} (is not there)", rank);
      } else if (own->second != end) {
        text += fmt::format(" {} (counters {} for {})", rank, counters(own->second), counters(end));
      }
    }
    return text;
  }
  static std::string counters(const std::string& end) { return end.substr(0, end.find(' ', end.find(' ') + 1)); }
  static std::string describe(const SimulatedSetup& setup, std::int32_t ranks, const std::vector<Fault>& faults,
                              const SimulatedRun& run, bool pairs) {
    std::string text = fmt::format("{} of {} ranks, {} accumulator, {}", setup.name, ranks,
                                   setup.accumulates ? "with" : "without", pairs ? "pairs" : "gathers");
    for (const Fault& f : faults) {
      text += fmt::format("; rank {} {} in call {}{}, moment {}", f.rank, f.dies ? "dies" : "fails", f.call,
                          f.in_recovery ? " of recovery" : "", static_cast<int>(f.moment));
    }
    for (const Intervention& i : run.interventions) {
      text += fmt::format("; at window {} [{}] go on, root {}{}", i.window, fmt::join(i.members, ","), i.root,
                          i.root_is_stepped ? " stepped" : "");
    }
    return text;
  }

  std::int64_t cases_ = 0;
  int complaints_ = 0;
};

/// Every call of every rank in turn.
void fail_every_call(std::vector<SimulatedSetup> setups) {
  Simulation simulation;
  for (SimulatedSetup& setup : setups) {
    for (int variant = 0; variant < 12; ++variant) {
      setup.accumulates = variant % 2 == 0;
      const std::int32_t ranks = 2 + variant / 2 % 2;
      Fault fault;
      fault.moment = kMoments[variant / 4];
      for (fault.rank = 0; fault.rank < ranks; ++fault.rank) {
        for (const bool dies : {false, true}) {
          fault.dies = dies;
          for (fault.call = variant % kStride; fault.call < kNoMoreCalls; fault.call += kStride) {
            if (!simulation.run(setup, ranks, {fault}) || simulation.gives_up()) break;
          }
          ASSERT_LT(fault.call, kNoMoreCalls);
        }
      }
    }
  }
}

TEST(RecoverySimulation, AnyCallMayFailWhereGradientsAreReduced) { fail_every_call(modes()); }

TEST(RecoverySimulation, AnyCallMayFailWhereDeltasAreReduced) {
  std::vector<SimulatedSetup> setups;
  for (const SimulatedSetup& setup : modes()) setups.push_back(with(setup, "_deltas", GRADSTEP_SYNC_DELTAS));
  fail_every_call(setups);
}

TEST(RecoverySimulation, AnyCallMayFailWhereParametersAreAveraged) { fail_every_call(local_setups()); }

TEST(RecoverySimulation, AnyCallMayFailWhereRoundsAreExchanged) { fail_every_call(round_setups()); }

TEST(RecoverySimulation, AnyCallMayFailWhereWindowsAreSkipped) { fail_every_call(skipping_setups()); }

/// A rank fails in the middle of training, and any call of any rank fails in the recovery from that.
TEST(RecoverySimulation, AnyCallOfARecoveryMayFail) {
  Simulation simulation;
  std::vector<SimulatedSetup> setups = modes();
  setups.push_back(with(mode("topk_deltas", GRADSTEP_REDUCER_SPARSE_TOPK), "", GRADSTEP_SYNC_DELTAS));
  for (const SimulatedSetup& setup : local_setups()) setups.push_back(setup);
  for (const SimulatedSetup& setup : round_setups()) setups.push_back(setup);
  for (SimulatedSetup& setup : setups) {
    for (int variant = 0; variant < 6; ++variant) {
      setup.accumulates = variant % 2 == 0;
      Fault first{.rank = variant % 3, .call = 3 + variant, .moment = kMoments[1 + variant / 3]};
      Fault second{.in_recovery = true};
      second.moment = kMoments[variant % 3];
      for (second.rank = 0; second.rank < 3; ++second.rank) {
        for (second.call = variant % kStride; second.call < kNoMoreCalls; second.call += kStride) {
          if (!simulation.run(setup, 3, {first, second}) || simulation.gives_up()) break;
        }
        ASSERT_LT(second.call, kNoMoreCalls);
      }
    }
  }
}

/// One of many ranks dies, and the others go on without it. GRADSTEP_SIMULATED_RANKS=1024 takes minutes.
TEST(RecoverySimulation, ManyRanksGoOnWithoutOne) {
  const char* wanted = std::getenv("GRADSTEP_SIMULATED_RANKS");
  const std::int32_t ranks = wanted != nullptr ? std::atoi(wanted) : kManyRanks;
  Simulation simulation;
  for (SimulatedSetup setup : {mode("dense", GRADSTEP_REDUCER_DENSE), mode("int8", GRADSTEP_REDUCER_INT8)}) {
    setup.windows = 2;
    const Fault fault{.rank = ranks / 2, .call = 2, .moment = Fault::Moment::for_others, .dies = true};
    EXPECT_TRUE(simulation.run(setup, ranks, {fault}, /*has_pairs=*/true)) << setup.name;
  }
}

}  // namespace
}  // namespace gradstep::test
