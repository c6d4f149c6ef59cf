// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// A model of two parameters on some ranks: each rank has its own micro-batches, all start from the same parameters.
#pragma once

#include <limits>

#include "optim/first_order/first_order_optimizer.h"
#include "optim/first_order/typed_options.h"
#include "unit/host_calls.h"
#include "unit/ranks.h"
#include "updater/updater.h"

namespace gradstep::test {

inline const std::vector<std::vector<std::int64_t>> kModelShapes = {{40, 5}, {300}};

struct Replica {
  std::shared_ptr<Context> context;
  std::shared_ptr<Optimizer> optimizer;
  std::shared_ptr<Accumulator> accumulator;
  std::shared_ptr<Reducer> reducer;
  std::unique_ptr<Updater> updater;
  std::vector<TestTensor<float>> params;

  struct Setup {
    std::int64_t steps = 4;
    std::int32_t mode = GRADSTEP_ACCUMULATE_MEAN_EACH;
    std::int32_t nonfinite = GRADSTEP_NONFINITE_NONE;
    std::int32_t average = GRADSTEP_AVERAGE_MEAN;
    std::int32_t reducer_mode = GRADSTEP_REDUCER_DENSE;
    std::int32_t error_feedback = GRADSTEP_ERROR_FEEDBACK_EF14;
    bool accumulates = true;
    bool amsgrad = false;
    double learning_rate = 0.01;
    std::vector<std::vector<std::int64_t>> shapes = kModelShapes;
    std::shared_ptr<Context> context = make_context();
    gradstep_updater_options options = default_updater_options();
  };

  Replica(Communicator* comm, const Setup& setup) : context(setup.context) {
    const Schema schema = make_schema(setup.shapes);
    auto adam = default_options<gradstep_adam_options>();
    adam.learning_rate = setup.learning_rate;
    adam.amsgrad = setup.amsgrad ? 1 : 0;
    optimizer = std::make_shared<FirstOrderOptimizer>(context, make_rule(adam), schema);
    if (setup.accumulates) {
      auto o = default_accumulator_options();
      o.mode = setup.mode;
      o.steps = setup.steps;
      o.nonfinite = setup.nonfinite;
      accumulator = std::make_shared<Accumulator>(context, o, std::nullopt, schema);
    }
    if (comm != nullptr) {
      auto o = default_reducer_options();
      o.average = setup.average;
      o.mode = setup.reducer_mode;
      o.error_feedback = setup.error_feedback;
      reducer = std::make_shared<Reducer>(context, *comm, o, schema);
    }
    updater = std::make_unique<Updater>(context, optimizer, accumulator, reducer, setup.options);
    for (const auto& shape : setup.shapes) {
      params.emplace_back(shape);
      params.back().values = random_values<float>(params.back().values.size(), 99);
    }
  }

  std::vector<gradstep_tensor> param_tensors() {
    std::vector<gradstep_tensor> list;
    for (auto& p : params) list.push_back(p.tensor());
    return list;
  }
  bool push(std::vector<TestTensor<float>>& grads, double weight = 1) {
    const auto p = param_tensors();
    std::vector<gradstep_tensor> g;
    for (auto& grad : grads) g.push_back(grad.tensor());
    return host::push(*updater, p.data(), g.data(), p.size(), weight);
  }
  bool flush() {
    const auto p = param_tensors();
    return host::flush(*updater, p.data(), p.size());
  }
};

/// Micro-batch `index` of all that a job sees, on any rank.
inline std::vector<TestTensor<float>> micro_batch(std::uint32_t index,
                                                  const std::vector<std::vector<std::int64_t>>& shapes = kModelShapes) {
  std::vector<TestTensor<float>> grads;
  for (const auto& shape : shapes) {
    grads.emplace_back(shape);
    grads.back().values = random_values<float>(grads.back().values.size(), 5000 + index);
  }
  return grads;
}

}  // namespace gradstep::test
