// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// usage: bench_cuda_rules [--small] [rules|tensors|windows]...
//
// From C++, on the first CUDA device, in f32, each alone or all by default:
//
//   rules    accumulation and update rules on 1e8 elements beside a copy from device to device
//   tensors  Adam on 400 tensors of 64x64
//   windows  eight micro-batches of a model of 124M parameters with clipping and AdamW, call by call and as a CUDA
//   graph
//
// All take turns in every round, times are between events of the device, and results are checked before they are
// printed, as tables of Markdown: the title of one whose results are wrong says so. --small takes sizes that a test on
// an emulated device bears. The exit status is 1 where there is no device or a result is wrong, 2 where there is no
// such part.
#include <cuda_runtime_api.h>
#include <gradstep/gradstep.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

namespace {

constexpr double kLearningRate = 0x1p-20;
constexpr int kMicroBatches = 8;

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
constexpr gradstep_dtype kFloat64 = {GRADSTEP_TYPE_FLOAT, 64, 1};

void copy(void* to, const void* from, std::size_t bytes, cudaStream_t stream) {
  check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream), "cudaMemcpyAsync");
}

/// Tensors of the device, each of one dimension and of one value throughout. Their memory ends with the process.
class Tensors {
 public:
  Tensors(std::vector<std::int64_t> sizes, float value, cudaStream_t stream) : sizes_(std::move(sizes)) {
    for (const std::int64_t& size : sizes_) {
      const std::vector<float> values(static_cast<std::size_t>(size), value);
      gradstep_tensor tensor{};
      check(cudaMalloc(&tensor.data, values.size() * sizeof(float)), "cudaMalloc");
      copy(tensor.data, values.data(), values.size() * sizeof(float), stream);
      check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
      tensor.device = kDevice;
      tensor.ndim = 1;
      tensor.dtype = kFloat32;
      tensor.shape = const_cast<std::int64_t*>(&size);
      all_.push_back(tensor);
      gradstep_parameter parameter{};
      parameter.struct_size = sizeof parameter;
      parameter.shape = &size;
      parameter.ndim = 1;
      parameter.dtype = kFloat32;
      parameter.device = kDevice;
      parameters_.push_back(parameter);
    }
  }
  Tensors(const Tensors&) = delete;
  Tensors& operator=(const Tensors&) = delete;

  const gradstep_tensor* data() const { return all_.data(); }
  const gradstep_tensor& back() const { return all_.back(); }
  const gradstep_parameter* parameters() const { return parameters_.data(); }
  std::size_t count() const { return all_.size(); }
  double elements() const { return static_cast<double>(std::reduce(sizes_.begin(), sizes_.end())); }

 private:
  std::vector<std::int64_t> sizes_;
  std::vector<gradstep_tensor> all_;
  std::vector<gradstep_parameter> parameters_;
};

/// Whether the first and the last element are within `tolerance` of what is expected; says it if not.
bool is_near(const std::string& what, const gradstep_tensor& tensor, double expected, double tolerance,
             cudaStream_t stream) {
  const auto* data = static_cast<const float*>(tensor.data);
  for (const float* place : {data, data + *tensor.shape - 1}) {
    float found = 0;
    copy(&found, place, sizeof found, stream);
    check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
    if (std::abs(static_cast<double>(found) - expected) <= tolerance) continue;
    std::fprintf(stderr, "%s: computed %g instead of %g\n", what.c_str(), static_cast<double>(found), expected);
    return false;
  }
  return true;
}

struct Subject {
  std::string name;
  double bytes = 0;  ///< that a call must read and write at least
  std::function<void()> call;
  std::vector<double> milliseconds = {};
};

double time_calls(const Subject& subject, int calls, cudaStream_t stream, cudaEvent_t begin, cudaEvent_t end) {
  check(cudaEventRecord(begin, stream), "cudaEventRecord");
  for (int k = 0; k < calls; ++k) subject.call();
  check(cudaEventRecord(end, stream), "cudaEventRecord");
  check(cudaEventSynchronize(end), "cudaEventSynchronize");
  float milliseconds = 0;
  check(cudaEventElapsedTime(&milliseconds, begin, end), "cudaEventElapsedTime");
  return static_cast<double>(milliseconds) / calls;
}

