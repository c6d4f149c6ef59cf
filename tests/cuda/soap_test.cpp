// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// The eigenvalue-corrected mode on a CUDA device beside the CPU's. A basis of a statistic that is not of full rank is
// any basis where it is zero: models whose bases are compared have blocks that make all statistics of full rank.
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <thread>

#include "cuda/shampoo_model.h"
#include "gradstep/comm.h"
#include "gradstep/sharding.h"

namespace gradstep::test {
namespace {

void soap(gradstep_shampoo_options& options) {
  options.eigenvalue_corrected = 1;
  options.beta1 = 0.95;
  options.beta2 = 0.95;
  options.diagonal_epsilon = 1e-8;
  options.weight_decay = 0.01;
  options.preconditioning_compute_steps = 3;
}

Change with(const Change& change) {
  return [change](gradstep_shampoo_options& options) {
    soap(options);
    change(options);
  };
}

const std::vector<Shape> kFullRank = {{16, 16}, {10}, {6, 5, 4}, {32, 16}, {}, {0, 3}, {7, 7}};
const std::vector<Shape> kAnyRank = {{24, 16}, {10}, {6, 5, 4}, {40, 36}, {}, {0, 3}, {3, 70}};

TEST(CudaSoap, WithoutPreconditioningItIsEqualToTheBit) {
  compare(with([](gradstep_shampoo_options& options) { options.precondition = 0; }), 0, kAnyRank, 6);
}

TEST(CudaSoap, WithoutPreconditioningItIsEqualToTheBitInF64AndInBf16) {
  const auto plain = with([](gradstep_shampoo_options& options) { options.precondition = 0; });
  compare<double>(plain, 0, kAnyRank, 4);
  const auto narrow = with([](gradstep_shampoo_options& options) {
    options.precondition = 0;
    options.state_dtype = GRADSTEP_STATE_DTYPE_BF16;
    options.stochastic_rounding = 1;
  });
  compare(narrow, 0, kAnyRank, 4);
}

std::vector<float> identity(std::int64_t n) {
  std::vector<float> matrix(static_cast<std::size_t>(n * n));
  for (std::int64_t i = 0; i < n; ++i) matrix[static_cast<std::size_t>(i * n + i)] = 1;
  return matrix;
}

// Rotations by identities round nothing: what is left is element-wise.
TEST(CudaSoap, AStepInTheBasesIsEqualToTheBit) {
  const std::vector<Shape> shapes = {{14, 9}, {10}, {4, 3, 5}};
  const std::vector<std::vector<std::int64_t>> extents = {{14, 9}, {}, {4, 3, 5}};
  for (const int narrow : {0, 1}) {
    const Change change = with([narrow](gradstep_shampoo_options& options) {
      options.preconditioning_compute_steps = 1000;
      options.best_effort_shape_interpretation = 0;
      options.state_dtype = narrow != 0 ? GRADSTEP_STATE_DTYPE_BF16 : GRADSTEP_STATE_DTYPE_NATIVE;
      options.stochastic_rounding = narrow;
    });
    Processor processor;
    EmulatedCuda device(7);
    Model expected(processor, shapes, change);
    Model found(device, shapes, change);
    for (Model* model : {&expected, &found}) {
      ASSERT_EQ(model->step(1), GRADSTEP_OK) << gradstep_last_error();
      for (std::size_t i = 0; i < shapes.size(); ++i) {
        for (std::size_t axis = 0; axis < extents[i].size(); ++axis) {
          const std::int64_t n = extents[i][axis];
          const std::string name = "preconditioners.0." + std::to_string(axis);
          model->set_state(i, name.c_str(), {n, n}, identity(n));
        }
      }
      for (int t = 2; t <= 6; ++t) ASSERT_EQ(model->step(t), GRADSTEP_OK) << gradstep_last_error();
    }
    const Outcome a = found.outcome();
    const Outcome b = expected.outcome();
    EXPECT_EQ(a.parameters, b.parameters);
    EXPECT_EQ(a.states, b.states);
  }
}

// Without beta1 the first moment is the gradient in the bases.
TEST(CudaSoap, RotationsInTf32RoundTheGradientToIt) {
  EmulatedCuda device(7);
  Model model(device, {{14, 9}}, with([](gradstep_shampoo_options& options) {
                options.product_precision = GRADSTEP_PRODUCT_PRECISION_TF32;
                options.beta1 = 0;
                options.preconditioning_compute_steps = 1000;
              }));
  ASSERT_EQ(model.step(1), GRADSTEP_OK) << gradstep_last_error();
  model.set_state(0, "preconditioners.0.0", {14, 14}, identity(14));
  model.set_state(0, "preconditioners.0.1", {9, 9}, identity(9));
  ASSERT_EQ(model.step(2), GRADSTEP_OK) << gradstep_last_error();
  EXPECT_EQ(model.state(0, "diagonal_exp_avg", {14, 9}), rounded_to_tf32(model.numbers(0, 2)));
}

// Rounding of a rotation, 1e-7 of the largest gradient, is 1e-4 of an element that is 1000 times smaller, and Adam's
// direction is a quotient of such elements: 5e-5 was seen.
constexpr double kTolerance = 5e-4;

TEST(CudaSoap, StepsAreTheCpus) { compare(soap, kTolerance, kFullRank, 12); }

// 1e-16 instead of 6e-8.
TEST(CudaSoap, StepsInF64AreTheCpus) { compare<double>(soap, 1e-11, kFullRank, 12); }

// A number that products have rounded otherwise may be rounded to the next bf16, 2^-8 of itself away.
TEST(CudaSoap, StateInBf16IsRoundedAsOnTheCpu) {
  const auto narrow = with([](gradstep_shampoo_options& options) {
    options.state_dtype = GRADSTEP_STATE_DTYPE_BF16;
    options.stochastic_rounding = 1;
  });
  compare(narrow, 0.02, kFullRank, 4);
}

TEST(CudaSoap, StepsAreTheCpusWhenEveryStepRenewsTheBases) {
  compare(with([](gradstep_shampoo_options& options) { options.preconditioning_compute_steps = 1; }), kTolerance,
          kFullRank, 12);
}

TEST(CudaSoap, StepsAreTheCpusWhereAxesHaveNoBasis) {
  for (const int sides : {GRADSTEP_ONE_SIDED_INPUT, GRADSTEP_ONE_SIDED_OUTPUT}) {
    SCOPED_TRACE("one_sided " + std::to_string(sides));
    const auto one_sided = [sides](gradstep_shampoo_options& options) {
      options.one_sided = sides;
      options.best_effort_shape_interpretation = 0;
    };
    const Shape matrix = sides == GRADSTEP_ONE_SIDED_INPUT ? Shape{5, 9} : Shape{9, 5};
    compare(with(one_sided), kTolerance, {matrix, {9, 9}, {3, 4, 5}, {2, 3, 4, 4}}, 12);
  }
  const auto skips = [](gradstep_shampoo_options& options) {
    options.skip_preconditioning_dim_size_gt = 4;  // the axis in the middle has none
    options.best_effort_shape_interpretation = 0;
  };
  compare(with(skips), kTolerance, {{3, 5, 4}, {4, 7, 2, 3}}, 12);
}

TEST(CudaSoap, ParametersThatJoinLateAreTheCpus) {
  Processor processor;
  EmulatedCuda device(7);
  Model expected(processor, kFullRank, soap);
  Model found(device, kFullRank, soap);
  for (int t = 1; t <= 8; ++t) {
    const std::size_t missing = t <= 4 ? 3 : 0;  // its blocks are of one shape with those of the other
    ASSERT_EQ(expected.step(t, missing), GRADSTEP_OK) << gradstep_last_error();
    ASSERT_EQ(found.step(t, missing), GRADSTEP_OK) << gradstep_last_error();
    const Outcome a = found.outcome();
    const Outcome b = expected.outcome();
    for (std::size_t i = 0; i < a.parameters.size(); ++i) {
      EXPECT_LE(difference(a.parameters[i], b.parameters[i]), kTolerance) << "parameter " << i << ", step " << t;
    }
  }
}

// In f32 columns are orthonormal within some roundings of n products.
void expect_orthonormal(const std::vector<float>& basis, std::size_t n) {
  ASSERT_EQ(basis.size(), n * n);
  for (std::size_t j = 0; j < n; ++j) {
    for (std::size_t k = 0; k <= j; ++k) {
      double product = 0;
      for (std::size_t i = 0; i < n; ++i) product += static_cast<double>(basis[i * n + j]) * basis[i * n + k];
      EXPECT_NEAR(product, j == k ? 1 : 0, 1e-6) << j << ", " << k;
    }
  }
}

TEST(CudaSoap, BasesOfStatisticsOfAnyRankAreOrthonormal) {
  EmulatedCuda device(2);
  Model model(device, {{3, 16}}, soap);
  for (int t = 1; t <= 5; ++t) {
    ASSERT_EQ(model.step(t), GRADSTEP_OK) << gradstep_last_error();
    expect_orthonormal(model.state(0, "preconditioners.0.0", {3, 3}), 3);
    expect_orthonormal(model.state(0, "preconditioners.0.1", {16, 16}), 16);
  }
}

TEST(CudaSoap, TheLargestEigenvalueComesFirst) {
  constexpr std::size_t kSize = 8;
  EmulatedCuda device(2);
  Model model(device, {{kSize, kSize}}, soap);
  ASSERT_EQ(model.step(1), GRADSTEP_OK) << gradstep_last_error();
  const std::vector<float> basis = model.state(0, "preconditioners.0.0", {kSize, kSize});
  const std::vector<float> statistic = model.state(0, "statistics.0.0", {kSize, kSize});
  double previous = 1e30;
  for (std::size_t j = 0; j < kSize; ++j) {
    double quotient = 0;
    for (std::size_t a = 0; a < kSize; ++a) {
      for (std::size_t b = 0; b < kSize; ++b) {
        quotient += static_cast<double>(basis[a * kSize + j]) * statistic[a * kSize + b] * basis[b * kSize + j];
      }
    }
    EXPECT_LE(quotient, previous);
    previous = quotient;
  }
}

TEST(CudaSoap, AGradientThatIsNotFiniteKeepsTheBasis) {
  EmulatedCuda device(3);
  Model model(device, {{8, 6}, {5, 5}},
              with([](gradstep_shampoo_options& options) { options.preconditioning_compute_steps = 1; }));
  for (int t = 1; t <= 2; ++t) ASSERT_EQ(model.step(t), GRADSTEP_OK) << gradstep_last_error();
  const std::vector<float> before = model.state(0, "preconditioners.0.0", {8, 8});
  const std::vector<float> other = model.state(1, "preconditioners.0.0", {5, 5});
  ASSERT_EQ(model.step(3, Model::kNone, /*poison=*/0), GRADSTEP_OK) << gradstep_last_error();
  EXPECT_EQ(model.state(0, "preconditioners.0.0", {8, 8}), before);
  EXPECT_NE(model.state(1, "preconditioners.0.0", {5, 5}), other);
}

TEST(CudaSoap, AStepThatIsSkippedCountsForNothing) {
  Outcome expected;
  for (const int skipped : {0, 1, 3}) {
    EmulatedCuda device(5);
    Model model(device, kAnyRank, soap);
    for (int t = 1; t <= 3; ++t) ASSERT_EQ(model.step(t, Model::kNone, Model::kNone, true), GRADSTEP_OK);
    for (int k = 0; k < skipped; ++k) ASSERT_EQ(model.step(9, Model::kNone, /*poison=*/3, true), GRADSTEP_OK);
    for (int t = 4; t <= 7; ++t) ASSERT_EQ(model.step(t, Model::kNone, Model::kNone, true), GRADSTEP_OK);
    const Outcome found = model.outcome();
    if (skipped == 0) expected = found;
    EXPECT_EQ(found.parameters, expected.parameters) << skipped << " steps skipped";
    EXPECT_EQ(found.states, expected.states) << skipped << " steps skipped";
  }
}

TEST(CudaSoap, EveryOrderOfWorkComputesTheSameBits) {
  Outcome expected;
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    EmulatedCuda device(seed);
    Model model(device, {{12, 9}, {7}, {4, 3, 5}}, soap);
    for (int t = 1; t <= 5; ++t) ASSERT_EQ(model.step(t), GRADSTEP_OK) << gradstep_last_error();
    const Outcome found = model.outcome();
    if (seed == 0) expected = found;
    EXPECT_EQ(found.parameters, expected.parameters) << "seed " << seed;
    EXPECT_EQ(found.states, expected.states) << "seed " << seed;
  }
}

// Which rank computes a basis changes nothing.
TEST(CudaSoap, RanksThatShareTheBasesHaveTheBitsOfOneAlone) {
  constexpr int kRanks = 3;
  EmulatedCuda device(6);
  Model alone(device, kAnyRank, soap);
  gradstep_comm* comms[kRanks] = {};
  TestDevice::check(gradstep_comm_create_local(device.context(), kRanks, comms));
  gradstep_sharding_options options{};
  TestDevice::check(gradstep_sharding_options_init(&options, sizeof options));
  options.gradients = GRADSTEP_SHARDED_GRADIENTS_REDUCED;
  std::vector<std::unique_ptr<Model>> models;
  for (int rank = 0; rank < kRanks; ++rank) models.push_back(std::make_unique<Model>(device, kAnyRank, soap));
  std::vector<std::string> errors(kRanks);
  std::vector<std::thread> threads;
  for (std::size_t rank = 0; rank < kRanks; ++rank) {
    threads.emplace_back([&, rank] {
      Model& model = *models[rank];
      gradstep_status status = gradstep_optimizer_attach_comm(model.optimizer(), comms[rank], &options);
      for (int t = 1; t <= 8 && status == GRADSTEP_OK; ++t) status = model.step(t, t == 2 ? 0 : Model::kNone);
      if (status != GRADSTEP_OK) errors[rank] = gradstep_last_error();
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (int t = 1; t <= 8; ++t) ASSERT_EQ(alone.step(t, t == 2 ? 0 : Model::kNone), GRADSTEP_OK);
  for (std::size_t rank = 0; rank < kRanks; ++rank) {
    EXPECT_EQ(errors[rank], "");
    EXPECT_EQ(models[rank]->parameters(), alone.parameters()) << "rank " << rank;
  }
  models.clear();
  for (gradstep_comm* comm : comms) gradstep_comm_destroy(comm);
}

// Bases and moments are those of the file, whatever the rank of the statistics.
TEST(CudaSoap, StateSavedOnOneDeviceResumesOnTheOther) {
  const Change change = with([](gradstep_shampoo_options& options) { options.preconditioning_compute_steps = 4; });
  const std::string path = testing::TempDir() + "gradstep_soap_" + std::to_string(getpid());
  for (const bool to_processor : {true, false}) {
    SCOPED_TRACE(to_processor ? "from CUDA to the CPU" : "from the CPU to CUDA");
    Processor processor;
    EmulatedCuda device(4);
    TestDevice& from = to_processor ? static_cast<TestDevice&>(device) : processor;
    TestDevice& to = to_processor ? static_cast<TestDevice&>(processor) : device;
    Model first(from, kAnyRank, change);
    for (int t = 1; t <= 6; ++t) ASSERT_EQ(first.step(t), GRADSTEP_OK) << gradstep_last_error();
    ASSERT_EQ(gradstep_optimizer_save_file(first.optimizer(), path.c_str()), GRADSTEP_OK) << gradstep_last_error();
    Model second(to, kAnyRank, change);
    ASSERT_EQ(gradstep_optimizer_load_file(second.optimizer(), path.c_str(), nullptr), GRADSTEP_OK)
        << gradstep_last_error();
    std::filesystem::remove(path);
    EXPECT_EQ(second.outcome().states, first.outcome().states);
    EXPECT_EQ(second.state(0, "preconditioners.0.1", {16, 16}), first.state(0, "preconditioners.0.1", {16, 16}));
    second.set_parameters(first.outcome());
    for (int t = 7; t <= 8; ++t) {
      ASSERT_EQ(first.step(t), GRADSTEP_OK) << gradstep_last_error();
      ASSERT_EQ(second.step(t), GRADSTEP_OK) << gradstep_last_error();
    }
    const Outcome a = second.outcome();
    const Outcome b = first.outcome();
    for (std::size_t i = 0; i < a.parameters.size(); ++i) {
      EXPECT_LE(difference(a.parameters[i], b.parameters[i]), kTolerance) << "parameter " << i;
    }
  }
}

// Constants of a step, which are bias corrections too, are sent to the device; nothing comes back.
TEST(CudaSoap, AStepBetweenRefreshesSendsItsConstantsAndNoAnswerAndTakesNoMemory) {
  EmulatedCuda device(1);
  Model model(device, {{40, 36}, {10}},
              with([](gradstep_shampoo_options& options) { options.preconditioning_compute_steps = 1000; }));
  for (int t = 1; t <= 8; ++t) {
    device.queue().finish();
    const emulation::Counts before = EmulatedCuda::control().counts();
    ASSERT_EQ(model.step(t), GRADSTEP_OK) << gradstep_last_error();
    if (t <= 3) continue;
    EXPECT_EQ(device.allocations(), before.allocations);
    EXPECT_EQ(device.waits(), before.waits);
    device.queue().finish();
    EXPECT_EQ(EmulatedCuda::control().counts().copies - before.copies, 1 + 2) << "beside the gradients of the test";
  }
}

TEST(CudaSoap, AStepBetweenRefreshesIsAFixedNumberOfLaunches) {
  std::vector<std::vector<std::string>> launches;
  for (const std::int64_t rows : {16, 160}) {
    EmulatedCuda device(1);
    Model model(device, {{rows, 16}, {5}},
                with([](gradstep_shampoo_options& options) { options.preconditioning_compute_steps = 1000; }));
    for (int t = 1; t <= 2; ++t) ASSERT_EQ(model.step(t), GRADSTEP_OK) << gradstep_last_error();
    device.queue().finish();
    EmulatedCuda::launches();
    ASSERT_EQ(model.step(3), GRADSTEP_OK) << gradstep_last_error();
    device.queue().finish();
    launches.push_back(EmulatedCuda::launches());
  }
  const std::vector<std::string> expected = {"begin_step",
                                             "copy",
                                             "gather_gradients",
                                             "cublas_f32",
                                             "cublas_f32",
                                             "step_in_bases",
                                             "cublas_f32",
                                             "cublas_f32",
                                             "scatter_preconditioned",
                                             "step_without_bases",
                                             "gather_gradients",
                                             "cublas_f32",
                                             "add_to_statistics",
                                             "keep_finite",
                                             "gather_gradients",
                                             "cublas_f32",
                                             "add_to_statistics",
                                             "keep_finite",
                                             "finish_corrected",
                                             "close_step"};
  EXPECT_EQ(launches[0], expected);
  EXPECT_EQ(launches[1], expected);
}

}  // namespace
}  // namespace gradstep::test
