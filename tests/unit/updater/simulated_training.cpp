// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "unit/updater/simulated_training.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <memory>

#include "optim/first_order/typed_options.h"

namespace gradstep::test {

namespace {

constexpr int kMostAttempts = 20;
const std::vector<std::vector<std::int64_t>> kShapes = {{6, 4}, {5}};

/// Whole numbers between -8 and 8: their sums are exact, in whatever order a mode takes them.
float gradient(std::int32_t rank, std::int64_t window, std::int64_t micro_batch, std::size_t place) {
  std::uint64_t mixed = static_cast<std::uint64_t>(((rank * 31 + window) * 17 + micro_batch) * 101) + place;
  mixed = (mixed + 1) * 0x9E3779B97F4A7C15U;
  mixed ^= mixed >> 29U;
  return static_cast<float>((mixed * 0xBF58476D1CE4E5B9U >> 40U) % 17U) - 8.0F;
}

/// Where a rank stood when it asked for a recovery, as its host saw it.
struct Position {
  std::int64_t windows = 0;
  std::int64_t steps = 0;
  std::int64_t pushes = 0;
  bool is_stepped = false;
};

/// What docs/failure.md says about ranks that stand like this.
struct Verdict {
  std::int32_t root = 0;
  bool together = true;
  bool keeps_windows = true;
};

Verdict judge(const std::map<std::int32_t, Position>& positions, const std::vector<std::int32_t>& members,
              bool in_rounds) {
  Verdict verdict;
  verdict.root = members[0];
  const Position& first = positions.at(members[0]);
  bool same_start = true;
  bool any_stepped = false;
  bool same_push = true;
  for (const std::int32_t rank : members) {
    const Position& own = positions.at(rank);
    const Position& root = positions.at(verdict.root);
    if (std::pair(own.steps, own.windows) > std::pair(root.steps, root.windows)) verdict.root = rank;
    // Inside a round each rank skips steps by itself.
    const bool same_steps =
        in_rounds || own.steps - (own.is_stepped ? 1 : 0) == first.steps - (first.is_stepped ? 1 : 0);
    same_start = same_start && own.windows == first.windows && same_steps;
    same_push = same_push && own.pushes == first.pushes;
    any_stepped = any_stepped || own.is_stepped;
  }
  verdict.keeps_windows = same_start && same_push;
  verdict.together = same_start && (same_push || !any_stepped);
  return verdict;
}

/// Every recovery adds up the estimates of all ranks anew, which rounds otherwise than adding what each window sends.
bool sums_anew(const SimulatedSetup& setup) { return setup.reduction.error_feedback == GRADSTEP_ERROR_FEEDBACK_EF21; }

/// One rank's host.
class Trainee {
 public:
  Trainee(const SimulatedSetup& setup, std::int32_t rank) : setup_(setup), rank_(rank) {
    const Schema schema = make_schema(kShapes);
    auto adam = default_options<gradstep_adam_options>();
    adam.learning_rate = 0.25;
    optimizer_ = std::make_shared<FirstOrderOptimizer>(context_, make_rule(adam), schema);
    if (setup.has_outer) {
      auto sgd = default_options<gradstep_sgd_options>();
      sgd.learning_rate = 0.5;
      sgd.momentum = 0.5;
      outer_ = std::make_shared<FirstOrderOptimizer>(context_, make_rule(sgd), schema);
    }
    if (setup.accumulates) {
      auto options = default_accumulator_options();
      options.steps = kSimulatedMicroBatches;
      accumulator_ = std::make_shared<Accumulator>(context_, options, std::nullopt, schema);
    }
    for (const auto& shape : kShapes) {
      params_.emplace_back(shape, 1.0F);
      grads_.emplace_back(shape);
      deltas_.emplace_back(shape);
    }
  }