struct Repetitions {
  int rounds = 15;
  int calls = 10;  ///< between two events
};

/// Returns how often each subject has been called.
double measure(std::vector<Subject>& subjects, Repetitions repetitions, cudaStream_t stream) {
  const auto [rounds, calls] = repetitions;
  cudaEvent_t begin = nullptr;
  cudaEvent_t end = nullptr;
  check(cudaEventCreateWithFlags(&begin, cudaEventDefault), "cudaEventCreateWithFlags");
  check(cudaEventCreateWithFlags(&end, cudaEventDefault), "cudaEventCreateWithFlags");
  for (int round = -1; round < rounds; ++round) {  // the first prepares and is not counted
    for (Subject& subject : subjects) {
      const double milliseconds = time_calls(subject, calls, stream, begin, end);
      if (round >= 0) subject.milliseconds.push_back(milliseconds);
    }
  }
  check(cudaEventDestroy(begin), "cudaEventDestroy");
  check(cudaEventDestroy(end), "cudaEventDestroy");
  return (rounds + 1.0) * calls;
}

/// The first subject is the yardstick. Returns `agrees`.
bool print(const std::string& title, bool agrees, std::vector<Subject>& subjects) {
  std::printf("\n| %s, from C++%s | best ms | median ms | GB/s | of the copy |\n|---|---|---|---|---|\n", title.c_str(),
              agrees ? "" : ", results differ");
  for (Subject& subject : subjects) std::sort(subject.milliseconds.begin(), subject.milliseconds.end());
  const auto gigabytes = [](const Subject& subject) { return subject.bytes / subject.milliseconds.front() / 1e6; };
  for (const Subject& subject : subjects) {
    std::printf("| %s | %.3f | %.3f | %.0f | %.2f |\n", subject.name.c_str(), subject.milliseconds.front(),
                subject.milliseconds[subject.milliseconds.size() / 2], gigabytes(subject),
                gigabytes(subject) / gigabytes(subjects.front()));
  }
  std::fflush(stdout);
  return agrees;
}

Subject copy_of(std::int64_t elements, cudaStream_t stream) {
  void* from = nullptr;
  void* to = nullptr;
  const std::size_t bytes = static_cast<std::size_t>(elements) * sizeof(float);
  check(cudaMalloc(&from, bytes), "cudaMalloc");
  check(cudaMalloc(&to, bytes), "cudaMalloc");
  check(cudaMemsetAsync(from, 1, bytes, stream), "cudaMemsetAsync");
  return {"copy from device to device", 2.0 * static_cast<double>(bytes), [=] { copy(to, from, bytes, stream); }};
}

gradstep_optimizer* make_adam(gradstep_context* context, const Tensors& tensors, double weight_decay) {
  gradstep_adam_options options{};
  check(gradstep_adam_options_init(&options, sizeof options));
  options.learning_rate = kLearningRate;
  options.weight_decay = weight_decay;
  options.decoupled_weight_decay = weight_decay != 0 ? 1 : 0;
  gradstep_optimizer* adam = nullptr;
  check(gradstep_optimizer_create_adam(context, &options, tensors.parameters(), tensors.count(), &adam));
  return adam;
}

