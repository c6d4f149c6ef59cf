// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Shampoo on a CUDA device beside the CPU's. What has no product and no root in it is equal to the bit; products and
// roots are the same within rounding.
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "cuda/shampoo_model.h"
#include "roots/root_libraries.h"

namespace gradstep::test {
namespace {

const std::vector<Shape> kShapes = {{24, 16}, {10}, {6, 5, 4}, {40, 36}, {}, {0, 3}, {3, 70}};

// Before the first preconditioned step, and where nothing is preconditioned, no product decides.
TEST(CudaShampoo, WhatIsElementwiseIsEqualToTheBit) {
  for (int graft = GRADSTEP_GRAFT_TYPE_SGD; graft <= GRADSTEP_GRAFT_TYPE_NONE; ++graft) {
    SCOPED_TRACE("graft_type " + std::to_string(graft));
    const auto plain = [graft](gradstep_shampoo_options& options) {
      options.graft_type = graft;
      options.precondition = 0;
      options.weight_decay = 0.1;
      options.clip_by_scaled_gradient_norm = 0.5;
      options.nesterov = graft % 2;
      options.moving_average_for_momentum = graft % 3 == 0 ? 1 : 0;
      options.decoupled_weight_decay = graft % 3 == 1 ? 1 : 0;
    };
    compare(plain, 0, kShapes);
  }
}

TEST(CudaShampoo, NormsOfManyChunksAreEqualToTheBit) {
  const auto normalized = [](gradstep_shampoo_options& options) {
    options.graft_type = GRADSTEP_GRAFT_TYPE_RMSPROP_NORMALIZED;
    options.clip_by_scaled_gradient_norm = 0.01;
    options.precondition = 0;
  };
  compare(normalized, 0, {{5, 16384}, {40001}, {7}, {16384}}, 2);
}

TEST(CudaShampoo, NegatedGradientsAreEqualToTheBit) {
  const auto maximized = [](gradstep_shampoo_options& options) {
    options.precondition = 0;
    options.maximize = 1;
  };
  compare(maximized, 0, kShapes);
  compare(
      [&](gradstep_shampoo_options& options) {
        maximized(options);
        options.eigenvalue_corrected = 1;
      },
      0, kShapes);
}

TEST(CudaShampoo, CodesOfMomentaAreEqualToTheBit) {
  const auto coded = [](gradstep_shampoo_options& options) {
    options.precondition = 0;
    options.quantize_momentum = 1;
  };
  compare(coded, 0, {{24, 16}, {300}, {6, 5, 4}, {40, 36}, {3, 70}, {1, 1}});
}

TEST(CudaShampoo, WhatIsElementwiseIsEqualToTheBitInF64AndInBf16) {
  for (int graft = GRADSTEP_GRAFT_TYPE_SGD; graft <= GRADSTEP_GRAFT_TYPE_NONE; ++graft) {
    SCOPED_TRACE("graft_type " + std::to_string(graft));
    const auto plain = [graft](gradstep_shampoo_options& options) {
      options.graft_type = graft;
      options.precondition = 0;
      options.weight_decay = 0.1;
      options.nesterov = graft % 2;
    };
    compare<double>(plain, 0, kShapes);
    for (const int stochastic : {0, 1}) {
      const auto narrow = [=](gradstep_shampoo_options& options) {
        plain(options);
        options.state_dtype = GRADSTEP_STATE_DTYPE_BF16;
        options.stochastic_rounding = stochastic;
        options.seed = 5;
      };
      compare(narrow, 0, kShapes);
    }
  }
}

// Products and roots round to 1e-16, which the ridge, 1e-6 of the largest eigenvalue, lets grow to 1e-10.
TEST(CudaShampoo, StepsInF64AreTheCpus) {
  for (const int method : {GRADSTEP_ROOT_METHOD_COUPLED_NEWTON, GRADSTEP_ROOT_METHOD_EIGH}) {
    for (const int lag : {0, 2}) {
      const auto roots = [=](gradstep_shampoo_options& options) {
        options.root_method = method;
        options.root_lag = lag;
        options.root_precision = GRADSTEP_ROOT_PRECISION_F32;  // does not concern them
      };
      SCOPED_TRACE("root_method " + std::to_string(method) + ", root_lag " + std::to_string(lag));
      compare<double>(roots, 1e-8, {{24, 16}, {10}, {6, 5, 4}, {}, {0, 3}});
    }
  }
}

// Where a rounding to bf16 falls on the other side of a tie, a momentum is off by 2^-8 of itself.
TEST(CudaShampoo, StepsWithStateInBf16AreTheCpus) {
  for (const int stochastic : {0, 1}) {
    const auto narrow = [=](gradstep_shampoo_options& options) {
      options.graft_type = GRADSTEP_GRAFT_TYPE_ADAM;
      options.state_dtype = GRADSTEP_STATE_DTYPE_BF16;
      options.stochastic_rounding = stochastic;
    };
    compare(narrow, 8e-3, {{24, 16}, {10}, {6, 5, 4}, {}, {0, 3}});
  }
}

// Rounding of f32 statistics, 6e-8 of their largest number, moves eigenvalues near the ridge, 1e-6 of the largest, by
// up to 6 %, and their inverse fourth roots by 1.5 %. Gradients lie mostly beside those directions: 6e-5 was seen.
constexpr double kTolerance = 2e-4;

TEST(CudaShampoo, StepsAreTheCpusForEveryGraft) {
  for (int graft = GRADSTEP_GRAFT_TYPE_SGD; graft <= GRADSTEP_GRAFT_TYPE_NONE; ++graft) {
    SCOPED_TRACE("graft_type " + std::to_string(graft));
    compare([graft](gradstep_shampoo_options& options) { options.graft_type = graft; }, kTolerance,
            {{24, 16}, {10}, {6, 5, 4}, {}, {0, 3}});
  }
}

TEST(CudaShampoo, StepsAreTheCpusForEveryBlockSizeAndRank) {
  for (const std::int64_t block_size : {3, 8, 128}) {
    for (const int merges : {0, 1}) {
      SCOPED_TRACE("block_size " + std::to_string(block_size) + ", merges " + std::to_string(merges));
      const auto blocks = [=](gradstep_shampoo_options& options) {
        options.block_size = block_size;
        options.best_effort_shape_interpretation = merges;
      };
      compare(blocks, kTolerance, {{14, 9}, {10}, {6, 5, 4}, {2, 3, 4, 5}, {1, 7, 1, 3}}, 3);
    }
  }
}

TEST(CudaShampoo, StepsAreTheCpusWhereAxesHaveNoPreconditioner) {
  for (const int sides : {GRADSTEP_ONE_SIDED_INPUT, GRADSTEP_ONE_SIDED_OUTPUT}) {
    SCOPED_TRACE("one_sided " + std::to_string(sides));
    const auto one_sided = [sides](gradstep_shampoo_options& options) {
      options.one_sided = sides;
      options.best_effort_shape_interpretation = 0;
    };
    compare(one_sided, kTolerance, kShapes);
  }
}

// Statistics of KL have roots in them, whose rounding in f32 is that of statistics at the ridge: it is larger here.
TEST(CudaShampoo, StepsAreTheCpusWithStatisticsOfKl) {
  for (const int statistics : {GRADSTEP_SHAMPOO_STATISTICS_KL, GRADSTEP_SHAMPOO_STATISTICS_KL_MEAN}) {
    for (const std::int64_t block_size : {3, 8, 128}) {
      for (const int coded : {0, 1}) {
        SCOPED_TRACE("statistics " + std::to_string(statistics) + ", block_size " + std::to_string(block_size) +
                     ", coded " + std::to_string(coded));
        const auto kl = [=](gradstep_shampoo_options& options) {
          options.statistics = statistics;
          options.block_size = block_size;
          options.best_effort_shape_interpretation = 0;
          options.preconditioning_compute_steps = 2;
          options.matrix_epsilon = 1e-3;
        };
        const std::vector<Shape> shapes = {{14, 9}, {10}, {6, 5, 4}, {2, 3, 4, 5}, {1, 7, 1, 3}, {}, {0, 3}};
        if (coded == 0) compare<double>(kl, 1e-8, shapes, 5);
        compare(
            [=](gradstep_shampoo_options& options) {
              kl(options);
              options.quantize_statistics = coded;
            },
            coded == 0 ? kTolerance : 5e-3, shapes, 5);
      }
    }
  }
}

TEST(CudaShampoo, StepsAreTheCpusWithAnAbsoluteRidge) {
  for (const int method : {GRADSTEP_ROOT_METHOD_COUPLED_NEWTON, GRADSTEP_ROOT_METHOD_EIGH}) {
    SCOPED_TRACE("root_method " + std::to_string(method));
    const auto absolute = [=](gradstep_shampoo_options& options) {
      options.root_method = method;
      options.ridge = GRADSTEP_RIDGE_ABSOLUTE;
      options.matrix_epsilon = 1e-4;
      options.block_size = 15;
    };
    compare<double>(absolute, 1e-8, {{24, 16}, {10}, {6, 5, 4}, {1}, {}});
  }
}

TEST(CudaShampoo, StepsAreTheCpusForBothRootMethods) {
  for (const int method : {GRADSTEP_ROOT_METHOD_COUPLED_NEWTON, GRADSTEP_ROOT_METHOD_EIGH}) {
    for (const int retries : {0, 6}) {
      for (const int padding : {GRADSTEP_ROOT_PADDING_NONE, GRADSTEP_ROOT_PADDING_LARGEST}) {
        SCOPED_TRACE("root_method " + std::to_string(method) + ", root_retries " + std::to_string(retries) +
                     ", root_padding " + std::to_string(padding));
        const auto roots = [=](gradstep_shampoo_options& options) {
          options.root_method = method;
          options.root_retries = retries;
          options.root_padding = padding;
        };
        compare(roots, kTolerance, {{12, 9}, {7}, {4, 3, 5}, {1}}, 3);
      }
    }
  }
}

/// Rows of a matrix that several blocks share.
constexpr std::int64_t kManyRows = 150;

TEST(CudaShampoo, StepsAreTheCpusWhereSeveralBlocksShareAMatrix) {
  const auto newton = [](gradstep_shampoo_options& options) {
    options.root_method = GRADSTEP_ROOT_METHOD_COUPLED_NEWTON;
    options.root_padding = GRADSTEP_ROOT_PADDING_LARGEST;
    options.block_size = kManyRows;
  };
  const std::vector<Shape> shapes = {{kManyRows, 3}, {kManyRows - 20, 2}};
  compare(newton, kTolerance, shapes, 2);
  Processor processor;
  EmulatedCuda device(1);
  Model expected(processor, shapes, newton);
  Model found(device, shapes, newton);
  ASSERT_EQ(expected.step(1), GRADSTEP_OK);
  ASSERT_EQ(found.step(1), GRADSTEP_OK) << gradstep_last_error();
  for (const std::size_t i : {0U, 1U}) {
    EXPECT_EQ(found.metric("root_iterations", i, 0), expected.metric("root_iterations", i, 0)) << "parameter " << i;
    EXPECT_NEAR(found.metric("root_max_eigenvalue", i, 0) / expected.metric("root_max_eigenvalue", i, 0), 1, 1e-9)
        << "parameter " << i;
  }
}

// Matrices of full rank and others: where the smallest eigenvalue is not seen, there are more steps.
TEST(CudaShampoo, CoupledNewtonTakesTheCpusSteps) {
  for (const int retries : {0, 6}) {
    for (const int padding : {GRADSTEP_ROOT_PADDING_NONE, GRADSTEP_ROOT_PADDING_LARGEST}) {
      const auto newton = [=](gradstep_shampoo_options& options) {
        options.root_method = GRADSTEP_ROOT_METHOD_COUPLED_NEWTON;
        options.root_retries = retries;
        options.root_padding = padding;
      };
      Processor processor;
      EmulatedCuda device(1);
      Model expected(processor, {{4, 80}, {12, 3}}, newton);
      Model found(device, {{4, 80}, {12, 3}}, newton);
      ASSERT_EQ(expected.step(1), GRADSTEP_OK);
      ASSERT_EQ(found.step(1), GRADSTEP_OK) << gradstep_last_error();
      for (const std::size_t i : {0U, 1U}) {
        for (const std::int64_t axis : {0, 1}) {
          EXPECT_EQ(found.metric("root_iterations", i, axis), expected.metric("root_iterations", i, axis))
              << "root_retries " << retries << ", root_padding " << padding << ", parameter " << i << ", axis " << axis;
        }
      }
      if (retries == 0) continue;
      const double few = found.metric("root_iterations", 0, 0);
      EXPECT_EQ(few < found.metric("root_iterations", 1, 0) - 2, padding == GRADSTEP_ROOT_PADDING_NONE) << few;
    }
  }
}

// Roundings in f32, 6e-8 of the largest eigenvalue each, beside a ridge of 1e-2 of it: 1e-6 was seen.
constexpr double kNarrowTolerance = 2e-5;

Change narrow_roots(int method) {
  return [method](gradstep_shampoo_options& options) {
    options.root_method = method;
    options.root_precision = GRADSTEP_ROOT_PRECISION_F32;
    options.matrix_epsilon = 1e-2;
  };
}

TEST(CudaShampoo, StepsAreTheCpusWithRootsInF32) {
  for (const int method : {GRADSTEP_ROOT_METHOD_COUPLED_NEWTON, GRADSTEP_ROOT_METHOD_EIGH}) {
    for (const int padding : {GRADSTEP_ROOT_PADDING_NONE, GRADSTEP_ROOT_PADDING_LARGEST}) {
      SCOPED_TRACE("root_method " + std::to_string(method) + ", root_padding " + std::to_string(padding));
      const auto narrow = [=](gradstep_shampoo_options& options) {
        narrow_roots(method)(options);
        options.root_padding = padding;
      };
      compare(narrow, kNarrowTolerance, {{12, 9}, {7}, {4, 3, 5}, {1}}, 3);
    }
  }
}

void products_in_tf32(gradstep_shampoo_options& options) {
  options.product_precision = GRADSTEP_PRODUCT_PRECISION_TF32;
  options.matrix_epsilon = 1e-2;
}

// Operands are off by 2^-11 of them at most, 5e-4.
TEST(CudaShampoo, StepsAreTheCpusWithProductsInTf32) {
  compare(products_in_tf32, 5e-3, {{12, 9}, {7}, {4, 3, 5}, {40, 36}}, 3);
}

TEST(CudaShampoo, StatisticsInTf32AreThoseOfRoundedGradientsAndOnlyWhereAskedFor) {
  constexpr std::size_t kRows = 12;
  constexpr std::size_t kColumns = 9;
  EmulatedCuda device(1);
  for (const bool rounds : {true, false}) {
    const auto change = [rounds](gradstep_shampoo_options& options) {
      options.product_precision = rounds ? GRADSTEP_PRODUCT_PRECISION_TF32 : GRADSTEP_PRODUCT_PRECISION_F32;
      options.beta2 = 1;
      options.matrix_epsilon = 1e-2;
    };
    Model model(device, {{kRows, kColumns}}, change);
    ASSERT_EQ(model.step(1), GRADSTEP_OK) << gradstep_last_error();
    const std::vector<float> gradient = model.numbers(0, 1);
    const std::vector<float> rounded = rounded_to_tf32(gradient);
    const auto statistic_of = [](const std::vector<float>& g) {
      std::vector<float> statistic(kRows * kRows);
      for (std::size_t i = 0; i < kRows; ++i) {
        for (std::size_t j = 0; j < kRows; ++j) {
          double sum = i == j ? 1e-2 : 0;
          for (std::size_t k = 0; k < kColumns; ++k) sum += double{g[i * kColumns + k]} * double{g[j * kColumns + k]};
          statistic[i * kRows + j] = static_cast<float>(sum);
        }
      }
      return statistic;
    };
    const std::vector<float> found = model.state(0, "statistics.0.0", {kRows, kRows});
    EXPECT_LE(difference(found, statistic_of(rounds ? rounded : gradient)), 1e-6);
    EXPECT_GE(difference(found, statistic_of(rounds ? gradient : rounded)), 1e-5);
  }
}

TEST(CudaShampoo, RootsInF32TakeNothingInF64) {
  for (const int method : {GRADSTEP_ROOT_METHOD_COUPLED_NEWTON, GRADSTEP_ROOT_METHOD_EIGH}) {
    EmulatedCuda device(1);
    Model model(device, {{12, 9}}, narrow_roots(method));
    EmulatedCuda::launches();
    for (int t = 1; t <= 2; ++t) ASSERT_EQ(model.step(t), GRADSTEP_OK) << gradstep_last_error();
    device.queue().finish();
    const std::vector<std::string> launches = EmulatedCuda::launches();
    EXPECT_EQ(std::count(launches.begin(), launches.end(), "cublas_f64"), 0);
    EXPECT_EQ(std::count(launches.begin(), launches.end(), "cusolver_f64"), 0);
    EXPECT_EQ(model.metric("root_retries"), 0);
  }
}

// The second attempt, in f64, has the ridge of the first.
TEST(CudaShampoo, ARootThatF32CannotGiveIsThatOfF64) {
  const auto strict = [](int precision) {
    return [precision](gradstep_shampoo_options& options) {
      options.root_precision = precision;
      options.inverse_failure_threshold = 1e-7;
    };
  };
  EmulatedCuda device(3);
  Model narrow(device, {{12, 12}}, strict(GRADSTEP_ROOT_PRECISION_F32));
  Model wide(device, {{12, 12}}, strict(GRADSTEP_ROOT_PRECISION_F64));
  ASSERT_EQ(narrow.step(1), GRADSTEP_OK) << gradstep_last_error();
  ASSERT_EQ(wide.step(1), GRADSTEP_OK) << gradstep_last_error();
  EXPECT_EQ(wide.metric("root_retries"), 0);
  EXPECT_EQ(narrow.metric("root_retries"), 1);
  EXPECT_EQ(narrow.metric("root_failures"), 0);
  EXPECT_EQ(narrow.state(0, "preconditioners.0.0", {12, 12}), wide.state(0, "preconditioners.0.0", {12, 12}));
}

// Rounding may move a code by one: 1 / 127 of a column's largest number.
TEST(CudaShampoo, QuantisedStateIsTheCpus) {
  const auto coded = [](gradstep_shampoo_options& options) {
    options.quantize_momentum = 1;
    options.quantize_statistics = 1;
  };
  compare(coded, 0.02, {{24, 16}, {10}, {6, 5, 4}, {40, 36}, {3, 70}});
}

// A code is its number within half a bucket, the largest number beside the diagonal / 32767, of its own column.
TEST(CudaShampoo, CodedStatisticsAreSymmetricWithinARounding) {
  constexpr std::size_t kSize = 16;
  EmulatedCuda device(1);
  Model model(device, {{3, 16}}, [](gradstep_shampoo_options& options) { options.quantize_statistics = 1; });
  for (int t = 1; t <= 8; ++t) ASSERT_EQ(model.step(t), GRADSTEP_OK) << gradstep_last_error();
  const std::vector<float> s = model.state(0, "statistics.0.1", {kSize, kSize});
  ASSERT_EQ(s.size(), kSize * kSize);
  std::vector<float> buckets(kSize);
  for (std::size_t i = 0; i < kSize; ++i) {
    for (std::size_t j = 0; j < kSize; ++j) {
      if (i != j) buckets[j] = std::max(buckets[j], std::abs(s[i * kSize + j]) / 32767);
    }
  }
  for (std::size_t i = 0; i < kSize; ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      // and a rounding of each in f32, at most 2^-24 * 32767 buckets
      EXPECT_LE(std::abs(s[i * kSize + j] - s[j * kSize + i]), 0.505F * (buckets[i] + buckets[j])) << i << ", " << j;
    }
  }
}

TEST(CudaShampoo, AStatisticThatIsNotFiniteKeepsTheOldRoot) {
  for (const int method : {GRADSTEP_ROOT_METHOD_COUPLED_NEWTON, GRADSTEP_ROOT_METHOD_EIGH}) {
    for (const std::int64_t rows : {std::int64_t{8}, kManyRows}) {
      EmulatedCuda device(3);
      Model model(device, {{rows, 6}, {5}}, [method](gradstep_shampoo_options& options) {
        options.root_method = method;
        options.block_size = kManyRows;
      });
      ASSERT_EQ(model.step(1), GRADSTEP_OK) << gradstep_last_error();
      const std::vector<float> before = model.state(0, "preconditioners.0.0", {rows, rows});
      const std::vector<float> other = model.state(1, "preconditioners.0.0", {5, 5});
      EXPECT_EQ(model.metric("root_failures"), 0);
      ASSERT_EQ(model.step(2, Model::kNone, /*poison=*/0), GRADSTEP_OK) << gradstep_last_error();
      EXPECT_EQ(model.state(0, "preconditioners.0.0", {rows, rows}), before);
      EXPECT_NE(model.state(1, "preconditioners.0.0", {5, 5}), other);
      EXPECT_EQ(model.metric("root_failures"), 1);
    }
  }
}

TEST(CudaShampoo, RootsThatMissTheThresholdAreTriedAgain) {
  const auto strict = [](gradstep_shampoo_options& options) {
    options.matrix_epsilon = 1e-14;
    options.inverse_failure_threshold = 1e-9;
    options.root_retries = 6;
  };
  Processor processor;
  EmulatedCuda device(3);
  Model expected(processor, {{12, 3}}, strict);
  Model found(device, {{12, 3}}, strict);
  ASSERT_EQ(expected.step(1), GRADSTEP_OK);
  ASSERT_EQ(found.step(1), GRADSTEP_OK) << gradstep_last_error();
  EXPECT_GT(expected.metric("root_retries"), 0);
  EXPECT_GT(found.metric("root_retries"), 0);
  EXPECT_EQ(found.metric("root_failures"), expected.metric("root_failures"));
}

TEST(CudaShampoo, EveryOrderOfWorkComputesTheSameBits) {
  std::vector<float> expected;
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    EmulatedCuda device(seed);
    Model model(device, {{12, 9}, {7}}, [](gradstep_shampoo_options& options) {
      options.root_method = GRADSTEP_ROOT_METHOD_COUPLED_NEWTON;
      options.quantize_statistics = 1;
    });
    for (int t = 1; t <= 2; ++t) ASSERT_EQ(model.step(t), GRADSTEP_OK) << gradstep_last_error();
    const std::vector<float> found = model.outcome().parameters[0];
    if (seed == 0) expected = found;
    EXPECT_EQ(found, expected) << "seed " << seed;
  }
}

