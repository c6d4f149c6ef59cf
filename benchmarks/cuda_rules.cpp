// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// usage: bench_cuda_rules [ELEMENTS]
//
// Accumulation and update rules on the first CUDA device, on f32 tensors of ELEMENTS (default 100 million), beside
// cudaMemcpy from device to device in the same rounds. Times are between events of the device; results are checked.
// Prints rows of a Markdown table; the exit status is 1 where there is no device or a result is wrong.
#include <cuda_runtime_api.h>
#include <gradstep/gradstep.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

namespace {

constexpr int kRounds = 15;
constexpr int kCalls = 10;  // between two events
constexpr double kLearningRate = 0x1p-20;

void check(cudaError_t error, const char* call) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "%s: %s (%s)\n", call, cudaGetErrorString(error), cudaGetErrorName(error));
  std::exit(EXIT_FAILURE);
}

void check(gradstep_status status) {
  if (status == GRADSTEP_OK) return;
  std::fprintf(stderr, "gradstep: %s\n", gradstep_last_error());
  std::exit(EXIT_FAILURE);
}

constexpr gradstep_device kDevice = {GRADSTEP_DEVICE_CUDA, 0};
constexpr gradstep_dtype kFloat32 = {GRADSTEP_TYPE_FLOAT, 32, 1};

/// A tensor of the device, `value` throughout. The process ends with it.
gradstep_tensor make_tensor(const std::int64_t* size, float value) {
  const std::vector<float> values(static_cast<std::size_t>(*size), value);
  gradstep_tensor tensor{};
  check(cudaMalloc(&tensor.data, values.size() * sizeof(float)), "cudaMalloc");
  check(cudaMemcpy(tensor.data, values.data(), values.size() * sizeof(float), cudaMemcpyDefault), "cudaMemcpy");
  tensor.device = kDevice;
  tensor.ndim = 1;
  tensor.dtype = kFloat32;
  tensor.shape = const_cast<std::int64_t*>(size);
  return tensor;
}

/// Ends the program unless the first and the last element are within `tolerance` of what is expected.
void expect(const char* what, const gradstep_tensor& tensor, double expected, double tolerance) {
  const auto* data = static_cast<const float*>(tensor.data);
  for (const float* place : {data, data + *tensor.shape - 1}) {
    float found = 0;
    check(cudaMemcpy(&found, place, sizeof found, cudaMemcpyDefault), "cudaMemcpy");
    if (std::abs(static_cast<double>(found) - expected) <= tolerance) continue;
    std::fprintf(stderr, "%s: computed %g instead of %g\n", what, static_cast<double>(found), expected);
    std::exit(EXIT_FAILURE);
  }
}

struct Subject {
  std::string name;
  double bytes = 0;  ///< of an element, that must be read and written at least
  std::function<void(cudaStream_t)> call;
  std::vector<double> milliseconds = {};
};

double time_calls(const Subject& subject, cudaStream_t stream, cudaEvent_t begin, cudaEvent_t end) {
  check(cudaEventRecord(begin, stream), "cudaEventRecord");
  for (int k = 0; k < kCalls; ++k) subject.call(stream);
  check(cudaEventRecord(end, stream), "cudaEventRecord");
  check(cudaEventSynchronize(end), "cudaEventSynchronize");
  float milliseconds = 0;
  check(cudaEventElapsedTime(&milliseconds, begin, end), "cudaEventElapsedTime");
  return static_cast<double>(milliseconds) / kCalls;
}

void measure(std::vector<Subject>& subjects, cudaStream_t stream) {
  cudaEvent_t begin = nullptr;
  cudaEvent_t end = nullptr;
  check(cudaEventCreate(&begin), "cudaEventCreate");
  check(cudaEventCreate(&end), "cudaEventCreate");
  for (int round = -1; round < kRounds; ++round) {  // the first prepares and is not counted
    for (Subject& subject : subjects) {
      const double milliseconds = time_calls(subject, stream, begin, end);
      if (round >= 0) subject.milliseconds.push_back(milliseconds);
    }
  }
}

/// The first subject is the yardstick.
void print(std::vector<Subject>& subjects, std::int64_t elements) {
  const auto gigabytes = [&](const Subject& subject) {
    return subject.bytes * static_cast<double>(elements) / subject.milliseconds.front() / 1e6;
  };
  for (Subject& subject : subjects) std::sort(subject.milliseconds.begin(), subject.milliseconds.end());
  for (const Subject& subject : subjects) {
    std::printf("| %s | %.0f | %.3f | %.3f | %.0f | %.2f |\n", subject.name.c_str(), subject.bytes,
                subject.milliseconds.front(), subject.milliseconds[subject.milliseconds.size() / 2], gigabytes(subject),
                gigabytes(subject) / gigabytes(subjects.front()));
  }
}