bool rules(gradstep_context* context, std::int64_t elements, Repetitions repetitions, cudaStream_t stream) {
  const Tensors gradient({elements}, 1, stream);
  const Tensors by_sgd({elements}, 0, stream);
  const Tensors by_momentum({elements}, 0, stream);
  const Tensors by_adam({elements}, 0, stream);
  gradstep_accumulator* accumulator = nullptr;
  gradstep_accumulator_options accumulation{};
  check(gradstep_accumulator_options_init(&accumulation, sizeof accumulation));
  accumulation.mode = GRADSTEP_ACCUMULATE_SUM;
  accumulation.trigger = GRADSTEP_TRIGGER_MANUAL;
  check(gradstep_accumulator_create(context, &accumulation, gradient.parameters(), 1, &accumulator));
  gradstep_optimizer* sgd = nullptr;
  gradstep_optimizer* momentum = nullptr;
  gradstep_sgd_options sgd_options{};
  check(gradstep_sgd_options_init(&sgd_options, sizeof sgd_options));
  sgd_options.learning_rate = kLearningRate;
  check(gradstep_optimizer_create_sgd(context, &sgd_options, by_sgd.parameters(), 1, &sgd));
  sgd_options.momentum = 0.5;
  check(gradstep_optimizer_create_sgd(context, &sgd_options, by_momentum.parameters(), 1, &momentum));
  gradstep_optimizer* const adam = make_adam(context, by_adam, 0.01);

  const auto step = [&gradient, stream](gradstep_optimizer* optimizer, const Tensors& tensors) {
    return [optimizer, parameters = tensors.data(), gradients = gradient.data(), stream] {
      check(gradstep_optimizer_step(optimizer, parameters, gradients, 1, stream));
    };
  };
  std::vector<Subject> subjects = {
      copy_of(elements, stream),
      {"accumulate", 12 * gradient.elements(),
       [&] { check(gradstep_accumulator_add(accumulator, gradient.data(), 1, 1, stream, nullptr)); }},
      {"SGD", 12 * gradient.elements(), step(sgd, by_sgd)},
      {"SGD with momentum", 20 * gradient.elements(), step(momentum, by_momentum)},
      {"AdamW", 28 * gradient.elements(), step(adam, by_adam)},
  };
  const double steps = measure(subjects, repetitions, stream);

  // Sums of powers of two are exact. Adam's step is one learning rate each, up to epsilon 1e-8 and the roundings of
  // f32; decay by 0.01 learning rates of a parameter below 1e-3 is less.
  gradstep_tensor sum{};
  check(gradstep_accumulator_flush(accumulator, stream, nullptr));
  check(gradstep_accumulator_gradients(accumulator, &sum, 1, stream));
  bool agrees = is_near("accumulate", sum, steps, 0, stream);
  agrees &= is_near("SGD", by_sgd.back(), -steps * kLearningRate, 0, stream);
  agrees &= is_near("SGD with momentum", by_momentum.back(), -(2 * steps - 2 + std::exp2(1 - steps)) * kLearningRate,
                    1e-3 * steps * kLearningRate, stream);
  agrees &= is_near("AdamW", by_adam.back(), -steps * kLearningRate, 1e-3 * steps * kLearningRate, stream);
  print(std::to_string(elements) + " f32", agrees, subjects);
  gradstep_accumulator_destroy(accumulator);
  for (gradstep_optimizer* optimizer : {sgd, momentum, adam}) gradstep_optimizer_destroy(optimizer);
  return agrees;
}

bool many_tensors(gradstep_context* context, std::size_t count, Repetitions repetitions, cudaStream_t stream) {
  constexpr std::int64_t kElements = 64 * 64;
  const std::vector sizes(count, kElements);
  const Tensors gradients(sizes, 1, stream);
  const Tensors parameters(sizes, 0, stream);
  gradstep_optimizer* const adam = make_adam(context, parameters, 0);
  std::vector<Subject> subjects = {
      copy_of(static_cast<std::int64_t>(gradients.elements()), stream),
      {"Adam", 28 * gradients.elements(),
       [&] { check(gradstep_optimizer_step(adam, parameters.data(), gradients.data(), count, stream)); }},
  };
  const double steps = measure(subjects, repetitions, stream);
  const bool agrees = is_near("Adam", parameters.back(), -steps * kLearningRate, 1e-3 * steps * kLearningRate, stream);
  gradstep_optimizer_destroy(adam);
  return print(std::to_string(count) + " tensors of 64x64", agrees, subjects);
}

