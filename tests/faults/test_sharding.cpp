// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Sharded trainings that save now and then, of which a rank is killed at whatever moment: the survivors attach their
// new communicator, load the newest file, and go on with the bits of a rank that was always alone.
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <map>
#include <ostream>
#include <string>
#include <tuple>
#include <vector>

#include "tests/faults/processes.h"

namespace gradstep::test {
namespace {

constexpr int kRanks = 4;
constexpr std::int64_t kStepsPerFile = 3;
constexpr std::int64_t kStepsAfter = 4;
constexpr std::int64_t kTimeoutMs = 20000;

struct Mode {
  const char* name;
  bool is_shampoo = false;
  std::int32_t gradients = GRADSTEP_SHARDED_GRADIENTS_LOCAL;
  std::int32_t average = GRADSTEP_AVERAGE_MEAN;
  std::int32_t preconditioners = GRADSTEP_SHARDED_PRECONDITIONERS_REPLICATED;
};

constexpr Mode kModes[] = {
    {"chunks_mean"},
    {"chunks_sum", false, GRADSTEP_SHARDED_GRADIENTS_LOCAL, GRADSTEP_AVERAGE_SUM},
    {"chunks_reduced", false, GRADSTEP_SHARDED_GRADIENTS_REDUCED},
    {"roots_mean", true},
    {"blocks_sum", true, GRADSTEP_SHARDED_GRADIENTS_LOCAL, GRADSTEP_AVERAGE_SUM,
     GRADSTEP_SHARDED_PRECONDITIONERS_OWNED},
    {"blocks_reduced", true, GRADSTEP_SHARDED_GRADIENTS_REDUCED, GRADSTEP_AVERAGE_MEAN,
     GRADSTEP_SHARDED_PRECONDITIONERS_OWNED},
};

/// Its name, in what GoogleTest prints of a test's parameters.
std::ostream& operator<<(std::ostream& stream, const Mode& mode) { return stream << mode.name; }

/// One rank's model and optimizer.
class ShardedTraining {
 public:
  ShardedTraining(const Mode& mode, const std::string& directory) : mode_(mode), directory_(directory) {
    gradstep_context_options options{};
    gradstep_context_options_init(&options, sizeof options);
    options.num_threads = 1;
    gradstep_context_create(&options, &context_);
    for (std::size_t i = 0; i < kShapes.size(); ++i) {
      gradstep_parameter& parameter = schema_[i];
      parameter.struct_size = sizeof parameter;
      parameter.shape = kShapes[i].data();
      parameter.ndim = static_cast<std::int32_t>(kShapes[i].size());
      parameter.dtype = {GRADSTEP_TYPE_FLOAT, 32, 1};
      parameter.device = {GRADSTEP_DEVICE_CPU, 0};
      std::size_t size = 1;
      for (const std::int64_t extent : kShapes[i]) size *= static_cast<std::size_t>(extent);
      parameters_.emplace_back(size, 1.0F);
      gradients_.emplace_back(size);
    }
    if (mode.is_shampoo) {
      gradstep_shampoo_options rule{};
      gradstep_shampoo_options_init(&rule, sizeof rule);
      rule.learning_rate = 0.01;
      rule.block_size = 16;
      rule.start_preconditioning_step = 2;
      rule.preconditioning_compute_steps = 3;
      rule.root_lag = 2;
      gradstep_optimizer_create_shampoo(context_, &rule, schema_.data(), schema_.size(), &optimizer_);
    } else {
      gradstep_adam_options rule{};
      gradstep_adam_options_init(&rule, sizeof rule);
      rule.learning_rate = 0.01;
      gradstep_optimizer_create_adam(context_, &rule, schema_.data(), schema_.size(), &optimizer_);
    }
  }
  ~ShardedTraining() {
    gradstep_optimizer_destroy(optimizer_);
    gradstep_context_destroy(context_);
  }
  ShardedTraining(const ShardedTraining&) = delete;
  ShardedTraining& operator=(const ShardedTraining&) = delete;

  gradstep_context* context() const { return context_; }
  std::int64_t steps() const {
    std::int64_t count = 0;
    gradstep_optimizer_step_count(optimizer_, &count);
    return count;
  }

  gradstep_status attach(gradstep_comm* comm, int rank) {
    rank_ = rank;
    gradstep_sharding_options options{};
    gradstep_sharding_options_init(&options, sizeof options);
    options.gradients = mode_.gradients;
    options.average = mode_.average;
    options.preconditioners = mode_.preconditioners;
    return gradstep_optimizer_attach_comm(optimizer_, comm, &options);
  }

  /// Collective, if ranks share the state.
  gradstep_status step() {
    // Whole numbers, whose sums and means are exact, and in every mode the same for any number of ranks.
    const bool is_silent = mode_.average == GRADSTEP_AVERAGE_SUM && rank_ != 0;
    std::vector<gradstep_tensor> p;
    std::vector<gradstep_tensor> g;
    for (std::size_t i = 0; i < kShapes.size(); ++i) {
      for (std::size_t k = 0; k < gradients_[i].size(); ++k) {
        const auto number = static_cast<float>((k * 7 + static_cast<std::size_t>(steps()) * 5 + i) % 9) - 4;
        gradients_[i][k] = is_silent ? 0 : number;
      }
      gradstep_tensor tensor{};
      tensor.device = schema_[i].device;
      tensor.ndim = schema_[i].ndim;
      tensor.dtype = schema_[i].dtype;
      tensor.shape = kShapes[i].data();
      tensor.data = parameters_[i].data();
      p.push_back(tensor);
      tensor.data = gradients_[i].data();
      g.push_back(tensor);
    }
    return gradstep_optimizer_step(optimizer_, p.data(), g.data(), p.size(), nullptr);
  }