  std::shared_ptr<Communicator> connect(SimulatedWorld& world) const {
    auto comm = world.connect(rank_, context_);
    if (!setup_.by_hosts) return comm;
    std::vector<std::uint64_t> hosts;
    for (const std::int32_t member : world.members()) hosts.push_back(static_cast<std::uint64_t>(member / 2));
    comm->group_by_hosts(std::move(hosts), comm->deadline());
    return comm;
  }
  void begin(SimulatedWorld& world) {
    comm_ = connect(world);
    reducer_ = std::make_shared<Reducer>(context_, *comm_, setup_.reduction, make_schema(kShapes));
    make_updater();
    world.arm(rank_);
  }
  void make_updater() {
    updater_ = std::make_unique<Updater>(context_, optimizer_, accumulator_, reducer_, setup_.chain, outer_);
    closed_before_ = windows();
  }

  /// The number of the window whose gradients come next.
  std::int64_t next_window() const { return optimizer_->step_count() + optimizer_->skipped_steps(); }
  /// How many windows are behind this rank.
  std::int64_t windows() const { return closed_before_ + closed(); }
  Position position() const {
    const bool is_open = accumulator_ && !accumulator_->ready();
    const bool waits = accumulator_ && accumulator_->ready() && failed_;
    Position own;
    own.windows = windows();
    own.steps = optimizer_->step_count();
    own.pushes = is_open || waits ? accumulator_->pushes() : 0;
    own.is_stepped = next_window() > at_boundary_;
    return own;
  }

  void push_next() {
    failed_ = true;
    failed_window_ = next_window();
    fill(failed_window_, accumulator_ && !accumulator_->ready() ? accumulator_->pushes() : 0);
    const auto params = tensors(params_);
    const auto grads = tensors(grads_);
    const double weight = setup_.reduction.average == GRADSTEP_AVERAGE_WEIGHTED ? 1 + rank_ : 1;
    host::push(*updater_, params.data(), grads.data(), params.size(), weight);
    note();
  }

  void recover(SimulatedWorld& world, std::map<std::int32_t, Position>& positions, SimulatedRun& run,
               std::int64_t& last_generation) {
    positions[rank_] = position();
    const std::shared_ptr<Communicator> comm = connect(world);
    const Verdict verdict = judge(positions, world.members(), setup_.has_outer);
    const Position own = positions.at(rank_);
    const Position root = positions.at(verdict.root);
    const auto dropped = updater_->stats().dropped_windows;
    const auto params = tensors(params_);
    host::recover(*updater_, comm.get(), params.data(), params.size());
    comm_ = comm;
    if (last_generation < world.generation()) {
      last_generation = world.generation();
      intervene(verdict, root, world.members(), run);
    }
    if (!verdict.together) {
      closed_before_ += root.windows - own.windows;
      at_boundary_ = next_window();
    }
    const bool in_place = setup_.has_outer || setup_.chain.sync == GRADSTEP_SYNC_PARAMETERS ||
                          setup_.chain.sync == GRADSTEP_SYNC_PARAMETERS_PARTIAL;
    const bool stays = verdict.root == rank_ && own.is_stepped && in_place;
    const bool drops = !verdict.keeps_windows && (own.pushes > 0 || own.is_stepped) && own.windows == root.windows;
    if (updater_->stats().dropped_windows - dropped != (drops && !stays ? 1 : 0)) {
      run.complaint += fmt::format("rank {} counts {} dropped windows; ", rank_, updater_->stats().dropped_windows);
    }
    flush(run);
  }

  /// Makes this rank's local step of the next window, without a message.
  void step_alone() {
    const auto params = tensors(params_);
    const auto deltas = tensors(deltas_);
    std::vector<gradstep_tensor> grads = tensors(grads_);
    if (accumulator_) {
      for (std::int64_t k = 0; k < kSimulatedMicroBatches; ++k) {
        fill(next_window(), k);
        host::add(*accumulator_, grads.data(), grads.size(), 1);
      }
      host::read_gradients(*accumulator_, grads);
    } else {
      fill(next_window(), 0);
    }
    const bool is_delta = setup_.chain.sync == GRADSTEP_SYNC_DELTAS && !setup_.has_outer;
    host::step(*optimizer_, params.data(), grads.data(), is_delta ? deltas.data() : nullptr, grads.size());
    if (accumulator_) accumulator_->reset();
  }
  void become(Trainee& other) {
    for (std::size_t i = 0; i < params_.size(); ++i) params_[i].values = other.params_[i].values;
    optimizer_->copy_state(*other.optimizer_);
  }
  void go_on_over(const std::shared_ptr<Communicator>& comm) {
    const auto params = tensors(params_);
    host::recover(*updater_, comm.get(), params.data(), params.size());
    comm_ = comm;
  }