std::vector<std::int64_t> transformer(std::int64_t wide, int layers, std::int64_t words, std::int64_t positions) {
  std::vector<std::int64_t> sizes = {words * wide, positions * wide, wide, wide};
  for (int k = 0; k < layers; ++k) {
    for (const std::int64_t rows : {3 * wide, wide, 4 * wide, 4 * wide}) sizes.push_back(rows * wide);
    for (const std::int64_t size : {3 * wide, wide, 4 * wide, wide, wide, wide, wide, wide}) sizes.push_back(size);
  }
  return sizes;
}

/// Windows of one model and optimizer, with a learning rate of its own each.
class Windows {
 public:
  Windows(gradstep_context* context, const Tensors& gradients, const std::vector<std::int64_t>& sizes, bool captured,
          cudaStream_t stream)
      : gradients_(gradients), parameters_(sizes, 0, stream), stream_(stream) {
    adam_ = make_adam(context, parameters_, 0.01);
    gradstep_accumulator_options accumulation{};
    check(gradstep_accumulator_options_init(&accumulation, sizeof accumulation));
    accumulation.mode = GRADSTEP_ACCUMULATE_SUM;
    accumulation.steps = kMicroBatches;
    check(gradstep_accumulator_create(context, &accumulation, parameters_.parameters(), sizes.size(), &accumulator_));
    gradstep_updater_options options{};
    check(gradstep_updater_options_init(&options, sizeof options));
    options.max_norm = 1;
    check(gradstep_updater_create(context, adam_, accumulator_, nullptr, &options, &updater_));
    if (captured) capture();
  }
  Windows(const Windows&) = delete;
  Windows& operator=(const Windows&) = delete;
  ~Windows() {
    if (graph_ != nullptr) check(cudaGraphExecDestroy(graph_), "cudaGraphExecDestroy");
    gradstep_updater_destroy(updater_);
    gradstep_accumulator_destroy(accumulator_);
    gradstep_optimizer_destroy(adam_);
  }

  void run() {
    const double rate = kLearningRate * static_cast<double>(1 + windows_++ % 5);
    travelled_ += rate;
    if (graph_ == nullptr) {
      check(gradstep_optimizer_set_value(adam_, -1, "learning_rate", rate));
      put();
    } else {
      // A rate has a place of its own until its copy has been made: rounds are waited for.
      double& place = rates_[windows_ % kPlaces];
      place = rate;
      copy(rate_.data, &place, sizeof rate, stream_);
      check(cudaGraphLaunch(graph_, stream_), "cudaGraphLaunch");
    }
  }

  // A step of Adam is a learning rate long, but for epsilon, 1e-8 beside gradients of 1e-4 when they are clipped.
  bool has_travelled(const char* what) const {
    return is_near(what, parameters_.back(), -travelled_, 2e-3 * travelled_, stream_);
  }

 private:
  static constexpr std::size_t kPlaces = 64;

  void put() {
    for (int k = 0; k < kMicroBatches; ++k) {
      check(gradstep_updater_push(updater_, parameters_.data(), gradients_.data(), gradients_.count(), 1, stream_,
                                  nullptr));
    }
  }