TEST(CudaShampoo, AStepBetweenRootsTakesNoMemory) {
  EmulatedCuda device(1);
  Model model(device, {{40, 36}, {10}},
              [](gradstep_shampoo_options& options) { options.preconditioning_compute_steps = 1000; });
  for (int t = 1; t <= 2; ++t) ASSERT_EQ(model.step(t), GRADSTEP_OK) << gradstep_last_error();
  const std::int64_t allocations = device.allocations();
  for (int t = 3; t <= 6; ++t) ASSERT_EQ(model.step(t), GRADSTEP_OK) << gradstep_last_error();
  EXPECT_EQ(device.allocations(), allocations);
}

TEST(CudaShampoo, RootsOfMatricesOfOneNumberAreTheCpus) {
  compare([](gradstep_shampoo_options& options) { options.block_size = 7; }, kTolerance, {{15, 8}, {1}, {1, 1}, {29}});
}

// Without guards squares of finite gradients leave f32's range: statistics stay finite, whatever they are kept as, and
// roots are found again when their averages have forgotten them.
TEST(CudaShampoo, StatisticsThatHaveOverflownAreTheCpusAndGiveRootsAgain) {
  for (const int mode : {0, 1, 2}) {
    const int coded = mode == 1 ? 1 : 0;
    const bool is_kl = mode == 2;
    const auto averages = [=](gradstep_shampoo_options& options) {
      options.statistics = is_kl ? GRADSTEP_SHAMPOO_STATISTICS_KL : GRADSTEP_SHAMPOO_STATISTICS_GRADIENTS;
      options.beta2 = 0.5;
      options.quantize_statistics = coded;
      options.preconditioning_compute_steps = 25;
    };
    Processor processor;
    EmulatedCuda device(1);
    Model expected(processor, {{9, 6}}, averages);
    Model found(device, {{9, 6}}, averages);
    const auto statistics = [](Model& model) {
      std::vector<float> all = model.state(0, "statistics.0.0", {9, 9});
      const std::vector<float> right = model.state(0, "statistics.0.1", {6, 6});
      all.insert(all.end(), right.begin(), right.end());
      return all;
    };
    for (Model* model : {&expected, &found}) {
      model->spikes = {1, 3e19F, 1, 0.5F, 1, -3e19F, 1, 1, 1, 1, 1, -2.9e19F};
      for (int t = 1; t <= Model::kSpikedStep; ++t) ASSERT_EQ(model->step(t), GRADSTEP_OK) << gradstep_last_error();
    }
    const std::vector<float> spiked = statistics(found);
    ASSERT_EQ(spiked.size(), 9 * 9 + 6 * 6) << gradstep_last_error();
    EXPECT_EQ(*std::ranges::max_element(spiked), 0x1.fep127F);
    for (const float x : spiked) ASSERT_TRUE(std::isfinite(x)) << "quantize_statistics " << coded;
    if (!is_kl) {
      EXPECT_LE(difference(spiked, statistics(expected)), 1e-6);
    }
    for (int t = Model::kSpikedStep + 1; t <= 152; ++t) {
      ASSERT_EQ(found.step(t), GRADSTEP_OK) << gradstep_last_error();
    }
    const auto parameters = found.parameters();
    for (const float p : parameters[0]) ASSERT_TRUE(std::isfinite(p));
    EXPECT_LT(found.metric("preconditioner_age"), 26);
  }
}