  std::string end() {
    std::string bytes = fmt::format("{} {} ", optimizer_->step_count(), optimizer_->skipped_steps());
    if (outer_) bytes += fmt::format("{} {} ", outer_->step_count(), outer_->skipped_steps());
    for (const auto& param : params_) {
      bytes.append(reinterpret_cast<const char*>(param.values.data()), param.values.size() * sizeof(float));
    }
    for (const auto& optimizer : {optimizer_, outer_}) {
      if (!optimizer) continue;
      for (const StoredState& state : optimizer->state().stored()) {
        bytes.append(static_cast<const char*>(state.array.data), static_cast<std::size_t>(state.array.bytes()));
      }
    }
    return bytes;
  }

 private:
  static std::vector<gradstep_tensor> tensors(std::vector<TestTensor<float>>& list) {
    std::vector<gradstep_tensor> result;
    for (auto& tensor : list) result.push_back(tensor.tensor());
    return result;
  }
  std::int64_t closed() const { return updater_ ? updater_->stats().steps + updater_->stats().skipped_steps : 0; }
  void note() {
    failed_ = false;
    if (windows() == last_windows_) return;
    last_windows_ = windows();
    at_boundary_ = next_window();
  }
  void fill(std::int64_t window, std::int64_t micro_batch) {
    std::size_t place = 0;
    for (auto& tensor : grads_) {
      for (float& value : tensor.values) value = gradient(rank_, window, micro_batch, place++);
    }
    const bool is_infinite = setup_.has_infinity && rank_ == 0 && window == 1 && micro_batch == 0;
    if (is_infinite) grads_[0].values[3] = std::numeric_limits<float>::infinity();
  }
  void intervene(const Verdict& verdict, const Position& root, const std::vector<std::int32_t>& members,
                 SimulatedRun& run) const {
    const bool takes_over = !verdict.together && setup_.chain.sync != GRADSTEP_SYNC_GRADIENTS;
    const bool is_smaller = run.ends.size() != members.size();  // which has an entry for each rank that was there
    if (!takes_over && !is_smaller && !sums_anew(setup_)) return;
    run.interventions.push_back({root.windows, members, takes_over ? verdict.root : -1, takes_over && root.is_stepped});
    std::erase_if(run.ends, [&](const auto& entry) {
      return std::find(members.begin(), members.end(), entry.first) == members.end();
    });
  }
  /// Either the window is finished by it, or nothing was left of the failed push, or the gradients are to come again.
  void flush(SimulatedRun& run) {
    const auto params = tensors(params_);
    bool is_repeated = false;
    try {
      host::flush(*updater_, params.data(), params.size());
      note();
    } catch (const Error& error) {
      if (accumulator_ || error.status() != GRADSTEP_ERR_INVALID_STATE) throw;
      is_repeated = true;
    }
    if (accumulator_ || failed_window_ < 0) return;
    if (is_repeated != (next_window() == failed_window_)) {
      run.complaint += fmt::format("rank {}: flush says {}, {} steps are made and push {} failed; ", rank_,
                                   is_repeated ? "push again" : "nothing is left", next_window(), failed_window_);
    }
    failed_window_ = -1;
  }