  /// After a window of the same kind, as a capture asks for.
  void capture() {
    void* pinned = nullptr;
    check(cudaHostAlloc(&pinned, kPlaces * sizeof(double), cudaHostAllocDefault), "cudaHostAlloc");
    rates_ = static_cast<double*>(pinned);
    check(cudaMalloc(&rate_.data, sizeof(double)), "cudaMalloc");
    rate_.device = kDevice;
    rate_.ndim = 1;
    rate_.dtype = kFloat64;
    rate_.shape = one_;
    rates_[0] = kLearningRate;
    copy(rate_.data, rates_, sizeof(double), stream_);
    check(gradstep_optimizer_set_tensor(adam_, -1, "learning_rate", &rate_));
    put();
    travelled_ += kLearningRate;
    cudaGraph_t graph = nullptr;
    check(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeGlobal), "cudaStreamBeginCapture");
    put();
    check(cudaStreamEndCapture(stream_, &graph), "cudaStreamEndCapture");
    check(cudaGraphInstantiate(&graph_, graph, 0), "cudaGraphInstantiate");
    check(cudaGraphDestroy(graph), "cudaGraphDestroy");
    check(cudaStreamSynchronize(stream_), "cudaStreamSynchronize");
  }

  const Tensors& gradients_;
  Tensors parameters_;
  cudaStream_t stream_;
  gradstep_optimizer* adam_ = nullptr;
  gradstep_accumulator* accumulator_ = nullptr;
  gradstep_updater* updater_ = nullptr;
  cudaGraphExec_t graph_ = nullptr;
  double* rates_ = nullptr;
  std::int64_t one_[1] = {1};
  gradstep_tensor rate_{};
  std::size_t windows_ = 0;
  double travelled_ = 0;
};

/// The calls are reported before anything is captured: an error ends the program.
bool windows(gradstep_context* context, const std::vector<std::int64_t>& sizes, Repetitions repetitions,
             cudaStream_t stream) {
  const Tensors gradients(sizes, 1, stream);
  // The first gradient is not added to anything; the last addition measures the norm; AdamW.
  const double bytes = (8 + 12 * (kMicroBatches - 1) + 28) * gradients.elements();
  char title[80];
  std::snprintf(title, sizeof title, "%d micro-batches of %.1fM f32, clipped, AdamW", kMicroBatches,
                gradients.elements() / 1e6);
  const Subject copies = copy_of(static_cast<std::int64_t>(gradients.elements()), stream);
  bool agrees = true;
  for (const bool captured : {false, true}) {
    Windows one(context, gradients, sizes, captured, stream);
    const char* const name = captured ? "a CUDA graph" : "call by call";
    std::vector<Subject> subjects = {copies, {name, bytes, [&] { one.run(); }}};
    measure(subjects, repetitions, stream);
    agrees &= print(title, one.has_travelled(name), subjects);
  }
  return agrees;
}

bool run(const std::string& part, bool small, gradstep_context* context, cudaStream_t stream) {
  const Repetitions few = {2, 2};
  if (part == "rules") return rules(context, small ? 300 : 100'000'000, small ? few : Repetitions{}, stream);
  if (part == "tensors") return many_tensors(context, small ? 2 : 400, small ? few : Repetitions{}, stream);
  return windows(context, small ? transformer(2, 1, 10, 20) : transformer(768, 12, 50257, 1024),
                 small ? few : Repetitions{15, 3}, stream);
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> all = {"rules", "tensors", "windows"};
  std::vector<std::string> parts;
  bool small = false;
  for (int k = 1; k < argc; ++k) {
    const std::string argument = argv[k];
    if (argument == "--small") {
      small = true;
    } else if (std::find(all.begin(), all.end(), argument) != all.end()) {
      parts.push_back(argument);
    } else {
      std::fprintf(stderr, "usage: bench_cuda_rules [--small] [rules|tensors|windows]...\n");
      return 2;
    }
  }
  int count = 0;
  if (const cudaError_t error = cudaGetDeviceCount(&count); error != cudaSuccess || count == 0) {
    std::fprintf(stderr, "bench_cuda_rules: there is no GPU here: %s\n", cudaGetErrorString(error));
    return EXIT_FAILURE;
  }
  cudaStream_t stream = nullptr;
  check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
  gradstep_context* context = nullptr;
  check(gradstep_context_create(nullptr, &context));
  bool agrees = true;
  for (const std::string& part : parts.empty() ? all : parts) agrees &= run(part, small, context, stream);
  gradstep_context_destroy(context);
  check(cudaStreamDestroy(stream), "cudaStreamDestroy");
  return agrees ? EXIT_SUCCESS : EXIT_FAILURE;
}