/// A step between roots, on a tensor of so many rows.
std::vector<std::string> launches_of_step(std::int64_t rows, int statistics) {
  EmulatedCuda device(1);
  Model model(device, {{rows, 16}}, [=](gradstep_shampoo_options& options) {
    options.preconditioning_compute_steps = 1000;
    options.statistics = statistics;
  });
  for (int t = 1; t <= 2; ++t) EXPECT_EQ(model.step(t), GRADSTEP_OK) << gradstep_last_error();
  device.queue().finish();
  EmulatedCuda::launches();
  EXPECT_EQ(model.step(3), GRADSTEP_OK) << gradstep_last_error();
  device.queue().finish();
  return EmulatedCuda::launches();
}

// What has a batch of its own is one launch, however many blocks there are.
TEST(CudaShampoo, AStepBetweenRootsIsAFixedNumberOfLaunches) {
  std::vector<std::vector<std::string>> launches;
  for (const std::int64_t rows : {16, 160}) {
    launches.push_back(launches_of_step(rows, GRADSTEP_SHAMPOO_STATISTICS_GRADIENTS));
  }
  const std::vector<std::string> axis = {"gather_gradients", "cublas_f32", "add_to_statistics", "keep_finite"};
  std::vector<std::string> expected = {"begin_step", "copy"};
  for (int k = 0; k < 2; ++k) expected.insert(expected.end(), axis.begin(), axis.end());
  for (const char* name : {"gather_gradients", "cublas_f32", "cublas_f32", "scatter_preconditioned", "square_tensors",
                           "set_scales", "finish_shampoo", "close_step"}) {
    expected.emplace_back(name);
  }
  EXPECT_EQ(launches[0], expected);
  EXPECT_EQ(launches[1], expected);

  // KL: a product more for each axis, of blocks of two axes, which is turned back for the first one.
  const auto of_kl = [](std::int64_t rows) { return launches_of_step(rows, GRADSTEP_SHAMPOO_STATISTICS_KL); };
  const std::vector<std::string> found = of_kl(16);
  EXPECT_EQ(found, of_kl(160));
  EXPECT_EQ(std::ranges::count(found, "cublas_f32"), std::ranges::count(expected, "cublas_f32") + 2);
  EXPECT_EQ(found.size() - static_cast<std::size_t>(std::ranges::count(found, "transpose")), expected.size() + 2);
}

