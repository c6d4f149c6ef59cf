// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// How many bytes of device memory a window and a step move. What their launches are is asked on every emulated device;
// what each moves, where kernels run as nvcc has compiled them: the accesses are those of its PTX.
#include <string>
#include <utility>
#include <vector>

#include "cuda/emulated_device.h"

namespace gradstep::test {
namespace {

constexpr std::int64_t kElements = 16384;  // of each tensor
constexpr std::size_t kTensors = 2;

/// What a launch may move beside the elements: a part of these for tables of where tensors lie, and bytes for the
/// constants of the step.
constexpr double kForTables = 0.02;
constexpr double kForConstants = 4096;

/// A launch, and the bytes of each element that it has to read and write; 0 = it is about none.
using Plan = std::vector<std::pair<std::string, int>>;

/// Does kernels, in the place of the C++ compiler's, as nvcc has compiled them.
bool runs_ptx() { return std::getenv("GRADSTEP_EMULATED_PTX") != nullptr; }

template <class Work>
void expect_traffic(EmulatedCuda& device, const Plan& plan, const Work& work, const std::string& what) {
  const emulation::Control& cuda = EmulatedCuda::control();
  device.queue().finish();
  EmulatedCuda::launches();
  cuda.count_traffic(true);
  work();
  device.queue().finish();
  cuda.count_traffic(false);
  std::vector<emulation::Traffic> found;
  for (std::int64_t k = 0; cuda.launch(k) != nullptr; ++k) found.push_back(cuda.traffic(k));
  std::vector<std::string> names;
  for (const auto& [name, bytes] : plan) names.push_back(name);
  ASSERT_EQ(EmulatedCuda::launches(), names) << what;
  for (std::size_t k = 0; k < found.size(); ++k) {
    const std::string which = what + ", " + names[k];
    if (!runs_ptx()) {
      EXPECT_EQ(found[k].moved, 0) << which;
      continue;
    }
    const auto needed = static_cast<double>(plan[k].second) * kElements * kTensors;
    const double beside = kForTables * needed + kForConstants;
    const auto bytes = static_cast<double>(found[k].bytes);
    const auto moved = static_cast<double>(found[k].moved);
    EXPECT_GE(bytes, needed) << which;
    EXPECT_LE(bytes, needed + beside) << which << ": " << bytes / (kElements * kTensors) << " an element";
    EXPECT_LE(moved, needed + beside) << which << ": " << moved / (kElements * kTensors) << " an element";
  }
}

class Tensors {
 public:
  explicit Tensors(EmulatedCuda& device) {
    for (std::size_t i = 0; i < kTensors; ++i) {
      parameters_[i] = parameter_of(size_, device.id());
      for (gradstep_tensor* tensor : {&parameters[i], &gradients[i]}) {
        tensor->data = device.allocate(static_cast<std::size_t>(size_));
        tensor->device = device.id();
        tensor->ndim = 1;
        tensor->dtype = {GRADSTEP_TYPE_FLOAT, 32, 1};
        tensor->shape = &size_;
        const std::vector<float> values(static_cast<std::size_t>(size_), 0.5F);
        device.queue().upload(tensor->data, values.data(), values.size() * sizeof(float));
      }
    }
    device.queue().finish();
  }
  Tensors(const Tensors&) = delete;
  Tensors& operator=(const Tensors&) = delete;

  const gradstep_parameter* all() const { return parameters_; }

  gradstep_tensor parameters[kTensors] = {};
  gradstep_tensor gradients[kTensors] = {};

 private:
  std::int64_t size_ = kElements;
  gradstep_parameter parameters_[kTensors] = {};
};

struct Optimizer {
  gradstep_optimizer* handle = nullptr;

