// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// An updater whose optimizer has parts of the parameters: the ranks that have the others are asked for what is of the
// whole. Gradients of replicas are reduced before a push.
#include "unit/host_calls.h"
#include "unit/optim/parts_model.h"
#include "unit/ranks.h"
#include "updater/updater.h"

namespace gradstep::test {
namespace {

constexpr std::uint32_t kWindows = 4;

/// Two pieces of everything, which two ranks each have.
Layout halves() {
  Layout layout = by_rows(2);
  layout.insert(layout.end(), {layout[0], layout[1]});
  return layout;
}

gradstep_adam_options adam_of_parts() {
  auto options = default_options<gradstep_adam_options>();
  options.learning_rate = 0.01;
  return options;
}

/// A model and its updater; gradients are those of a replica.
struct PartsJob {
  PartsModel model;
  std::shared_ptr<Context> context = make_context();
  std::shared_ptr<Optimizer> optimizer;
  std::shared_ptr<Reducer> reducer;
  std::unique_ptr<Updater> updater;

  PartsJob(PartsModel parts, Communicator* replicas, double max_norm)
      : model(std::move(parts)),
        optimizer(std::make_shared<FirstOrderOptimizer>(context, make_rule(adam_of_parts()), model.schema)) {
    if (replicas != nullptr) {
      reducer = std::make_shared<Reducer>(context, *replicas, default_reducer_options(), model.schema);
    }
    auto options = default_updater_options();
    options.max_norm = max_norm;
    updater = std::make_unique<Updater>(context, optimizer, nullptr, nullptr, options);
  }
  std::vector<gradstep_tensor> views_of(std::vector<std::vector<float>>& numbers) {
    std::vector<gradstep_tensor> views;
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      views.push_back(view_of(model.schema, i, numbers[i].data(), DType::f32));
    }
    return views;
  }
  bool flush() {
    const auto p = views_of(model.params);
    return host::flush(*updater, p.data(), p.size());
  }
  bool push() {
    const auto p = views_of(model.params);
    const auto g = views_of(model.grads);
    if (reducer) host::reduce(*reducer, g.data(), g.data(), g.size(), 1);
    return host::push(*updater, p.data(), g.data(), p.size(), 1);
  }
  void train(std::int32_t replica) {
    for (std::uint32_t t = 0; t < kWindows; ++t) {
      model.draw(2 * t + static_cast<std::uint32_t>(replica));
      EXPECT_TRUE(push());
    }
  }
};

/// Two replicas of the whole model.
std::vector<std::vector<float>> trained_whole(double max_norm) {
  std::vector<std::vector<float>> params;
  run_ranks(2, [&](Communicator& comm) {
    PartsJob job(PartsModel::whole(), &comm, max_norm);
    job.train(comm.rank());
    if (comm.rank() == 0) params = job.model.params;
  });
  return params;
}

TEST(UpdaterOfParts, StepsByWhatReplicasHaveReducedAndByNormsOfTheWhole) {
  const Layout layout = halves();
  for (const double max_norm : {0.0, 2.0}) {
    const auto expected = trained_whole(max_norm);
    run_ranks(4, [&](Communicator& comm) {
      const std::int32_t replica = comm.rank() / 2;
      const auto replicas = comm.split(comm.rank() % 2, replica, comm.deadline());
      for (const bool over_all : {false, true}) {
        PartsJob job(PartsModel(layout[static_cast<std::size_t>(comm.rank())]), replicas.get(), max_norm);
        // The ranks with the other parts of this replica, or all ranks.
        const auto others = comm.split(over_all ? 0 : replica, comm.rank(), comm.deadline());
        attach_parts(*job.optimizer, others.get());
        job.train(replica);
        for (std::size_t i = 0; i < kWholes.size(); ++i) {
          const std::vector<float> own = part_of(expected[i], job.model.places[i]);
          for (std::size_t k = 0; k < own.size(); ++k) {
            ASSERT_NEAR(job.model.params[i][k], own[k], max_norm > 0 ? 1e-6F : 0) << "p" << i << "[" << k << "]";
          }
        }
      }
    });
  }
}

TEST(UpdaterOfParts, WithoutAReducerTheNormIsThatOfTheWhole) {
  PartsModel whole = PartsModel::whole();
  PartsJob alone(std::move(whole), nullptr, 2);
  alone.train(0);
  run_ranks(2, [&](Communicator& comm) {
    PartsJob job(PartsModel(by_rows(2)[static_cast<std::size_t>(comm.rank())]), nullptr, 2);
    attach_parts(*job.optimizer, &comm);
    job.train(0);
    for (std::size_t i = 0; i < kWholes.size(); ++i) {
      const std::vector<float> own = part_of(alone.model.params[i], job.model.places[i]);
      for (std::size_t k = 0; k < own.size(); ++k) ASSERT_NEAR(job.model.params[i][k], own[k], 1e-6F);
    }
  });
}

TEST(UpdaterOfParts, WhatEndsWindowsOnSomeRanksAloneIsRefused) {
  const Layout layout = halves();
  run_ranks(4, [&](Communicator& comm) {
    const auto replicas = comm.split(comm.rank() % 2, comm.rank() / 2, comm.deadline());
    const auto own = layout[static_cast<std::size_t>(comm.rank())];
    struct With {
      std::optional<gradstep_accumulator_options> accumulator;
      bool reducer = false;
      bool outer = false;
    };
    const auto unsupported = [&](const std::string& text, const With& with) {
      PartsJob job(PartsModel(own), nullptr, 0);
      attach_parts(*job.optimizer, &comm);
      const Schema& schema = job.model.schema;
      std::shared_ptr<Accumulator> window;
      if (with.accumulator) {
        window = std::make_shared<Accumulator>(job.context, *with.accumulator, std::nullopt, schema);
      }
      std::shared_ptr<Reducer> reducer;
      if (with.reducer) {
        reducer = std::make_shared<Reducer>(job.context, *replicas, default_reducer_options(), schema);
      }
      std::shared_ptr<Optimizer> outer;
      auto options = default_updater_options();
      if (with.outer) {
        options.sync = GRADSTEP_SYNC_DELTAS;
        outer = std::make_shared<FirstOrderOptimizer>(job.context, make_rule(adam_of_parts()), schema);
      }
      job.updater = std::make_unique<Updater>(job.context, job.optimizer, window, reducer, options, outer);
      expect_error(GRADSTEP_ERR_UNSUPPORTED, text, [&] { job.push(); });
      expect_error(GRADSTEP_ERR_UNSUPPORTED, text, [&] { job.flush(); });
      expect_error(GRADSTEP_ERR_UNSUPPORTED, text, [&] { job.updater->saved().save(); });
    };
    unsupported("reducer: the host has spread the parameters", {.accumulator = {}, .reducer = true});
    unsupported("options.outer: the host has spread the parameters", {.accumulator = {}, .outer = true});
    auto options = default_accumulator_options();
    options.nonfinite = GRADSTEP_NONFINITE_SKIP;
    unsupported("accumulator: skips micro-batches by what this rank has of them", {.accumulator = options});
    options.nonfinite = GRADSTEP_NONFINITE_NONE;
    options.trigger = GRADSTEP_TRIGGER_MIN_WEIGHT;
    options.mode = GRADSTEP_ACCUMULATE_WEIGHTED;
    options.min_weight = 1;
    unsupported("accumulator: the host has spread the parameters, so that windows must end by a count",
                {.accumulator = options});
  });
}

TEST(UpdaterOfParts, IsNotRecovered) {
  run_ranks(2, [](Communicator& comm) {
    PartsJob job(PartsModel(by_rows(2)[static_cast<std::size_t>(comm.rank())]), nullptr, 0);
    attach_parts(*job.optimizer, &comm);
    job.train(0);
    const auto p = job.views_of(job.model.params);
    expect_error(GRADSTEP_ERR_UNSUPPORTED, "recover: the host has spread the parameters",
                 [&] { host::recover(*job.updater, &comm, p.data(), p.size()); });
    expect_error(GRADSTEP_ERR_UNSUPPORTED, "recover: the host has spread the parameters",
                 [&] { host::recover(*job.updater, nullptr, p.data(), p.size()); });
    job.train(0);
  });
}

}  // namespace
}  // namespace gradstep::test