/// Shows `size` from where it is.
gradstep_parameter vector_of(const std::int64_t& size, const TestDevice& device) {
  gradstep_parameter parameter{};
  parameter.struct_size = sizeof parameter;
  parameter.shape = &size;
  parameter.ndim = 1;
  parameter.dtype = {GRADSTEP_TYPE_FLOAT, 32, 1};
  parameter.device = device.id();
  return parameter;
}

/// Ends the program: with 0 if such an optimizer is refused with a text that names the library.
[[noreturn]] void create_without(const char* soname, const char* name) {
  EmulatedCuda device(1);
  void* plugin = dlopen(GRADSTEP_TEST_PLUGIN_DIR "/libgradstep_cuda.so", RTLD_NOW | RTLD_NOLOAD);
  const auto hide = reinterpret_cast<void (*)(const char*)>(dlsym(plugin, "gradstep_cuda_emulation_hide"));
  hide(soname);
  const std::int64_t size = 3;
  const gradstep_parameter parameter = vector_of(size, device);
  gradstep_shampoo_options options{};
  gradstep_shampoo_options_init(&options, sizeof options);
  options.learning_rate = 0.1;
  gradstep_optimizer* optimizer = nullptr;
  const gradstep_status status =
      gradstep_optimizer_create_shampoo(device.context(), &options, &parameter, 1, &optimizer);
  const std::string text = gradstep_last_error();
  std::fprintf(stderr, "%s\n", text.c_str());
  const bool is_named = text.find(name) != std::string::npos && text.find(soname) != std::string::npos;
  std::_Exit(status == GRADSTEP_ERR_BACKEND_UNAVAILABLE && is_named ? 0 : 1);
}

