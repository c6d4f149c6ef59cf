// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// A rank of DiLoCo: an updater with an outer optimizer. Inner SGD with rate 1 makes a step the gradient.
#pragma once

#include <bit>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "optim/first_order/first_order_optimizer.h"
#include "optim/first_order/typed_options.h"
#include "unit/host_calls.h"
#include "unit/memory_stream.h"
#include "unit/ranks.h"
#include "updater/updater.h"

namespace gradstep::test {

inline const std::vector<std::vector<std::int64_t>> kRoundShapes = {{40, 5}, {300}, {7}};

struct RoundSetup {
  std::vector<std::vector<std::int64_t>> shapes = kRoundShapes;
  std::int32_t length = 3;
  std::int32_t reducer_mode = GRADSTEP_REDUCER_DENSE;
  std::int32_t average = GRADSTEP_AVERAGE_UNSET;
  bool skips_nonfinite = false;
  bool plain_outer = false;  ///< rate 1, no momentum: parameters are averaged
  double outer_rate = 0.7;
  std::int64_t micro_batches = 0;  ///< 0: no accumulator
  std::int32_t fragments = 1;
  std::int32_t delay = 0;
  double mix = 0;
  double inner_momentum = 0;
};

inline std::shared_ptr<FirstOrderOptimizer> sgd_of(const std::shared_ptr<Context>& context, const Schema& schema,
                                                   double rate, double momentum, bool nesterov, bool masters = false) {
  auto sgd = default_options<gradstep_sgd_options>();
  sgd.learning_rate = rate;
  sgd.momentum = momentum;
  sgd.nesterov = nesterov ? 1 : 0;
  sgd.master_weights = masters ? 1 : 0;
  return std::make_shared<FirstOrderOptimizer>(context, make_rule(sgd), schema);
}

struct RoundReplica {
  std::vector<std::vector<std::int64_t>> shapes;
  std::shared_ptr<Context> context;
  std::shared_ptr<FirstOrderOptimizer> inner, outer;
  std::shared_ptr<Accumulator> accumulator;
  std::shared_ptr<Reducer> reducer;
  std::unique_ptr<Updater> updater;
  std::vector<TestTensor<float>> params;

  RoundReplica(Communicator* comm, const RoundSetup& setup, std::shared_ptr<Context> on = make_context())
      : shapes(setup.shapes), context(std::move(on)) {
    const Schema schema = make_schema(shapes);
    inner = sgd_of(context, schema, 1, setup.inner_momentum, false);
    outer =
        setup.plain_outer ? sgd_of(context, schema, 1, 0, false) : sgd_of(context, schema, setup.outer_rate, 0.9, true);
    if (setup.micro_batches > 0) {
      auto o = default_accumulator_options();
      o.steps = setup.micro_batches;
      accumulator = std::make_shared<Accumulator>(context, o, std::nullopt, schema);
    }
    if (comm != nullptr) {
      auto o = default_reducer_options();
      o.mode = setup.reducer_mode;
      o.average = setup.average;
      o.fuse_threshold = 1;
      if (setup.reducer_mode == GRADSTEP_REDUCER_SPARSE_TOPK) o.sparsity = 0.1;
      reducer = std::make_shared<Reducer>(context, *comm, o, schema);
    }
    auto options = default_updater_options();
    options.sync = GRADSTEP_SYNC_DELTAS;
    options.sync_steps = setup.length;
    options.outer_fragments = setup.fragments;
    options.outer_delay = setup.delay;
    options.outer_mix = setup.mix;
    options.skip_nonfinite = setup.skips_nonfinite ? 1 : 0;
    updater = std::make_unique<Updater>(context, inner, accumulator, reducer, options, outer);
    for (const auto& shape : shapes) params.emplace_back(shape, 100.0F);
  }

  std::vector<gradstep_tensor> views() {
    std::vector<gradstep_tensor> list;
    for (auto& param : params) list.push_back(param.tensor());
    return list;
  }
  bool push(std::vector<TestTensor<float>>& grads, double weight = 1) {
    std::vector<gradstep_tensor> g;
    for (auto& grad : grads) g.push_back(grad.tensor());
    const auto p = views();
    return host::push(*updater, p.data(), g.data(), p.size(), weight);
  }
  bool push(float gradient, double weight = 1) {
    std::vector<TestTensor<float>> grads;
    for (const auto& shape : shapes) grads.emplace_back(shape, gradient);
    return push(grads, weight);
  }
  /// Numbers of its own for each rank and push.
  bool push_numbers(std::int32_t rank, std::uint32_t index) {
    std::vector<TestTensor<float>> grads;
    for (const auto& shape : shapes) {
      grads.emplace_back(shape);
      grads.back().values =
          random_values<float>(grads.back().values.size(), 1000 * static_cast<std::uint32_t>(rank) + index);
    }
    return push(grads, 1 + 0.1 * rank + 0.3 * index);
  }
  /// A device does, when the step that was queued is its turn.
  bool decides_later() const { return !inner->site().is_host(); }
  bool flush() {
    const auto p = views();
    return host::flush(*updater, p.data(), p.size());
  }
  void recover(Communicator* comm) {
    const auto p = views();
    host::recover(*updater, comm, p.data(), p.size());
  }
  float first() const { return params[0].values[0]; }
  std::vector<float> numbers() const {
    std::vector<float> all;
    for (const auto& param : params) all.insert(all.end(), param.values.begin(), param.values.end());
    return all;
  }
  std::int64_t exchanges() const {
    std::int64_t sum = 0;
    for (const auto& bucket : reducer->bucket_stats()) sum += bucket.exchanges;
    return sum;
  }
  std::string save(const Communicator& comm) {
    const auto parts = updater->saved().save();
    Memory memory;
    write_state_file(comm.rank() == 0 ? &memory : nullptr, "updater", parts);
    return memory.bytes;
  }
};

/// A learning rate of 1 by a host's function, which fails when asked to.
struct FlakyRate {
  bool fails = false;

  Schedule schedule() {
    gradstep_schedule made{};
    made.struct_size = sizeof made;
    made.kind = GRADSTEP_SCHEDULE_CALLBACK;
    made.power = 1;
    made.user = &fails;
    made.function = [](void* user, std::int64_t, double* value) -> gradstep_status {
      *value = 1;
      return *static_cast<bool*>(user) ? GRADSTEP_ERR_CALLBACK : GRADSTEP_OK;
    };
    return Schedule("schedule", &made);
  }
};

inline void expect_equal_on_all(Communicator& comm, const std::vector<float>& own) {
  std::vector<float> all(own.size() * static_cast<std::size_t>(comm.world_size()));
  comm.all_gather(own.data(), all.data(), static_cast<std::int64_t>(own.size() * sizeof(float)), comm.deadline());
  for (std::size_t i = 0; i < all.size(); ++i) {
    ASSERT_EQ(std::bit_cast<std::uint32_t>(all[i]), std::bit_cast<std::uint32_t>(own[i % own.size()])) << i;
  }
}

/// Outer steps of SGD with Nesterov momentum from 100, by the change of each round.
inline float by_nesterov(std::initializer_list<float> changes, float rate = 0.7F) {
  float at = 100;
  float momentum = 0;
  for (const float change : changes) {
    momentum = 0.9F * momentum + change;
    at -= rate * (change + 0.9F * momentum);
  }
  return at;
}

}  // namespace gradstep::test