  const SimulatedSetup& setup_;
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
  std::vector<TestTensor<float>> deltas_;
  std::int64_t closed_before_ = 0;  // windows, by earlier updaters or by others
  std::int64_t last_windows_ = 0;
  std::int64_t at_boundary_ = 0;  // next_window(), when the last window was finished
  std::int64_t failed_window_ = -1;
  bool failed_ = false;
};

}  // namespace

SimulatedRun train_with_faults(const SimulatedSetup& setup, std::int32_t ranks, bool pairs,
                               const std::vector<Fault>& faults, std::uint32_t seed) {
  SimulatedWorld world(ranks, seed, pairs, faults);
  SimulatedRun run;
  std::vector<std::unique_ptr<Trainee>> trainees;
  std::map<std::int32_t, Position> positions;
  std::int64_t last_generation = 1;
  for (std::int32_t rank = 0; rank < ranks; ++rank) {
    trainees.push_back(std::make_unique<Trainee>(setup, rank));
    run.ends[rank];
  }
  world.turns().run([&](std::int32_t rank) {
    Trainee& trainee = *trainees[static_cast<std::size_t>(rank)];
    bool recovers = false;
    const auto go_on = [&] {  // until the end, or until a recovery is needed
      if (recovers) trainee.recover(world, positions, run, last_generation);
      recovers = true;
      while (trainee.next_window() < setup.windows) {
        // Some hosts learn from their launcher that a peer has failed.
        if (world.is_connecting() && world.turns().coin()) return false;
        trainee.push_next();
      }
      return !world.finish(rank);
    };
    std::string last;
    try {
      trainee.begin(world);
    } catch (const Error& error) {
      run.complaint += fmt::format("rank {} could not begin: {}; ", rank, error.what());
      return world.leave(rank);
    }
    for (int attempt = 0; attempt < kMostAttempts; ++attempt) {
      try {
        if (go_on()) return;
      } catch (const Error& error) {
        if (!world.lives(rank)) return;
        last = error.what();
        recovers = true;
      }
    }
    run.complaint += fmt::format("rank {} cannot go on: {}; ", rank, last);
    world.leave(rank);
  });
  if (world.turns().stuck()) run.complaint += "all ranks wait for each other; ";
  for (auto& [rank, end] : run.ends) end = trainees[static_cast<std::size_t>(rank)]->end();
  if (faults.size() == 1 && faults[0].dies) run.ends.erase(world.struck() > 0 ? faults[0].rank : -1);
  run.struck = world.struck();
  return run;
}

const SimulatedEnds& train_without_faults(const SimulatedSetup& setup, std::int32_t ranks,
                                          const std::vector<Intervention>& interventions) {
  static std::map<std::string, SimulatedEnds> known;
  std::string key = fmt::format("{} {} {}", setup.name, setup.accumulates, ranks);
  for (const Intervention& i : interventions) {
    key += fmt::format(" | {} {} {} {}", i.window, i.root, i.root_is_stepped, fmt::join(i.members, ","));
  }
  if (const auto found = known.find(key); found != known.end()) return found->second;

  SimulatedWorld world(ranks, 1, /*pairs=*/setup.by_hosts, {});
  std::vector<std::unique_ptr<Trainee>> trainees;
  for (std::int32_t rank = 0; rank < ranks; ++rank) trainees.push_back(std::make_unique<Trainee>(setup, rank));
  std::size_t arrived = 0;
  std::size_t expected = 0;
  world.turns().run([&](std::int32_t rank) {
    Trainee& trainee = *trainees[static_cast<std::size_t>(rank)];
    trainee.begin(world);
    std::vector<std::int32_t> members = world.members();
    const auto meet = [&] {
      const std::size_t last = expected == arrived ? expected += members.size() : expected;
      ++arrived;
      world.turns().wait(rank, [&, last] { return arrived >= last; });
    };
    for (const Intervention& i : interventions) {
      while (trainee.windows() < i.window) trainee.push_next();
      meet();
      if (i.root == rank && i.root_is_stepped) trainee.step_alone();
      meet();
      if (i.root >= 0 && i.root != rank) trainee.become(*trainees[static_cast<std::size_t>(i.root)]);
      meet();
      // All parameters are equal: their next exchange is as far away as after one.
      if (i.root_is_stepped && setup.chain.sync == GRADSTEP_SYNC_PARAMETERS) trainee.make_updater();
      if (members == i.members && !sums_anew(setup)) continue;
      members = i.members;
      if (std::find(members.begin(), members.end(), rank) == members.end()) return world.leave(rank);
      trainee.go_on_over(trainee.connect(world));
    }
    while (trainee.next_window() < setup.windows) trainee.push_next();
  });
  EXPECT_FALSE(world.turns().stuck());
  SimulatedEnds ends;
  for (const std::int32_t rank : world.members()) ends[rank] = trainees[static_cast<std::size_t>(rank)]->end();
  return known.emplace(key, std::move(ends)).first->second;
}

}  // namespace gradstep::test