/// How often cuSOLVER is called for the roots of a tensor of four blocks, with `hidden` missing from it if not NULL.
struct SolverCalls {
  std::int64_t single = 0;
  std::int64_t batched = 0;
};

SolverCalls solve_four_blocks(const char* hidden) {
  EmulatedCuda device(1);
  if (hidden != nullptr) {
    void* plugin = dlopen(GRADSTEP_TEST_PLUGIN_DIR "/libgradstep_cuda.so", RTLD_NOW | RTLD_NOLOAD);
    const auto hide = reinterpret_cast<void (*)(const char*)>(dlsym(plugin, "gradstep_cuda_emulation_hide"));
    hide(hidden);
  }
  const std::int64_t size = 32;
  const gradstep_parameter parameter = vector_of(size, device);
  gradstep_shampoo_options options{};
  TestDevice::check(gradstep_shampoo_options_init(&options, sizeof options));
  options.learning_rate = 0.1;
  options.block_size = 8;
  options.start_preconditioning_step = 1;
  options.root_method = GRADSTEP_ROOT_METHOD_EIGH;
  gradstep_optimizer* optimizer = nullptr;
  TestDevice::check(gradstep_optimizer_create_shampoo(device.context(), &options, &parameter, 1, &optimizer));
  gradstep_tensor tensor{};
  tensor.data = device.allocate(32);
  tensor.device = device.id();
  tensor.ndim = 1;
  tensor.dtype = parameter.dtype;
  tensor.shape = const_cast<std::int64_t*>(&size);
  gradstep_tensor gradient = tensor;
  gradient.data = device.allocate(32);
  for (const gradstep_tensor* to : {&tensor, &gradient}) {
    const std::vector<float> values(32, 0.5F);
    device.queue().upload(to->data, values.data(), values.size() * sizeof(float));
  }
  device.queue().finish();
  EmulatedCuda::launches();
  TestDevice::check(gradstep_optimizer_step(optimizer, &tensor, &gradient, 1, nullptr));
  device.queue().finish();
  SolverCalls calls;
  for (const std::string& name : EmulatedCuda::launches()) {
    if (name == "cusolver_f64") ++calls.single;
    if (name == "cusolver_f64_batched") ++calls.batched;
  }
  gradstep_optimizer_destroy(optimizer);
  return calls;
}

