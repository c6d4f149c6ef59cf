// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Whichever call of a sharded training fails, on whichever rank, in a step, a save, an attach or a load: the ranks
// that are left attach anew, load the newest file, set the parameters saved with it, and end with the bits of a run on
// one rank that never failed.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <map>
#include <memory>

#include "comm/all_or_none.h"
#include "optim/first_order/typed_options.h"
#include "unit/optim/shampoo/shampoo_fixture.h"
#include "unit/updater/simulated_world.h"

namespace gradstep::test {
namespace {

constexpr std::int64_t kSteps = 4;
constexpr std::int64_t kStepsPerFile = 2;
constexpr int kMostAttempts = 12;
constexpr int kMostComplaints = 5;
constexpr std::int64_t kNoMoreCalls = 400;
/// Sanitizers take a part of the calls.
#if defined(GRADSTEP_SANITIZED)
constexpr std::int64_t kStride = 17;
#else
constexpr std::int64_t kStride = 1;
#endif
constexpr Fault::Moment kMoments[] = {Fault::Moment::before, Fault::Moment::after, Fault::Moment::for_others};

struct Mode {
  std::string name;
  std::vector<std::vector<std::int64_t>> shapes;
  std::function<std::unique_ptr<Optimizer>()> make;
  gradstep_sharding_options sharding{};
  bool is_weighted = false;
  bool clips = false;
};

/// Several chunks, of which the last ranks of four get one each.
const std::vector<std::vector<std::int64_t>> kChunks = {{kChunk + 3}, {5}, {4, 3}};
/// One chunk for four ranks.
const std::vector<std::vector<std::int64_t>> kOneChunk = {{8, 3}};
const std::vector<std::vector<std::int64_t>> kBlocks = {{6, 4}, {5}};

template <class Options>
Mode first_order(const char* name, const std::vector<std::vector<std::int64_t>>& shapes, const Options& options) {
  return {.name = name, .shapes = shapes, .make = [options, &shapes]() -> std::unique_ptr<Optimizer> {
            return std::make_unique<FirstOrderOptimizer>(make_context(), make_rule(options), make_schema(shapes));
          }};
}

Mode blocks(const char* name, std::int32_t preconditioners, std::int32_t lag) {
  auto options = shampoo_options();
  options.root_lag = lag;
  Mode mode{.name = name, .shapes = kBlocks, .make = [options]() -> std::unique_ptr<Optimizer> {
              return make_shampoo(options, 1, kBlocks);
            }};
  mode.sharding.preconditioners = preconditioners;
  return mode;
}

std::vector<Mode> modes() {
  auto sgd = default_options<gradstep_sgd_options>();
  sgd.learning_rate = 0.25;
  sgd.momentum = 0.5;
  sgd.dampening = 0.5;
  sgd.first_step = GRADSTEP_SGD_FIRST_STEP_COPY;
  auto adam = default_options<gradstep_adam_options>();
  adam.learning_rate = 0.25;
  auto coded = adam;
  coded.state_dtype = GRADSTEP_STATE_DTYPE_INT8;
  std::vector<Mode> all = {
      first_order("sgd, mean", kOneChunk, sgd),
      first_order("adam, sum", kOneChunk, adam),
      first_order("adam, weighted, clipped", kOneChunk, adam),
      first_order("adam int8, reduced", kChunks, coded),
      blocks("shampoo, replicated, mean", GRADSTEP_SHARDED_PRECONDITIONERS_REPLICATED, 0),
      blocks("shampoo, replicated, lag, reduced", GRADSTEP_SHARDED_PRECONDITIONERS_REPLICATED, 2),
      blocks("shampoo, owned, sum", GRADSTEP_SHARDED_PRECONDITIONERS_OWNED, 0),
      blocks("shampoo, owned, lag, weighted", GRADSTEP_SHARDED_PRECONDITIONERS_OWNED, 2),
  };
  all[1].sharding.average = all[6].sharding.average = GRADSTEP_AVERAGE_SUM;
  all[3].sharding.gradients = all[5].sharding.gradients = GRADSTEP_SHARDED_GRADIENTS_REDUCED;
  all[2].is_weighted = all[7].is_weighted = true;
  all[2].clips = true;
  return all;
}

/// What has been saved so far, the newest last.
struct Saved {
  std::string file;
  std::vector<std::vector<float>> params;
};
using Disk = std::vector<Saved>;

/// One rank's host.
class ShardedHost {
 public:
  explicit ShardedHost(const Mode& mode) : mode_(mode), optimizer_(mode.make()) {
    for (const auto& shape : mode.shapes) {
      params_.emplace_back(shape, 1.0F);
      grads_.emplace_back(shape);
    }
  }

