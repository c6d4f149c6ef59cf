// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Shampoo on a CUDA device beside the CPU's. What has no product and no root in it is equal to the bit; products and
// roots are the same within rounding.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <numeric>
#include <random>

#include "cuda/emulated_device.h"

namespace gradstep::test {
namespace {

using Shape = std::vector<std::int64_t>;
using Change = std::function<void(gradstep_shampoo_options&)>;

constexpr float kNan = __builtin_nanf("");

/// What is compared of an optimizer after a step.
struct Outcome {
  std::vector<std::vector<float>> parameters;
  std::vector<std::vector<float>> states;
  std::vector<double> failures;  // of roots, by parameter, block and axis
};

/// Shampoo over f32 tensors of one device, fed with numbers that are a function of the step.
class Model {
 public:
  Model(TestDevice& device, std::vector<Shape> shapes, const Change& change)
      : device_(device), shapes_(std::move(shapes)), parameters_(shapes_.size()) {
    for (std::size_t i = 0; i < shapes_.size(); ++i) {
      parameters_[i].struct_size = sizeof(gradstep_parameter);
      parameters_[i].shape = shapes_[i].data();
      parameters_[i].ndim = static_cast<std::int32_t>(shapes_[i].size());
      parameters_[i].dtype = {GRADSTEP_TYPE_FLOAT, 32, 1};
      parameters_[i].device = device.id();
      params_.push_back(tensor(i));
      grads_.push_back(tensor(i));
      write(params_[i], numbers(i, 0));
    }
    gradstep_shampoo_options options{};
    TestDevice::check(gradstep_shampoo_options_init(&options, sizeof options));
    options.learning_rate = 0.05;
    options.block_size = 16;
    options.start_preconditioning_step = 1;
    change(options);
    TestDevice::check(gradstep_optimizer_create_shampoo(device.context(), &options, parameters_.data(),
                                                        parameters_.size(), &optimizer_));
  }
  ~Model() { gradstep_optimizer_destroy(optimizer_); }
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;

  /// `missing`: the parameter without a gradient. `poison`: the one whose gradient is NaN.
  gradstep_status step(int t, std::size_t missing = kNone, std::size_t poison = kNone) {
    std::vector<gradstep_tensor> grads = grads_;
    for (std::size_t i = 0; i < grads.size(); ++i) {
      write(grads[i], i == poison ? std::vector<float>(size(i), kNan) : numbers(i, t));
      if (i == missing) grads[i] = {};
    }
    return gradstep_optimizer_step(optimizer_, params_.data(), grads.data(), grads.size(), nullptr);
  }

  Outcome outcome() {
    Outcome result;
    for (std::size_t i = 0; i < shapes_.size(); ++i) {
      result.parameters.emplace_back(size(i));
      device_.queue().download(result.parameters.back().data(), params_[i].data, size(i) * sizeof(float));
      for (const char* name : {"momentum", "diagonal_momentum", "diagonal_statistics", "diagonal_exp_avg"}) {
        result.states.push_back(state(i, name, shapes_[i]));
      }
    }
    return result;
  }
  /// Empty if there is none.
  std::vector<float> state(std::size_t i, const char* name, Shape shape) {
    const std::int64_t count = std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
    std::vector<float> values(static_cast<std::size_t>(count));
    gradstep_tensor host{};
    host.data = values.data();
    host.device = {GRADSTEP_DEVICE_CPU, 0};
    host.ndim = static_cast<std::int32_t>(shape.size());
    host.dtype = {GRADSTEP_TYPE_FLOAT, 32, 1};
    host.shape = shape.data();
    if (gradstep_optimizer_get_state(optimizer_, i, name, &host, nullptr) != GRADSTEP_OK) values.clear();
    return values;
  }
  gradstep_optimizer* optimizer() const { return optimizer_; }

  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);

 private:
  std::size_t size(std::size_t i) const {
    return static_cast<std::size_t>(
        std::accumulate(shapes_[i].begin(), shapes_[i].end(), std::int64_t{1}, std::multiplies<>()));
  }
  std::vector<float> numbers(std::size_t i, int t) const {
    std::mt19937 generator(static_cast<unsigned>(100 * t) + static_cast<unsigned>(i));
    std::vector<float> values(size(i));
    for (float& value : values) value = static_cast<float>(generator() % 2001) / 1000.0F - 1.0F;
    return values;
  }
  gradstep_tensor tensor(std::size_t i) {
    gradstep_tensor tensor{};
    tensor.data = device_.allocate(size(i));
    tensor.device = device_.id();
    tensor.ndim = static_cast<std::int32_t>(shapes_[i].size());
    tensor.dtype = {GRADSTEP_TYPE_FLOAT, 32, 1};
    tensor.shape = shapes_[i].data();
    return tensor;
  }
  void write(const gradstep_tensor& tensor, const std::vector<float>& values) {
    device_.queue().upload(tensor.data, values.data(), values.size() * sizeof(float));
  }