void run(std::int64_t elements) {
  const std::int64_t* size = &elements;
  const gradstep_tensor gradient = make_tensor(size, 1);
  const gradstep_tensor copied = make_tensor(size, 0);
  const gradstep_tensor by_sgd = make_tensor(size, 0);
  const gradstep_tensor by_momentum = make_tensor(size, 0);
  const gradstep_tensor by_adam = make_tensor(size, 0);
  gradstep_parameter parameter{};
  parameter.struct_size = sizeof parameter;
  parameter.shape = size;
  parameter.ndim = 1;
  parameter.dtype = kFloat32;
  parameter.device = kDevice;

  gradstep_context* context = nullptr;
  check(gradstep_context_create(nullptr, &context));
  gradstep_accumulator* accumulator = nullptr;
  gradstep_accumulator_options accumulation{};
  check(gradstep_accumulator_options_init(&accumulation, sizeof accumulation));
  accumulation.mode = GRADSTEP_ACCUMULATE_SUM;
  accumulation.trigger = GRADSTEP_TRIGGER_MANUAL;
  check(gradstep_accumulator_create(context, &accumulation, &parameter, 1, &accumulator));
  gradstep_optimizer* sgd = nullptr;
  gradstep_optimizer* momentum = nullptr;
  gradstep_sgd_options sgd_options{};
  check(gradstep_sgd_options_init(&sgd_options, sizeof sgd_options));
  sgd_options.learning_rate = kLearningRate;
  check(gradstep_optimizer_create_sgd(context, &sgd_options, &parameter, 1, &sgd));
  sgd_options.momentum = 0.5;
  check(gradstep_optimizer_create_sgd(context, &sgd_options, &parameter, 1, &momentum));
  gradstep_optimizer* adam = nullptr;
  gradstep_adam_options adam_options{};
  check(gradstep_adam_options_init(&adam_options, sizeof adam_options));
  adam_options.learning_rate = kLearningRate;
  adam_options.weight_decay = 0.01;
  adam_options.decoupled_weight_decay = 1;
  check(gradstep_optimizer_create_adam(context, &adam_options, &parameter, 1, &adam));

  const std::size_t bytes = static_cast<std::size_t>(elements) * sizeof(float);
  std::vector<Subject> subjects = {
      {"copy from device to device", 8,
       [&](cudaStream_t stream) {
         check(cudaMemcpyAsync(copied.data, gradient.data, bytes, cudaMemcpyDefault, stream), "cudaMemcpyAsync");
       }},
      {"accumulate", 12,
       [&](cudaStream_t stream) { check(gradstep_accumulator_add(accumulator, &gradient, 1, 1, stream, nullptr)); }},
      {"SGD", 12, [&](cudaStream_t stream) { check(gradstep_optimizer_step(sgd, &by_sgd, &gradient, 1, stream)); }},
      {"SGD with momentum", 20,
       [&](cudaStream_t stream) { check(gradstep_optimizer_step(momentum, &by_momentum, &gradient, 1, stream)); }},
      {"AdamW", 28, [&](cudaStream_t stream) { check(gradstep_optimizer_step(adam, &by_adam, &gradient, 1, stream)); }},
  };
  cudaStream_t stream = nullptr;
  check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
  measure(subjects, stream);
  print(subjects, elements);

  // Sums of powers of two are exact. Adam's step is one learning rate each, up to epsilon 1e-8 and the roundings of
  // f32; decay by 0.01 learning rates of a parameter below 1e-3 is less.
  constexpr double kSteps = (kRounds + 1) * kCalls;
  gradstep_tensor sum{};
  check(gradstep_accumulator_flush(accumulator, stream, nullptr));
  check(gradstep_accumulator_gradients(accumulator, &sum, 1, stream));
  check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
  expect("accumulate", sum, kSteps, 0);
  expect("SGD", by_sgd, -kSteps * kLearningRate, 0);
  expect("SGD with momentum", by_momentum, -(2 * kSteps - 2) * kLearningRate, 1e-3 * kSteps * kLearningRate);
  expect("AdamW", by_adam, -kSteps * kLearningRate, 1e-3 * kSteps * kLearningRate);
}

}  // namespace

int main(int argc, char** argv) {
  int count = 0;
  if (const cudaError_t error = cudaGetDeviceCount(&count); error != cudaSuccess || count == 0) {
    std::fprintf(stderr, "bench_cuda_rules: there is no GPU here: %s\n", cudaGetErrorString(error));
    return EXIT_FAILURE;
  }
  const long long elements = argc > 1 ? std::atoll(argv[1]) : 100'000'000;
  if (elements < 1) {
    std::fprintf(stderr, "usage: bench_cuda_rules [ELEMENTS]\n");
    return EXIT_FAILURE;
  }
  run(elements);
  return EXIT_SUCCESS;
}