  void attach(const std::shared_ptr<Communicator>& comm) {
    comm_ = comm;
    optimizer_->attach(comm.get(), mode_.sharding);
  }
  std::int64_t steps() const { return optimizer_->step_count(); }

  void step() {
    fill_gradients();
    std::vector<gradstep_tensor> p;
    std::vector<gradstep_tensor> g;
    for (auto& param : params_) p.push_back(param.tensor());
    for (auto& grad : grads_) g.push_back(grad.tensor());
    StepGuards guards;
    guards.max_norm = mode_.clips ? 3 : 0;
    const StepBuffers& buffers = binding_.bind(optimizer_->schema(), p.data(), g.data(), nullptr, p.size());
    if (!optimizer_->is_sharded()) {
      optimizer_->step(buffers, guards);
      return;
    }
    GradientExchange exchange = optimizer_->sharding()->default_exchange();
    if (mode_.is_weighted) {
      exchange.average = GRADSTEP_AVERAGE_WEIGHTED;
      exchange.weight = 1 + comm_->rank();
    }
    optimizer_->step_sharded(buffers, guards, exchange);
  }

  void save(Disk& disk) {
    optimizer_->check_state_is_whole();
    std::map<std::string, SavedPart> parts;
    std::unique_ptr<StateWriter> writer;
    all_or_none(peers(), "save", [&] {
      parts[""] = save_optimizer(*optimizer_);
      writer = std::make_unique<StateWriter>("optimizer", parts);
    });
    Memory memory;
    const bool writes = peers() == nullptr || peers()->rank() == 0;
    all_or_none(peers(), "write", [&] {
      writer->write(writes ? &memory : nullptr);
      if (writes) disk.push_back({memory.bytes, params()});
    });
  }

  void load(const Saved& saved) {
    std::function<void()> take_over;
    std::unique_ptr<StateFile> file;
    all_or_none(peers(), "read or take what was saved", [&] {
      Memory memory(saved.file);
      file = std::make_unique<StateFile>(memory, false, own_parts(*optimizer_, ""));
      LoadedPart part(*file, "");
      take_over = load_optimizer(part, *optimizer_);
    });
    take_over();
    for (std::size_t i = 0; i < params_.size(); ++i) params_[i].values = saved.params[i];
  }

  std::vector<std::vector<float>> params() const {
    std::vector<std::vector<float>> values;
    for (const auto& param : params_) values.push_back(param.values);
    return values;
  }

 private:
  Communicator* peers() const { return optimizer_->is_sharded() ? &optimizer_->sharding()->comm() : nullptr; }

  /// Whole numbers, whose sums and means are exact, and in every mode the same for any number of ranks.
  void fill_gradients() {
    const bool is_silent = mode_.sharding.average == GRADSTEP_AVERAGE_SUM && comm_ && comm_->rank() != 0;
    for (std::size_t i = 0; i < grads_.size(); ++i) {
      auto& values = grads_[i].values;
      for (std::size_t k = 0; k < values.size(); ++k) {
        const auto number = static_cast<float>((k * 7 + static_cast<std::size_t>(steps()) * 5 + i) % 9) - 4;
        values[k] = is_silent ? 0 : number;
      }
    }
  }