TEST(CudaShampoo, MatricesOfASizeAreDecomposedAtOnce) {
  const SolverCalls calls = solve_four_blocks(nullptr);
  EXPECT_EQ(calls.batched, 1);
  EXPECT_EQ(calls.single, 0);
}

TEST(CudaShampoo, ABatchIsBoundedByItsScratchAndByWhatTheSolverTakes) {
  EXPECT_EQ(cuda::root_batch_limit(8), 16384U);
  EXPECT_EQ(cuda::root_batch_limit(std::int64_t{1} << 20), 512U);
  EXPECT_EQ(cuda::root_batch_limit(std::int64_t{1} << 30), 1U);  // more than all scratch
}

/// Ends the program: with 0 if they are decomposed one after the other.
[[noreturn]] void solve_by_an_older_library() {
  const SolverCalls calls = solve_four_blocks("cusolverDnXsyevBatched");
  std::_Exit(calls.single == 4 && calls.batched == 0 ? 0 : 1);
}

TEST(CudaShampooDeathTest, AnOlderSolverDecomposesThemOneAfterTheOther) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // in this process its functions are known
  EXPECT_EXIT(solve_by_an_older_library(), testing::ExitedWithCode(0), "");
}

TEST(CudaShampooDeathTest, ALibraryThatIsMissingIsNamedWhenTheOptimizerIsCreated) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // in this process they may be open
  EXPECT_EXIT(create_without("libcublas.so.13", "cuBLAS"), testing::ExitedWithCode(0), "");
  EXPECT_EXIT(create_without("libcusolver.so.12", "cuSOLVER"), testing::ExitedWithCode(0), "");
}

