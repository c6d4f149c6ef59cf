// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Roots beside the steps to come, on a stream of their own.
#include <unistd.h>

#include <filesystem>
#include <memory>

#include "cuda/shampoo_model.h"

namespace gradstep::test {
namespace {

const std::vector<Shape> kShapes = {{24, 16}, {10}, {6, 5, 4}, {40, 36}, {}, {0, 3}, {3, 70}};

// Beside the rounding that shampoo_test.cpp speaks of.
constexpr double kTolerance = 2e-4;

TEST(CudaRootLag, StepsAreTheCpus) {
  for (const int method : {GRADSTEP_ROOT_METHOD_COUPLED_NEWTON, GRADSTEP_ROOT_METHOD_EIGH}) {
    for (const int lag : {1, 2, 5}) {
      SCOPED_TRACE("root_method " + std::to_string(method) + ", root_lag " + std::to_string(lag));
      const auto late = [=](gradstep_shampoo_options& options) {
        options.root_method = method;
        options.root_lag = lag;
        options.preconditioning_compute_steps = 2;
      };
      compare(late, kTolerance, {{12, 9}, {7}, {4, 3, 5}, {1}}, 8);
    }
  }
}

struct Difficulty {
  const char* name;
  double matrix_epsilon;
  double threshold;
  int retries;
  int precision = GRADSTEP_ROOT_PRECISION_F64;
};

/// As steps that no root has a part in: statistics are those of the gradients alone.
Change unseen_roots(int method, const Difficulty& difficulty, int lag) {
  return [=](gradstep_shampoo_options& options) {
    options.root_method = method;
    options.matrix_epsilon = difficulty.matrix_epsilon;
    options.inverse_failure_threshold = difficulty.threshold;
    options.root_retries = difficulty.retries;
    options.root_precision = difficulty.precision;
    options.root_lag = lag;
    options.start_preconditioning_step = 1000;
  };
}

struct FoundRoot {
  std::vector<float> root;
  std::vector<double> metrics;
};

/// Metrics show what the next step is to see.
std::vector<FoundRoot> roots_of(Model& model) {
  std::vector<FoundRoot> found;
  const std::vector<std::pair<std::size_t, std::int64_t>> axes = {{0, 12}, {0, 5}, {1, 7}, {1, 7}};
  for (std::size_t k = 0; k < axes.size(); ++k) {
    const auto [i, n] = axes[k];
    const auto axis = static_cast<std::int64_t>(k % 2);
    const std::string name = "preconditioners.0." + std::to_string(axis);
    FoundRoot root;
    for (const char* metric :
         {"inverse_pth_root_errors", "root_max_eigenvalue", "root_iterations", "root_retries", "root_failures"}) {
      root.metrics.push_back(model.metric(metric, i, axis));
    }
    root.root = model.state(i, name.c_str(), {n, n});
    found.push_back(root);
  }
  return found;
}

// What the first attempt leaves open is computed when the root is due: with a larger ridge, in more iterations, or with
// another look at its residual.
TEST(CudaRootLag, RootsHaveTheBitsOfThoseThatAreComputedAtOnce) {
  const std::vector<Difficulty> difficulties = {{"easy", 1e-6, 0.1, 0},
                                                {"tried again", 1e-14, 1e-9, 6},
                                                {"more iterations than most need", 0, 1e-3, 0},
                                                {"no ridge", 0, 1e-3, 6},
                                                {"none is accepted", 1e-6, 0, 2},
                                                {"easy in f32", 1e-2, 0.1, 0, GRADSTEP_ROOT_PRECISION_F32},
                                                {"not for f32", 1e-8, 1e-5, 3, GRADSTEP_ROOT_PRECISION_F32}};
  for (const int method : {GRADSTEP_ROOT_METHOD_COUPLED_NEWTON, GRADSTEP_ROOT_METHOD_EIGH}) {
    for (const Difficulty& difficulty : difficulties) {
      SCOPED_TRACE("root_method " + std::to_string(method) + ", " + difficulty.name);
      EmulatedCuda device(8);
      const std::vector<Shape> shapes = {{12, 5}, {7, 7}};
      Model at_once(device, shapes, unseen_roots(method, difficulty, 0));
      Model late(device, shapes, unseen_roots(method, difficulty, 2));
      std::vector<FoundRoot> expected;
      for (int t = 1; t <= 4; ++t) {
        const std::size_t poison = t == 3 ? 1 : Model::kNone;
        ASSERT_EQ(late.step(t, Model::kNone, poison), GRADSTEP_OK) << gradstep_last_error();
        const std::vector<FoundRoot> found = roots_of(late);
        for (std::size_t k = 0; k < expected.size(); ++k) {
          EXPECT_EQ(found[k].root, expected[k].root) << "root " << k << ", step " << t;
          for (std::size_t m = 0; m < expected[k].metrics.size(); ++m) {
            const double a = found[k].metrics[m];
            const double b = expected[k].metrics[m];
            EXPECT_TRUE(a == b || (std::isnan(a) && std::isnan(b)))
                << a << ", " << b << ", metric " << m << " of " << k;
          }
        }
        ASSERT_EQ(at_once.step(t, Model::kNone, poison), GRADSTEP_OK) << gradstep_last_error();
        expected = roots_of(at_once);
      }
    }
  }
}

// A root that a stream has not waited for would be another one now and then.
TEST(CudaRootLag, EveryOrderOfWorkComputesTheSameBits) {
  Outcome expected;
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    EmulatedCuda device(seed);
    Model model(device, {{12, 9}, {7}}, [](gradstep_shampoo_options& options) {
      options.root_lag = 3;
      options.preconditioning_compute_steps = 2;
      options.quantize_statistics = 1;
    });
    for (int t = 1; t <= 9; ++t) ASSERT_EQ(model.step(t), GRADSTEP_OK) << gradstep_last_error();
    const Outcome found = model.outcome();
    if (seed == 0) expected = found;
    EXPECT_EQ(found.parameters, expected.parameters) << "seed " << seed;
    EXPECT_EQ(found.states, expected.states) << "seed " << seed;
  }
}

TEST(CudaRootLag, OnlyTheStepThatInstallsRootsWaitsAndNoneTakesMemory) {
  for (const int method : {GRADSTEP_ROOT_METHOD_COUPLED_NEWTON, GRADSTEP_ROOT_METHOD_EIGH}) {
    EmulatedCuda device(1);
    Model model(device, {{20, 16}, {10}}, [method](gradstep_shampoo_options& options) {
      options.root_method = method;
      options.root_lag = 3;
      options.preconditioning_compute_steps = 4;
    });
    for (int t = 0; t < 24; ++t) {
      device.queue().finish();
      const emulation::Counts before = EmulatedCuda::control().counts();
      ASSERT_EQ(model.step(t), GRADSTEP_OK) << gradstep_last_error();
      if (t < 12) continue;
      EXPECT_EQ(device.allocations(), before.allocations) << "step " << t;
      EXPECT_EQ(device.waits() - before.waits > 0, t % 4 == 3) << "step " << t;
    }
  }
}

// A refresh whose first attempt were not taken for the last would begin again when the roots are due.
TEST(CudaRootLag, ARootThatIsAcceptedIsComputedOnce) {
  for (const int method : {GRADSTEP_ROOT_METHOD_COUPLED_NEWTON, GRADSTEP_ROOT_METHOD_EIGH}) {
    std::int64_t attempts[2] = {};
    for (const int lag : {0, 1}) {
      EmulatedCuda device(1);
      Model model(device, {{20, 16}, {10}}, [=](gradstep_shampoo_options& options) {
        options.root_method = method;
        options.root_lag = lag;
        options.preconditioning_compute_steps = 2;
      });
      EmulatedCuda::launches();
      for (int t = 0; t < 6; ++t) ASSERT_EQ(model.step(t), GRADSTEP_OK) << gradstep_last_error();
      device.queue().finish();
      const std::vector<std::string> launches = EmulatedCuda::launches();
      attempts[lag] = std::count(launches.begin(), launches.end(), "load_statistics");
    }
    EXPECT_GT(attempts[0], 0);
    EXPECT_EQ(attempts[1], attempts[0]) << "root_method " << method;
  }
}

TEST(CudaRootLag, WhatIsUnderWayMayBeDropped) {
  EmulatedCuda device(4);
  for (int steps = 1; steps <= 4; ++steps) {
    Model model(device, kShapes, [](gradstep_shampoo_options& options) { options.root_lag = 5; });
    for (int t = 1; t <= steps; ++t) ASSERT_EQ(model.step(t), GRADSTEP_OK) << gradstep_last_error();
  }
  device.queue().finish();
}

TEST(CudaRootLag, StateSavedWithRootsUnderWayResumesWithTheSameBits) {
  const auto late = [](gradstep_shampoo_options& options) {
    options.root_lag = 3;
    options.preconditioning_compute_steps = 2;
  };
  const std::string path = testing::TempDir() + "gradstep_root_lag_" + std::to_string(getpid());
  EmulatedCuda device(4);
  Model first(device, kShapes, late);
  for (int t = 1; t <= 5; ++t) ASSERT_EQ(first.step(t), GRADSTEP_OK) << gradstep_last_error();
  ASSERT_EQ(gradstep_optimizer_save_file(first.optimizer(), path.c_str()), GRADSTEP_OK) << gradstep_last_error();
  Model second(device, kShapes, late);
  ASSERT_EQ(second.step(9), GRADSTEP_OK) << gradstep_last_error();  // what it has under way is dropped
  ASSERT_EQ(gradstep_optimizer_load_file(second.optimizer(), path.c_str(), nullptr), GRADSTEP_OK)
      << gradstep_last_error();
  std::filesystem::remove(path);
  second.set_parameters(first.outcome());
  for (int t = 6; t <= 12; ++t) {
    ASSERT_EQ(first.step(t), GRADSTEP_OK) << gradstep_last_error();
    ASSERT_EQ(second.step(t), GRADSTEP_OK) << gradstep_last_error();
  }
  EXPECT_EQ(second.parameters(), first.parameters());
}

}  // namespace
}  // namespace gradstep::test