  const Mode& mode_;
  std::unique_ptr<Optimizer> optimizer_;
  std::shared_ptr<Communicator> comm_;
  std::vector<TestTensor<float>> params_;
  std::vector<TestTensor<float>> grads_;
  StepBinding binding_;
};

void train(ShardedHost& host, Disk& disk) {
  while (host.steps() < kSteps) {
    host.step();
    if (host.steps() % kStepsPerFile == 0) host.save(disk);
  }
}

/// On one rank: a file of the beginning, and those of a training.
Disk train_without_faults(const Mode& mode) {
  ShardedHost host(mode);
  Disk disk;
  host.save(disk);
  train(host, disk);
  return disk;
}

struct Outcome {
  std::size_t struck = 0;
  std::string complaint;
};

Outcome train_with_faults(const Mode& mode, const Disk& expected, std::int32_t ranks, const std::vector<Fault>& faults,
                          std::uint32_t seed) {
  SimulatedWorld world(ranks, seed, /*pairs=*/seed % 2 == 0, faults);
  Outcome outcome;
  Disk disk = {expected.front()};
  world.turns().run([&](std::int32_t rank) {
    ShardedHost host(mode);
    const auto context = make_context();
    bool recovers = false;
    const auto go_on = [&] {
      const auto comm = world.connect(rank, context);
      if (!recovers) world.arm(rank);
      const bool loads = std::exchange(recovers, true);
      host.attach(comm);
      if (loads) host.load(disk.back());
      train(host, disk);
      return !world.finish(rank);
    };
    std::string last;
    for (int attempt = 0; attempt < kMostAttempts; ++attempt) {
      try {
        if (!go_on()) continue;
        if (host.params() != expected.back().params) outcome.complaint += fmt::format("rank {}: other bits; ", rank);
        return;
      } catch (const Error& error) {
        if (!world.lives(rank)) return;
        last = error.what();
      }
    }
    outcome.complaint += fmt::format("rank {} cannot go on: {}; ", rank, last);
    world.leave(rank);
  });
  if (world.turns().stuck()) outcome.complaint += "all ranks wait for each other; ";
  if (disk.back().file != expected.back().file) outcome.complaint += "another file; ";
  outcome.struck = world.struck();
  return outcome;
}

/// Runs cases, and says which of them break the promise.
class Simulation {
 public:
  explicit Simulation(const Mode& mode) : mode_(mode), expected_(train_without_faults(mode)) {}
  ~Simulation() { std::printf("[   CASES  ] %lld: %s\n", static_cast<long long>(cases_), mode_.name.c_str()); }

  /// False if not all of the faults have struck.
  bool run(std::int32_t ranks, const std::vector<Fault>& faults) {
    std::uint32_t seed = 17;
    std::string text;
    for (const Fault& f : faults) {
      seed = seed * 1000003U + static_cast<std::uint32_t>(f.call * 16 + f.rank * 4 + static_cast<int>(f.moment));
      text += fmt::format("; rank {} {} in call {}{}, moment {}", f.rank, f.dies ? "dies" : "fails", f.call,
                          f.in_recovery ? " of recovery" : "", static_cast<int>(f.moment));
    }
    const Outcome outcome = train_with_faults(mode_, expected_, ranks, faults, seed);
    if (outcome.struck < faults.size()) return false;
    ++cases_;
    if (!outcome.complaint.empty() && ++complaints_ <= kMostComplaints) {
      ADD_FAILURE() << mode_.name << ", " << ranks << " ranks" << text << ": " << outcome.complaint;
    }
    return complaints_ <= kMostComplaints;
  }

 private:
  const Mode& mode_;
  Disk expected_;
  std::int64_t cases_ = 0;
  int complaints_ = 0;
};

/// Every call of every rank in turn, each in one of the variants: the moment, and whether the rank dies.
TEST(ShardedSimulation, AnyCallMayFail) {
  for (const Mode& mode : modes()) {
    Simulation simulation(mode);
    for (std::int32_t ranks = 2; ranks <= 4; ++ranks) {
      Fault fault;
      for (fault.rank = 0; fault.rank < ranks; ++fault.rank) {
        for (fault.call = fault.rank % kStride; fault.call < kNoMoreCalls; fault.call += kStride) {
          const std::int64_t variant = fault.call + fault.rank + ranks;
          fault.moment = kMoments[variant % 3];
          fault.dies = variant % 2 == 0;
          if (!simulation.run(ranks, {fault})) break;
        }
        ASSERT_LT(fault.call, kNoMoreCalls);
      }
    }
  }
}

/// A rank fails in the middle of training, and any call of any rank fails after that.
TEST(ShardedSimulation, AnyCallOfARecoveryMayFail) {
  for (const Mode& mode : modes()) {
    Simulation simulation(mode);
    const Fault first{.rank = 2, .call = 9, .moment = Fault::Moment::after};
    Fault second{.in_recovery = true};
    for (second.rank = 0; second.rank < 3; ++second.rank) {
      for (second.call = second.rank % kStride; second.call < kNoMoreCalls; second.call += kStride) {
        second.moment = kMoments[(second.call + second.rank) % 3];
        second.dies = second.call % 2 == 0;
        if (!simulation.run(3, {first, second})) break;
      }
      ASSERT_LT(second.call, kNoMoreCalls);
    }
  }
}

}  // namespace
}  // namespace gradstep::test
