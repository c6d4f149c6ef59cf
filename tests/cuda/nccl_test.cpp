// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Exchanges that NCCL carries have the bits of those that pass through the host, and nothing of them passes there.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <optional>

#include "cuda/nccl_ranks.h"

namespace gradstep::test {
namespace {

/// In the last one everything is where it was in one before.
constexpr int kWindows = 4;
/// Bytes of a rank's window, where some tables of what lies where are sent anew; gradients are 80 KB.
constexpr std::int64_t kTables = 1024;

struct Mode {
  const char* name;
  std::function<void(gradstep_reducer_options&)> choose;
  bool is_double = false;
  /// Bytes of a rank's window, where the host must know something.
  std::int64_t seen_bytes = 0;
};

const std::vector<std::vector<std::int64_t>> kShapes = {{40, 50}, {3}, {120, 150}, {1}};

std::vector<gradstep_parameter> parameters_of(gradstep_device device, bool is_double) {
  std::vector<gradstep_parameter> parameters(kShapes.size());
  for (std::size_t i = 0; i < kShapes.size(); ++i) {
    parameters[i].struct_size = sizeof(gradstep_parameter);
    parameters[i].shape = kShapes[i].data();
    parameters[i].ndim = static_cast<std::int32_t>(kShapes[i].size());
    parameters[i].dtype = {GRADSTEP_TYPE_FLOAT, static_cast<std::uint8_t>(is_double ? 64 : 32), 1};
    parameters[i].device = device;
  }
  return parameters;
}

std::vector<double> values_of(std::size_t parameter, std::int32_t rank) {
  std::int64_t count = 1;
  for (const std::int64_t size : kShapes[parameter]) count *= size;
  return random_values<double>(static_cast<std::size_t>(count),
                               static_cast<std::uint32_t>(100 * rank) + static_cast<std::uint32_t>(parameter));
}

template <class T>
std::vector<T> as(const std::vector<double>& values) {
  return {values.begin(), values.end()};
}

struct Outcome {
  std::vector<std::vector<double>> results;  // of the last window, by parameter
  std::int64_t copied_bytes = 0;             // between host and device, by all ranks, in the last window
};

/// Some windows of a reducer; every rank's outcome.
std::vector<Outcome> reduce(std::int32_t ranks, const Mode& mode, Carrier carrier, bool pushes = false,
                            std::int32_t order = GRADSTEP_REDUCTION_RANK) {
  std::vector<Outcome> outcomes(static_cast<std::size_t>(ranks));
  const auto body = [&](NcclRank& rank) {
    Outcome& outcome = outcomes[static_cast<std::size_t>(rank.rank())];
    gradstep_reducer_options options{};
    TestDevice::check(gradstep_reducer_options_init(&options, sizeof options));
    options.fuse_threshold = 4000;
    mode.choose(options);
    const auto parameters = parameters_of(rank.device().id(), mode.is_double);
    gradstep_reducer* reducer = nullptr;
    TestDevice::check(gradstep_reducer_create(rank.device().context(), rank.comm(carrier), &options, parameters.data(),
                                              parameters.size(), &reducer));
    std::vector<gradstep_tensor> grads;
    std::vector<gradstep_tensor> results;
    for (std::size_t i = 0; i < kShapes.size(); ++i) {
      grads.push_back(rank.tensor(kShapes[i], mode.is_double));
      results.push_back(rank.tensor(kShapes[i], mode.is_double));
      const auto values = values_of(i, rank.rank());
      if (mode.is_double) {
        rank.write(grads[i], values);
      } else {
        rank.write(grads[i], as<float>(values));
      }
    }
    std::int64_t before = 0;
    for (int window = 0; window < kWindows; ++window) {
      if (window == kWindows - 1) {
        rank.device().queue(rank.stream()).finish();
        rank.meet();
        before = EmulatedCuda::control().counts().copied_bytes;
        rank.meet();
      }
      if (pushes) {
        for (std::size_t i = kShapes.size(); i-- > 0;) {
          TestDevice::check(gradstep_reducer_push(reducer, i, &grads[i], rank.stream()));
        }
        TestDevice::check(gradstep_reducer_wait(reducer, results.data(), results.size(), rank.stream()));
      } else {
        TestDevice::check(gradstep_reducer_reduce(reducer, grads.data(), results.data(), results.size(),
                                                  1 + rank.rank(), rank.stream()));
      }
    }
    rank.device().queue(rank.stream()).finish();
    rank.meet();
    outcome.copied_bytes = EmulatedCuda::control().counts().copied_bytes - before;
    rank.meet();
    for (const gradstep_tensor& result : results) {
      if (mode.is_double) {
        outcome.results.push_back(rank.read<double>(result));
      } else {
        const std::vector<float> floats = rank.read(result);
        outcome.results.emplace_back(floats.begin(), floats.end());
      }
    }
    gradstep_reducer_destroy(reducer);
  };
  run_nccl_ranks(ranks, body, 20000, order);
  return outcomes;
}

const std::vector<Mode> kModes = {
    {"dense", [](auto& o) { o.mode = GRADSTEP_REDUCER_DENSE; }},
    {"dense f64", [](auto& o) { o.mode = GRADSTEP_REDUCER_DENSE; }, true},
    {"dense, weighted",
     [](auto& o) {
       o.mode = GRADSTEP_REDUCER_DENSE;
       o.average = GRADSTEP_AVERAGE_WEIGHTED;
     }},
    {"half", [](auto& o) { o.mode = GRADSTEP_REDUCER_HALF; }},
    {"half, summed in f16",
     [](auto& o) {
       o.mode = GRADSTEP_REDUCER_HALF;
       o.half_sum = GRADSTEP_HALF_SUM_FP16;
     }},
    {"bfloat16", [](auto& o) { o.mode = GRADSTEP_REDUCER_BFLOAT16; }},
    {"adasum tree", [](auto& o) { o.mode = GRADSTEP_REDUCER_ADASUM_TREE; }},
    {"adasum n-way", [](auto& o) { o.mode = GRADSTEP_REDUCER_ADASUM_NWAY; }},
    {"powersgd", [](auto& o) { o.mode = GRADSTEP_REDUCER_POWERSGD; }},
};

/// Modes of which the host sees lengths and NaNs.
const std::vector<Mode> kSeenModes = {
    {"adasum tree f64", [](auto& o) { o.mode = GRADSTEP_REDUCER_ADASUM_TREE; }, true, 2000},
    {"top-k, gathered",
     [](auto& o) {
       o.mode = GRADSTEP_REDUCER_SPARSE_TOPK;
       o.sparse_exchange = GRADSTEP_SPARSE_EXCHANGE_GATHER;
     },
     false, 1000},
    {"top-k, split",
     [](auto& o) {
       o.mode = GRADSTEP_REDUCER_SPARSE_TOPK;
       o.sparse_exchange = GRADSTEP_SPARSE_EXCHANGE_SPLIT;
     },
     false, 1000},
    {"top-k, EF21",
     [](auto& o) {
       o.mode = GRADSTEP_REDUCER_SPARSE_TOPK;
       o.error_feedback = GRADSTEP_ERROR_FEEDBACK_EF21;
     },
     false, 1000},
    {"threshold",
     [](auto& o) {
       o.mode = GRADSTEP_REDUCER_SPARSE_THRESHOLD;
       o.sparsity = 0.7;
     },
     false, 1000},
};

void expect_bits_of_staging(const Mode& mode, std::int32_t ranks, Carrier carrier = Carrier::nccl) {
  const std::vector<Outcome> staged = reduce(ranks, mode, Carrier::staging);
  const std::vector<Outcome> direct = reduce(ranks, mode, carrier);
  for (std::size_t r = 0; r < staged.size(); ++r) {
    EXPECT_EQ(direct[r].results, staged[r].results) << mode.name << ", rank " << r << " of " << ranks;
  }
  const std::int64_t most = ranks * (kTables + mode.seen_bytes);
  EXPECT_LE(direct[0].copied_bytes, most) << mode.name << ", of " << ranks;
  EXPECT_GT(staged[0].copied_bytes, most) << mode.name << ", of " << ranks;
}

TEST(CudaNccl, ReducersHaveTheBitsOfStagedOnesAndNothingPassesThroughTheHost) {
  for (const std::int32_t ranks : {2, 3, 4}) {
    for (const Mode& mode : kModes) expect_bits_of_staging(mode, ranks);
  }
}

TEST(CudaNccl, WhatTheHostMustKnowIsAllThatPassesThere) {
  for (const std::int32_t ranks : {2, 3}) {
    for (const Mode& mode : kSeenModes) expect_bits_of_staging(mode, ranks);
  }
}

TEST(CudaLentCollectives, ThatReachTheDeviceHaveTheBitsOfStagedOnesAndNothingPassesThroughTheHost) {
  for (const std::int32_t ranks : {2, 3}) {
    for (const Mode& mode : kModes) expect_bits_of_staging(mode, ranks, Carrier::lent);
  }
}

TEST(CudaNccl, BucketsThatArePushedAreQueuedInTheOrderOfTheCalls) {
  const std::vector<Outcome> staged = reduce(3, kModes[0], Carrier::staging, /*pushes=*/true);
  const std::vector<Outcome> direct = reduce(3, kModes[0], Carrier::nccl, /*pushes=*/true);
  for (std::size_t r = 0; r < staged.size(); ++r) EXPECT_EQ(direct[r].results, staged[r].results);
  EXPECT_LE(direct[0].copied_bytes, 3 * kTables);
}

// ncclAllReduce adds in an order of its own: sums of three numbers below 1 differ by a few units of 2^-24.
TEST(CudaNccl, SumsInTheEnginesOrderAreEqualOnAllRanksAndCloseToThoseInRankOrder) {
  for (const std::int32_t ranks : {2, 3, 4}) {
    const auto in_order = reduce(ranks, kModes[0], Carrier::nccl);
    const auto by_engine = reduce(ranks, kModes[0], Carrier::nccl, /*pushes=*/false, GRADSTEP_REDUCTION_ENGINE);
    EXPECT_EQ(by_engine[0].copied_bytes, 0);
    for (std::size_t r = 0; r < in_order.size(); ++r) {
      EXPECT_EQ(by_engine[r].results, by_engine[0].results);
      for (std::size_t i = 0; i < kShapes.size(); ++i) {
        for (std::size_t k = 0; k < in_order[r].results[i].size(); ++k) {
          ASSERT_NEAR(by_engine[r].results[i][k], in_order[r].results[i][k], 1e-5);
        }
      }
    }
  }
}

/// Parameters after some clipped steps of Adam whose state is shared by the ranks, of gradients times `size`: those of
/// the step, or brought by a reducer. T: float, double.
template <class T>
std::vector<std::vector<std::vector<T>>> step_sharded(std::int32_t ranks, Carrier carrier, double size = 1,
                                                      const std::optional<Mode>& reducing = std::nullopt) {
  constexpr bool kIsDouble = sizeof(T) == sizeof(double);
  std::vector<std::vector<std::vector<T>>> found(static_cast<std::size_t>(ranks));
  run_nccl_ranks(ranks, [&](NcclRank& rank) {
    const auto parameters = parameters_of(rank.device().id(), kIsDouble);
    gradstep_adam_options adam{};
    TestDevice::check(gradstep_adam_options_init(&adam, sizeof adam));
    adam.learning_rate = 0.01;
    gradstep_optimizer* optimizer = nullptr;
    TestDevice::check(gradstep_optimizer_create_adam(rank.device().context(), &adam, parameters.data(),
                                                     parameters.size(), &optimizer));
    gradstep_reducer* reducer = nullptr;
    gradstep_updater* updater = nullptr;
    if (reducing) {
      gradstep_reducer_options options{};
      TestDevice::check(gradstep_reducer_options_init(&options, sizeof options));
      options.fuse_threshold = 4000;
      reducing->choose(options);
      TestDevice::check(gradstep_reducer_create(rank.device().context(), rank.comm(carrier), &options,
                                                parameters.data(), parameters.size(), &reducer));
      TestDevice::check(gradstep_optimizer_attach_reducer(optimizer, reducer, nullptr));
      gradstep_updater_options updating{};
      TestDevice::check(gradstep_updater_options_init(&updating, sizeof updating));
      updating.max_norm = 1;
      TestDevice::check(
          gradstep_updater_create(rank.device().context(), optimizer, nullptr, reducer, &updating, &updater));
    } else {
      TestDevice::check(gradstep_optimizer_attach_comm(optimizer, rank.comm(carrier), nullptr));
    }
    std::vector<gradstep_tensor> params;
    std::vector<gradstep_tensor> grads;
    for (std::size_t i = 0; i < kShapes.size(); ++i) {
      params.push_back(rank.tensor(kShapes[i], kIsDouble));
      grads.push_back(rank.tensor(kShapes[i], kIsDouble));
      std::vector<double> values = values_of(i, rank.rank());
      for (double& value : values) value *= size;
      rank.write(params[i], as<T>(values_of(i, 77)));
      rank.write(grads[i], as<T>(values));
    }
    gradstep_step_options step{};
    TestDevice::check(gradstep_step_options_init(&step, sizeof step));
    step.max_norm = 1;
    for (int window = 0; window < kWindows; ++window) {
      if (updater != nullptr) {
        for (std::size_t i = grads.size(); i-- > 0;) {
          TestDevice::check(gradstep_reducer_push(reducer, i, &grads[i], rank.stream()));
        }
        TestDevice::check(gradstep_updater_flush(updater, params.data(), params.size(), rank.stream(), nullptr));
        continue;
      }
      TestDevice::check(gradstep_optimizer_step_ex(optimizer, params.data(), grads.data(), nullptr, params.size(),
                                                   &step, rank.stream()));
    }
    for (const gradstep_tensor& param : params) {
      found[static_cast<std::size_t>(rank.rank())].push_back(rank.read<T>(param));
    }
    gradstep_updater_destroy(updater);
    gradstep_reducer_destroy(reducer);
    gradstep_optimizer_destroy(optimizer);
  });
  return found;
}

// Rank 2, the default: a vector takes a launch that measures it, and the second two that take its projections away.
TEST(CudaNccl, LaunchesOfPowerSgdDoNotDependOnHowManyMatricesABucketHas) {
  run_nccl_ranks(2, [](NcclRank& rank) {
    const std::vector<std::int64_t> shapes[] = {{30, 40}, {2050, 9}, {7}, {12, 90}, {9, 1100}, {64, 64}};
    std::vector<gradstep_parameter> parameters;
    std::vector<gradstep_tensor> grads;
    for (const auto& shape : shapes) {
      gradstep_parameter parameter{};
      parameter.struct_size = sizeof parameter;
      parameter.shape = shape.data();
      parameter.ndim = static_cast<std::int32_t>(shape.size());
      parameter.dtype = {GRADSTEP_TYPE_FLOAT, 32, 1};
      parameter.device = rank.device().id();
      parameters.push_back(parameter);
      grads.push_back(rank.tensor(shape));
    }
    gradstep_reducer_options options{};
    TestDevice::check(gradstep_reducer_options_init(&options, sizeof options));
    options.mode = GRADSTEP_REDUCER_POWERSGD;
    gradstep_reducer* reducer = nullptr;
    TestDevice::check(gradstep_reducer_create(rank.device().context(), rank.comm(Carrier::nccl), &options,
                                              parameters.data(), parameters.size(), &reducer));
    rank.device().queue(rank.stream()).finish();
    rank.meet();
    if (rank.rank() == 0) EmulatedCuda::launches();  // forgets those before
    rank.meet();
    TestDevice::check(gradstep_reducer_reduce(reducer, grads.data(), nullptr, grads.size(), 1, rank.stream()));
    rank.device().queue(rank.stream()).finish();
    rank.meet();
    if (rank.rank() == 0) {
      const std::vector<std::string> names = EmulatedCuda::launches();
      const std::pair<const char*, int> expected[] = {
          {"project_rows", 1},       {"project_columns", 1}, {"add_bands", 2},   {"measure_vectors", 3},
          {"remove_projections", 2}, {"expand", 1},          {"keep_factors", 1}};
      for (const auto& [kernel, launches] : expected) {
        EXPECT_EQ(std::ranges::count(names, kernel), launches * rank.ranks()) << kernel;
      }
    }
    rank.meet();
    gradstep_reducer_destroy(reducer);
  });
}

// Nor do the threads that look after exchanges, and end connections.
TEST(CudaNccl, RanksOfOneDeviceMakeNoContextOnAnother) {
  connections_left();  // of other tests
  run_nccl_ranks(
      2,
      [](NcclRank& rank) {
        gradstep_comm* comm = rank.comm(Carrier::nccl);
        rank.meet();
        EmulatedCuda::control().used_devices();
        rank.meet();
        const std::vector<gradstep_parameter> parameters = parameters_of(rank.device().id(), false);
        gradstep_reducer* reducer = nullptr;
        TestDevice::check(gradstep_reducer_create(rank.device().context(), comm, nullptr, parameters.data(),
                                                  parameters.size(), &reducer));
        for (std::size_t i = 0; i < kShapes.size(); ++i) {
          const gradstep_tensor grad = rank.tensor(kShapes[i]);
          TestDevice::check(gradstep_reducer_push(reducer, i, &grad, rank.stream()));
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(60));  // rounds of the watch
        TestDevice::check(gradstep_reducer_wait(reducer, nullptr, 0, rank.stream()));
        gradstep_reducer_destroy(reducer);
        rank.meet();
        EXPECT_EQ(EmulatedCuda::control().used_devices() & 1U, 0);
        rank.meet();
      },
      /*timeout_ms=*/20000, GRADSTEP_REDUCTION_RANK, /*devices=*/1);
}

TEST(CudaNccl, AShardedStepHasTheBitsOfAStagedOne) {
  for (const std::int32_t ranks : {2, 3, 4}) {
    const auto staged = step_sharded<float>(ranks, Carrier::staging);
    EXPECT_EQ(step_sharded<float>(ranks, Carrier::nccl), staged) << ranks << " ranks";
    EXPECT_EQ(staged.back(), staged.front());
  }
}

TEST(CudaNccl, AReducerBringsEachRankItsShare) {
  for (const std::int32_t ranks : {2, 3}) {
    for (const Carrier carrier : {Carrier::staging, Carrier::nccl}) {
      EXPECT_EQ(step_sharded<float>(ranks, carrier, 1, kModes[0]), step_sharded<float>(ranks, carrier)) << "dense";
    }
    for (const Mode& mode : kModes) {
      const auto staged = step_sharded<float>(ranks, Carrier::staging, 1, mode);
      EXPECT_EQ(step_sharded<float>(ranks, Carrier::nccl, 1, mode), staged);
      EXPECT_EQ(staged.back(), staged.front());
    }
  }
}

/// Clipped gradients are the same whatever their size, but for rounding.
TEST(CudaNccl, AShardedStepClipsDoublesUpToTheEndsOfTheirRange) {
  const auto usual = step_sharded<double>(2, Carrier::nccl, 0x1p300);
  for (const double size : {0x1p600, 0x1p1000}) {
    for (const Carrier carrier : {Carrier::staging, Carrier::nccl}) {
      const auto found = step_sharded<double>(2, carrier, size);
      EXPECT_EQ(found[1], found[0]);
      for (std::size_t i = 0; i < kShapes.size(); ++i) {
        for (std::size_t k = 0; k < found[0][i].size(); ++k) ASSERT_NEAR(found[0][i][k], usual[0][i][k], 1e-12);
      }
    }
  }
}

}  // namespace
}  // namespace gradstep::test