/// How often the host waits for the device in the third step, which computes roots by coupled Newton.
std::int64_t waits_of_a_step(std::vector<Shape> shapes, const Change& change) {
  EmulatedCuda device(1);
  Model model(device, std::move(shapes), [&](gradstep_shampoo_options& options) {
    options.root_method = GRADSTEP_ROOT_METHOD_COUPLED_NEWTON;
    options.preconditioning_compute_steps = 1;
    change(options);
  });
  for (int t = 0; t < 2; ++t) TestDevice::check(model.step(t));
  device.queue().finish();
  const std::int64_t before = device.waits();
  TestDevice::check(model.step(2));
  return device.waits() - before;
}

TEST(CudaShampoo, TheHostLooksOnceAtRootsOfAllExtents) {
  const auto easy = [](gradstep_shampoo_options& options) { options.matrix_epsilon = 1e-6; };
  const std::int64_t of_one = waits_of_a_step({{12, 12}}, easy);
  EXPECT_EQ(waits_of_a_step({{12, 9}, {7}, {4, 3, 5}, {16, 10}, {40, 6}}, easy), of_one);
  EXPECT_LE(of_one, 2);
}

// Roots that need more iterations, or other attempts, are looked at together: as often as the one that needs most.
TEST(CudaShampoo, TheHostLooksTogetherAtRootsThatNeedMore) {
  const std::vector<Shape> shapes = {{12, 5}, {7, 3}, {16, 4}};
  const auto of_more_iterations = [](gradstep_shampoo_options& options) {
    options.matrix_epsilon = 10;
    options.inverse_failure_threshold = 1e-9;
    options.root_retries = 0;
  };
  std::int64_t most = 0;
  for (const Shape& shape : shapes) most = std::max(most, waits_of_a_step({shape}, of_more_iterations));
  EXPECT_GT(most, 1);
  EXPECT_LE(waits_of_a_step(shapes, of_more_iterations), most + 1);
  const auto of_retries = [](gradstep_shampoo_options& options) {
    options.matrix_epsilon = 1e-14;
    options.inverse_failure_threshold = 1e-9;
    options.root_retries = 6;
  };
  EXPECT_GT(waits_of_a_step(shapes, of_retries), 1);
  EXPECT_LE(waits_of_a_step(shapes, of_retries), 7);
}

}  // namespace
}  // namespace gradstep::test