  /// Collective. Rank 0 writes; every rank keeps the parameters of that step.
  gradstep_status save() {
    saved_[steps()] = parameters_;
    const std::string path = file(steps());
    return gradstep_optimizer_save_file(optimizer_, rank_ == 0 ? path.c_str() : nullptr);
  }
  /// Collective. The newest file.
  gradstep_status load() {
    auto newest = saved_.rbegin();
    while (newest != saved_.rend() && ::access(file(newest->first).c_str(), R_OK) != 0) ++newest;
    if (newest == saved_.rend()) return GRADSTEP_ERR_IO;
    parameters_ = newest->second;
    return gradstep_optimizer_load_file(optimizer_, file(newest->first).c_str(), nullptr);
  }

  double fingerprint() const {
    std::uint64_t hash = 14695981039346656037U;  // FNV-1a
    for (const std::vector<float>& values : parameters_) {
      const auto* bytes = reinterpret_cast<const unsigned char*>(values.data());
      for (std::size_t k = 0; k < values.size() * sizeof(float); ++k) hash = (hash ^ bytes[k]) * 1099511628211U;
    }
    return static_cast<double>(hash >> 12U);
  }

 private:
  static inline std::vector<std::vector<std::int64_t>> kShapes = {{60, 40}, {77}};

  std::string file(std::int64_t step) const { return directory_ + "/state." + std::to_string(step); }

  const Mode& mode_;
  std::string directory_;
  int rank_ = 0;
  gradstep_context* context_ = nullptr;
  gradstep_optimizer* optimizer_ = nullptr;
  std::array<gradstep_parameter, 2> schema_{};
  std::vector<std::vector<float>> parameters_;
  std::vector<std::vector<float>> gradients_;
  std::map<std::int64_t, std::vector<std::vector<float>>> saved_;
};

/// Steps and saves until one of them fails, or `last` is reached.
gradstep_status train(ShardedTraining& training, std::int64_t last, int announced_after) {
  gradstep_status status = GRADSTEP_OK;
  while (status == GRADSTEP_OK && training.steps() < last) {
    status = training.step();
    if (status == GRADSTEP_OK && training.steps() % kStepsPerFile == 0) status = training.save();
    if (announced_after > 0 && --announced_after == 0) announce();
  }
  return status;
}

class ShardingFaults : public testing::TestWithParam<std::tuple<std::string, Mode>> {};

/// GRADSTEP_KILL_CYCLES are as many as a longer run wants.
int cycles() {
  const char* wanted = std::getenv("GRADSTEP_KILL_CYCLES");
  return wanted != nullptr ? std::atoi(wanted) : 2;
}

TEST_P(ShardingFaults, AKilledPeerLeavesRanksThatAttachAndLoad) {
  const auto& [engine, mode] = GetParam();
  for (int cycle = 0; cycle < cycles(); ++cycle) {
    const TemporaryDirectory directory;
    const int killed = (cycle + 1) % kRanks;
    Processes ranks(kRanks, [&, &engine = engine, &mode = mode](int rank, Report& report) {
      const Stopwatch watch;
      ShardedTraining training(mode, directory.path());
      gradstep_comm* comm = nullptr;
      auto options = rank_options(engine, rank, kRanks, kTimeoutMs, directory.path());
      gradstep_status status = gradstep_comm_create(training.context(), &options, &comm);
      if (status == GRADSTEP_OK) status = training.attach(comm, rank);
      if (status == GRADSTEP_OK) status = training.save();
      if (status != GRADSTEP_OK) return put(report, status, watch);
      report.numbers[0] = train(training, std::int64_t{1} << 40, /*announced_after=*/4);
      const int place = rank < killed ? rank : rank - 1;
      gradstep_comm* next = nullptr;
      options = rank_options(engine, place, kRanks - 1, kTimeoutMs, directory.path());
      options.generation = 1;
      status = gradstep_comm_create(training.context(), &options, &next);
      if (status == GRADSTEP_OK) status = training.attach(next, place);
      if (status == GRADSTEP_OK) status = training.load();
      if (status == GRADSTEP_OK) status = train(training, training.steps() + kStepsAfter, 0);
      put(report, status, watch);
      report.numbers[1] = static_cast<double>(training.steps());
      report.numbers[2] = training.fingerprint();
      gradstep_comm_destroy(comm);
      gradstep_comm_destroy(next);
    });
    ranks.await_announcement(killed);
    ::usleep(static_cast<useconds_t>(cycle * 7919 % 20000));
    ranks.signal(killed, SIGKILL);
    double expected = 0;
    for (int rank = 0; rank < kRanks; ++rank) {
      if (rank == killed) continue;
      const Report report = ranks.report(rank);
      ASSERT_EQ(report.reported, 1) << "rank " << rank << " died";
      ASSERT_EQ(report.status, GRADSTEP_OK) << "rank " << rank << ": " << report.text.data();
      EXPECT_NE(report.numbers[0], GRADSTEP_OK) << "it has trained to the end of time";
      if (expected == 0) {
        ShardedTraining alone(mode, directory.path());
        ASSERT_EQ(train(alone, static_cast<std::int64_t>(report.numbers[1]), 0), GRADSTEP_OK);
        expected = alone.fingerprint();
      }
      EXPECT_EQ(report.numbers[2], expected) << "rank " << rank << " after " << report.numbers[1] << " steps";
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Sharding, ShardingFaults,
                         testing::Combine(testing::ValuesIn(process_engines()), testing::ValuesIn(kModes)),
                         [](const auto& test) { return std::get<0>(test.param) + "_" + std::get<1>(test.param).name; });

}  // namespace
}  // namespace gradstep::test