  Optimizer() = default;
  ~Optimizer() { gradstep_optimizer_destroy(handle); }
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;
};

using Create = gradstep_status (*)(gradstep_context*, const gradstep_parameter*, gradstep_optimizer**);

template <class Options>
Options defaults_of(gradstep_status (*init)(Options*, std::size_t)) {
  Options options{};
  TestDevice::check(init(&options, sizeof options));
  options.learning_rate = 0.5;
  return options;
}

/// With the defaults but for what kChange does.
template <auto kInit, auto kCreate, auto kChange>
gradstep_status create(gradstep_context* context, const gradstep_parameter* parameters, gradstep_optimizer** made) {
  auto options = defaults_of(kInit);
  kChange(options);
  return kCreate(context, &options, parameters, kTensors, made);
}

constexpr auto kAsItIs = [](const auto&) {};
constexpr Create kSgd = create<gradstep_sgd_options_init, gradstep_optimizer_create_sgd, kAsItIs>;
constexpr Create kMomentum =
    create<gradstep_sgd_options_init, gradstep_optimizer_create_sgd, [](auto& options) { options.momentum = 0.9; }>;
constexpr Create kRmsProp = create<gradstep_rmsprop_options_init, gradstep_optimizer_create_rmsprop, kAsItIs>;
constexpr Create kAdaGrad = create<gradstep_adagrad_options_init, gradstep_optimizer_create_adagrad, kAsItIs>;
constexpr Create kAdamW = create<gradstep_adam_options_init, gradstep_optimizer_create_adam, [](auto& options) {
  options.weight_decay = 0.01;
  options.decoupled_weight_decay = 1;
}>;
constexpr Create kAmsGrad =
    create<gradstep_adam_options_init, gradstep_optimizer_create_adam, [](auto& options) { options.amsgrad = 1; }>;

// f32: 4 bytes for each that is read or written.
TEST(CudaTraffic, AStepMovesWhatItsRuleReadsAndWrites) {
  struct Rule {
    const char* name;
    Create create;
    int bytes;
  };
  for (const Rule& rule :
       {Rule{"SGD", kSgd, 12}, Rule{"SGD with momentum", kMomentum, 20}, Rule{"RMSProp", kRmsProp, 20},
        Rule{"AdaGrad", kAdaGrad, 20}, Rule{"AdamW", kAdamW, 28}, Rule{"AMSGrad", kAmsGrad, 36}}) {
    EmulatedCuda device(1);
    const Tensors tensors(device);
    Optimizer optimizer;
    TestDevice::check(rule.create(device.context(), tensors.all(), &optimizer.handle));
    const auto step = [&] {
      TestDevice::check(
          gradstep_optimizer_step(optimizer.handle, tensors.parameters, tensors.gradients, kTensors, nullptr));
    };
    step();  // which makes its state
    expect_traffic(device, {{"begin_step", 0}, {"update", rule.bytes}}, step, rule.name);
  }
}

// Half of the tensors are matrices. A launch is about all, however many there are.
TEST(CudaTraffic, AStepOfAdafactorHasAsManyLaunchesForManyTensorsAsForTwo) {
  const std::vector<std::string> expected = {"begin_step",     "update",          "advance_rows",   "advance_columns",
                                             "row_factors",    "divide_factored", "square",         "square",
                                             "scale_factored", "mix_momentum",    "finish_factors", "finish_changes"};
  const std::int64_t shape[] = {64, 32};
  const std::vector<float> numbers(std::size_t{64} * 32, 0.5F);
  for (const std::size_t n : {2U, 10U}) {
    EmulatedCuda device(1);
    std::vector<gradstep_parameter> parameters(n, parameter_of(shape[0], device.id()));
    std::vector<gradstep_tensor> values(n);
    std::vector<gradstep_tensor> gradients(n);
    for (std::size_t i = 0; i < n; ++i) {
      parameters[i].ndim = i % 2 == 0 ? 2 : 1;
      for (gradstep_tensor* tensor : {&values[i], &gradients[i]}) {
        tensor->data = device.allocate(numbers.size());
        tensor->device = device.id();
        tensor->ndim = parameters[i].ndim;
        tensor->dtype = parameters[i].dtype;
        tensor->shape = const_cast<std::int64_t*>(shape);
        device.queue().upload(tensor->data, numbers.data(), numbers.size() * sizeof(float));
      }
    }
    const gradstep_option options[] = {{"learning_rate", 0.1, nullptr}, {"momentum", 0.5, nullptr}};
    Optimizer optimizer;
    TestDevice::check(
        gradstep_optimizer_create(device.context(), "adafactor", options, 2, parameters.data(), n, &optimizer.handle));
    for (int step = 0; step < 2; ++step) {  // the first makes its state
      EmulatedCuda::launches();
      TestDevice::check(gradstep_optimizer_step(optimizer.handle, values.data(), gradients.data(), n, nullptr));
      device.queue().finish();
    }
    EXPECT_EQ(EmulatedCuda::launches(), expected) << n << " tensors";
  }
}

// The first micro-batch is written, the others are added; clipping costs no launch and no byte of an element.
TEST(CudaTraffic, AWindowMovesEachGradientOnceAndItsSumOnceForEach) {
  EmulatedCuda device(1);
  const Tensors tensors(device);
  Optimizer optimizer;
  TestDevice::check(kAdamW(device.context(), tensors.all(), &optimizer.handle));
  gradstep_accumulator_options window{};
  TestDevice::check(gradstep_accumulator_options_init(&window, sizeof window));
  window.steps = 3;
  window.mode = GRADSTEP_ACCUMULATE_MEAN;
  gradstep_accumulator* accumulator = nullptr;
  TestDevice::check(gradstep_accumulator_create(device.context(), &window, tensors.all(), kTensors, &accumulator));
  gradstep_updater_options clipped{};
  TestDevice::check(gradstep_updater_options_init(&clipped, sizeof clipped));
  clipped.max_norm = 1;
  clipped.skip_nonfinite = 1;
  gradstep_updater* updater = nullptr;
  TestDevice::check(
      gradstep_updater_create(device.context(), optimizer.handle, accumulator, nullptr, &clipped, &updater));
  const auto push = [&] {
    for (int k = 0; k < 3; ++k) {
      TestDevice::check(
          gradstep_updater_push(updater, tensors.parameters, tensors.gradients, kTensors, 1, nullptr, nullptr));
    }
  };
  push();
  expect_traffic(
      device,
      {{"accumulate", 8}, {"accumulate", 12}, {"accumulate_and_measure", 12}, {"begin_step", 0}, {"update", 28}}, push,
      "a window");
  gradstep_updater_destroy(updater);
  gradstep_accumulator_destroy(accumulator);
}

// Half of it is read, and all of it written: its rows, and the columns that are their mirror images, by whole lines.
TEST(CudaTraffic, AStatisticIsAddedToByWholeLines) {
  constexpr std::int64_t kRows = 128;
  EmulatedCuda device(1);
  const std::int64_t shape[2] = {kRows, kRows};
  gradstep_parameter parameter = parameter_of(shape[0], device.id());
  parameter.ndim = 2;
  parameter.shape = shape;
  gradstep_tensor tensors[2] = {};
  for (gradstep_tensor& tensor : tensors) {
    tensor.data = device.allocate(std::size_t{kRows * kRows});
    tensor.device = device.id();
    tensor.ndim = 2;
    tensor.dtype = {GRADSTEP_TYPE_FLOAT, 32, 1};
    tensor.shape = const_cast<std::int64_t*>(shape);
    const std::vector<float> values(std::size_t{kRows * kRows}, 0.5F);
    device.queue().upload(tensor.data, values.data(), values.size() * sizeof(float));
  }
  gradstep_shampoo_options options = defaults_of(gradstep_shampoo_options_init);
  options.preconditioning_compute_steps = 1000;
  Optimizer optimizer;
  TestDevice::check(gradstep_optimizer_create_shampoo(device.context(), &options, &parameter, 1, &optimizer.handle));
  const emulation::Control& cuda = EmulatedCuda::control();
  const auto step = [&] {
    TestDevice::check(gradstep_optimizer_step(optimizer.handle, &tensors[0], &tensors[1], 1, nullptr));
    device.queue().finish();
  };
  step();
  EmulatedCuda::launches();
  cuda.count_traffic(true);
  step();
  cuda.count_traffic(false);
  std::int64_t launches = 0;
  std::int64_t moved = 0;
  for (std::int64_t k = 0; cuda.launch(k) != nullptr; ++k) {
    if (std::string(cuda.launch(k)) != "add_to_statistics") continue;
    ++launches;
    moved += cuda.traffic(k).moved;
  }
  EXPECT_EQ(launches, 2);  // one for each axis
  if (!runs_ptx()) {
    EXPECT_EQ(moved, 0);
    return;
  }
  const auto needed = static_cast<double>(2 * (kRows * (kRows + 1) / 2 * 8 + kRows * kRows * 4));  // of two matrices
  EXPECT_GE(static_cast<double>(moved), needed);
  EXPECT_LE(static_cast<double>(moved), 1.2 * needed);  // with what each warp reads of tables
}

}  // namespace
}  // namespace gradstep::test