  TestDevice& device_;
  std::vector<Shape> shapes_;
  std::vector<gradstep_parameter> parameters_;
  std::vector<gradstep_tensor> params_;
  std::vector<gradstep_tensor> grads_;
  gradstep_optimizer* optimizer_ = nullptr;
};

class Processor final : public TestDevice {
 public:
  Processor() : TestDevice({GRADSTEP_DEVICE_CPU, 0}) {}
  std::int64_t waits() const override { return 0; }
  std::int64_t allocations() const override { return 0; }
};

/// Largest difference, relative to the largest number.
double difference(const std::vector<float>& a, const std::vector<float>& b) {
  EXPECT_EQ(a.size(), b.size());
  double largest = 1e-30;
  double worst = 0;
  for (std::size_t k = 0; k < std::min(a.size(), b.size()); ++k) {
    if (std::isnan(a[k]) && std::isnan(b[k])) continue;
    largest = std::max(largest, std::abs(static_cast<double>(b[k])));
    const double distance = std::abs(static_cast<double>(a[k]) - static_cast<double>(b[k]));
    worst = distance <= worst ? worst : distance;
  }
  return worst / largest;
}

const std::vector<Shape> kShapes = {{24, 16}, {10}, {6, 5, 4}, {40, 36}, {}, {0, 3}, {3, 70}};

/// `steps` steps on both devices; tensor 0 has no gradient in the third.
void compare(const Change& change, double tolerance, const std::vector<Shape>& shapes = kShapes, int steps = 4,
             std::size_t poison = Model::kNone) {
  Processor processor;
  EmulatedCuda device(7);
  Model expected(processor, shapes, change);
  Model found(device, shapes, change);
  for (int t = 1; t <= steps; ++t) {
    const std::size_t missing = t == 3 ? 0 : Model::kNone;
    const std::size_t poisoned = t == 2 ? poison : Model::kNone;
    ASSERT_EQ(expected.step(t, missing, poisoned), GRADSTEP_OK) << gradstep_last_error();
    ASSERT_EQ(found.step(t, missing, poisoned), GRADSTEP_OK) << gradstep_last_error();
    const Outcome a = found.outcome();
    const Outcome b = expected.outcome();
    for (std::size_t i = 0; i < a.parameters.size(); ++i) {
      EXPECT_LE(difference(a.parameters[i], b.parameters[i]), tolerance) << "parameter " << i << ", step " << t;
    }
    for (std::size_t s = 0; s < a.states.size(); ++s) {
      EXPECT_LE(difference(a.states[s], b.states[s]), tolerance) << "state " << s << ", step " << t;
    }
  }
}

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
    compare(plain, 0);
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

TEST(CudaShampoo, CodesOfMomentaAreEqualToTheBit) {
  const auto coded = [](gradstep_shampoo_options& options) {
    options.precondition = 0;
    options.quantize_momentum = 1;
  };
  compare(coded, 0, {{24, 16}, {300}, {6, 5, 4}, {40, 36}, {3, 70}, {1, 1}});
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
    compare(one_sided, kTolerance);
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

TEST(CudaShampoo, StepsAreTheCpusWhenRootsComeLater) {
  const auto late = [](gradstep_shampoo_options& options) {
    options.root_lag = 1;
    options.preconditioning_compute_steps = 2;
  };
  compare(late, kTolerance, kShapes, 5);
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

/// The value of a metric of parameter 0's first matrix.
double metric(const Model& model, const char* name) {
  std::size_t count = 0;
  TestDevice::check(gradstep_optimizer_metrics(model.optimizer(), nullptr, sizeof(gradstep_metric), 0, &count));
  std::vector<gradstep_metric> metrics(count);
  TestDevice::check(
      gradstep_optimizer_metrics(model.optimizer(), metrics.data(), sizeof(gradstep_metric), metrics.size(), &count));
  for (const gradstep_metric& m : metrics) {
    if (std::string(m.name) == name && m.parameter == 0 && m.block == 0 && m.axis == 0) return m.value;
  }
  ADD_FAILURE() << "there is no metric " << name;
  return 0;
}

TEST(CudaShampoo, AStatisticThatIsNotFiniteKeepsTheOldRoot) {
  for (const int method : {GRADSTEP_ROOT_METHOD_COUPLED_NEWTON, GRADSTEP_ROOT_METHOD_EIGH}) {
    EmulatedCuda device(3);
    Model model(device, {{8, 6}, {5}}, [method](gradstep_shampoo_options& options) { options.root_method = method; });
    ASSERT_EQ(model.step(1), GRADSTEP_OK) << gradstep_last_error();
    const std::vector<float> before = model.state(0, "preconditioners.0.0", {8, 8});
    const std::vector<float> other = model.state(1, "preconditioners.0.0", {5, 5});
    EXPECT_EQ(metric(model, "root_failures"), 0);
    ASSERT_EQ(model.step(2, Model::kNone, /*poison=*/0), GRADSTEP_OK) << gradstep_last_error();
    EXPECT_EQ(model.state(0, "preconditioners.0.0", {8, 8}), before);
    EXPECT_NE(model.state(1, "preconditioners.0.0", {5, 5}), other);
    EXPECT_EQ(metric(model, "root_failures"), 1);
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
  EXPECT_GT(metric(expected, "root_retries"), 0);
  EXPECT_GT(metric(found, "root_retries"), 0);
  EXPECT_EQ(metric(found, "root_failures"), metric(expected, "root_failures"));
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

// What has a batch of its own is one launch, however many blocks there are.
TEST(CudaShampoo, AStepBetweenRootsIsAFixedNumberOfLaunches) {
  std::vector<std::vector<std::string>> launches;
  for (const std::int64_t rows : {16, 160}) {
    EmulatedCuda device(1);
    Model model(device, {{rows, 16}},
                [](gradstep_shampoo_options& options) { options.preconditioning_compute_steps = 1000; });
    for (int t = 1; t <= 2; ++t) ASSERT_EQ(model.step(t), GRADSTEP_OK) << gradstep_last_error();
    device.queue().finish();
    EmulatedCuda::launches();
    ASSERT_EQ(model.step(3), GRADSTEP_OK) << gradstep_last_error();
    device.queue().finish();
    launches.push_back(EmulatedCuda::launches());
  }
  const std::vector<std::string> axis = {"gather_gradients", "cublas_f32", "add_to_statistics"};
  std::vector<std::string> expected = {"begin_step", "copy"};
  for (int k = 0; k < 2; ++k) expected.insert(expected.end(), axis.begin(), axis.end());
  for (const char* name : {"gather_gradients", "cublas_f32", "cublas_f32", "scatter_preconditioned", "square_tensors",
                           "set_scales", "finish_shampoo", "close_step"}) {
    expected.emplace_back(name);
  }
  EXPECT_EQ(launches[0], expected);
  EXPECT_EQ(launches[1], expected);
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

TEST(CudaShampooDeathTest, ALibraryThatIsMissingIsNamedWhenTheOptimizerIsCreated) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // in this process they may be open
  EXPECT_EXIT(create_without("libcublas.so.13", "cuBLAS"), testing::ExitedWithCode(0), "");
  EXPECT_EXIT(create_without("libcusolver.so.12", "cuSOLVER"), testing::ExitedWithCode(0), "");
}

TEST(CudaShampoo, TheEigenvalueCorrectedModeIsRefusedByNameWhenTheOptimizerIsCreated) {
  EmulatedCuda device(1);
  const std::int64_t size = 3;
  const gradstep_parameter parameter = vector_of(size, device);
  gradstep_shampoo_options options{};
  TestDevice::check(gradstep_shampoo_options_init(&options, sizeof options));
  options.learning_rate = 0.1;
  options.eigenvalue_corrected = 1;
  gradstep_optimizer* optimizer = nullptr;
  EXPECT_EQ(gradstep_optimizer_create_shampoo(device.context(), &options, &parameter, 1, &optimizer),
            GRADSTEP_ERR_UNSUPPORTED);
  EXPECT_EQ(optimizer, nullptr);
  EXPECT_NE(std::string(gradstep_last_error()).find("options.eigenvalue_corrected"), std::string::npos)
      << gradstep_last_error();
  gradstep_optimizer_destroy(optimizer);
}

}  // namespace
}  // namespace gradstep::test
