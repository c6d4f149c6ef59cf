// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// usage: example_cuda [RANKS]
//
// A linear model is fitted on a CUDA device. An update is a window: four micro-batches, their mean clipped by
// its norm, a step of AdamW. The host puts the window into a stream call by call; then it does so once, captures that
// in a CUDA graph, and replays the graph for every other update, each with its own data and learning rate. Both end
// with the same bits, and neither waits for the device before the end.
//
// With RANKS, that many threads train on as many devices, and their gradients travel by NCCL. Exchanges cannot be
// captured, so every window is put together call by call there.
//
// The exit status is 77 where there is nothing to run on.
#include <cuda_runtime.h>
#include <gradstep/gradstep.h>

#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <numbers>
#include <thread>
#include <vector>

namespace {

constexpr int kSkipped = 77;
constexpr int kInputs = 16;
constexpr int kWeights = kInputs + 1;  // the last one is the bias
constexpr int kBatch = 16;
constexpr int kMicroBatches = 4;
constexpr int kUpdates = 200;
constexpr double kLearningRate = 0.1;

void check(gradstep_status status) {
  if (status == GRADSTEP_OK) return;
  std::fprintf(stderr, "gradstep: %s: %s\n", gradstep_status_name(status), gradstep_last_error());
  std::exit(EXIT_FAILURE);
}

void check(cudaError_t error) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "CUDA: %s: %s\n", cudaGetErrorName(error), cudaGetErrorString(error));
  std::exit(EXIT_FAILURE);
}

template <auto Function>
struct Destroy {
  template <class T>
  void operator()(T* handle) const {
    Function(handle);
  }
};
using Context = std::unique_ptr<gradstep_context, Destroy<gradstep_context_destroy>>;
using Accumulator = std::unique_ptr<gradstep_accumulator, Destroy<gradstep_accumulator_destroy>>;
using Optimizer = std::unique_ptr<gradstep_optimizer, Destroy<gradstep_optimizer_destroy>>;
using Communicator = std::unique_ptr<gradstep_comm, Destroy<gradstep_comm_destroy>>;
using Reducer = std::unique_ptr<gradstep_reducer, Destroy<gradstep_reducer_destroy>>;
using Updater = std::unique_ptr<gradstep_updater, Destroy<gradstep_updater_destroy>>;
using Stream = std::unique_ptr<CUstream_st, Destroy<cudaStreamDestroy>>;
using Graph = std::unique_ptr<CUgraphExec_st, Destroy<cudaGraphExecDestroy>>;

template <class T>
using DeviceArray = std::unique_ptr<T, Destroy<cudaFree>>;
template <class T>
using PinnedArray = std::unique_ptr<T[], Destroy<cudaFreeHost>>;

template <class T>
DeviceArray<T> make_device_array(std::size_t count) {
  void* data = nullptr;
  check(cudaMalloc(&data, count * sizeof(T)));
  return DeviceArray<T>(static_cast<T*>(data));
}

template <class T>
PinnedArray<T> make_pinned_array(std::size_t count) {
  void* data = nullptr;
  check(cudaHostAlloc(&data, count * sizeof(T), cudaHostAllocDefault));
  return PinnedArray<T>(static_cast<T*>(data));
}

Stream make_stream() {
  cudaStream_t stream = nullptr;
  check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));  // the legacy default stream cannot be captured
  return Stream(stream);
}

/// What differs from one update to the next.
struct UpdateInputs {
  double learning_rate;
  std::uint32_t first_point;
  std::uint32_t reserved;
};

/// A number between -1 and 1 from a counter: the same data in every run.
__host__ __device__ float number(std::uint32_t counter) {
  std::uint32_t hash = counter * 2654435761U;
  hash = (hash ^ (hash >> 15)) * 2246822519U;
  hash ^= hash >> 13;
  return static_cast<float>(hash >> 8) / 8388608 - 1;
}

__host__ __device__ float true_weight(int i) { return number(0x40000000U + static_cast<std::uint32_t>(i)); }

__device__ float input_of(std::uint32_t point, int i) {
  return i == kInputs ? 1.0F : number(point * kInputs + static_cast<std::uint32_t>(i));
}

/// Gradient of the mean squared error over a micro-batch, a thread for each weight.
__global__ void squared_error_gradient(const float* weights, const UpdateInputs* inputs, std::uint32_t micro_batch,
                                       float* gradient) {
  const int own = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (own >= kWeights) return;
  float sum = 0;
  for (std::uint32_t k = 0; k < kBatch; ++k) {
    const std::uint32_t point = inputs->first_point + micro_batch * kBatch + k;
    float residual = 0;
    for (int i = 0; i < kWeights; ++i) residual += (weights[i] - true_weight(i)) * input_of(point, i);
    sum += 2 * residual * input_of(point, own) / kBatch;
  }
  gradient[own] = sum;
}

class Training {
 public:
  /// On the calling thread's device, whose number is `device`. `comm` NULL: alone.
  Training(int device, gradstep_comm* comm);
  ~Training() { check(cudaStreamSynchronize(stream_.get())); }
  Training(const Training&) = delete;
  Training& operator=(const Training&) = delete;

  void run(bool with_graph, int rank, int ranks);
  std::vector<float> weights() const;

 private:
  void put_window();
  Graph capture_window();

  // A context's handles end before it, and memory after all of them.
  Stream stream_ = make_stream();
  DeviceArray<float> weights_ = make_device_array<float>(kWeights);
  DeviceArray<float> gradient_ = make_device_array<float>(kWeights);
  DeviceArray<UpdateInputs> inputs_ = make_device_array<UpdateInputs>(1);
  PinnedArray<UpdateInputs> all_inputs_ = make_pinned_array<UpdateInputs>(kUpdates);
  std::int64_t shape_[1] = {kWeights};
  gradstep_tensor weights_tensor_{};
  gradstep_tensor gradient_tensor_{};
  Context context_;
  Optimizer optimizer_;
  Accumulator accumulator_;
  Reducer reducer_;
  Updater updater_;
};

Training::Training(int device, gradstep_comm* comm) {
  check(cudaMemsetAsync(weights_.get(), 0, kWeights * sizeof(float), stream_.get()));

  const gradstep_device cuda = {GRADSTEP_DEVICE_CUDA, device};
  const gradstep_dtype f32 = {GRADSTEP_TYPE_FLOAT, 32, 1};
  gradstep_parameter parameter{};
  parameter.struct_size = sizeof parameter;
  parameter.name = "weights";
  parameter.shape = shape_;
  parameter.ndim = 1;
  parameter.dtype = f32;
  parameter.device = cuda;
  weights_tensor_.data = weights_.get();  // cudaMalloc's, or any other memory of the device
  weights_tensor_.device = cuda;
  weights_tensor_.ndim = 1;
  weights_tensor_.dtype = f32;
  weights_tensor_.shape = shape_;
  gradient_tensor_ = weights_tensor_;
  gradient_tensor_.data = gradient_.get();

  gradstep_context* context = nullptr;
  check(gradstep_context_create(nullptr, &context));
  context_.reset(context);

  gradstep_adam_options adam{};
  check(gradstep_adam_options_init(&adam, sizeof adam));
  adam.learning_rate = kLearningRate;  // until it is read from the device
  adam.weight_decay = 0.001;
  adam.decoupled_weight_decay = 1;
  gradstep_optimizer* optimizer = nullptr;
  check(gradstep_optimizer_create_adam(context, &adam, &parameter, 1, &optimizer));
  optimizer_.reset(optimizer);

  // docs:begin learning_rate
  std::int64_t one[1] = {1};
  gradstep_tensor learning_rate{};
  learning_rate.data = &inputs_.get()->learning_rate;  // on the device: read when a step runs, replayed ones too
  learning_rate.device = cuda;
  learning_rate.ndim = 1;
  learning_rate.dtype = {GRADSTEP_TYPE_FLOAT, 64, 1};
  learning_rate.shape = one;
  check(gradstep_optimizer_set_tensor(optimizer, -1, "learning_rate", &learning_rate));
  // docs:end learning_rate

  gradstep_accumulator_options accumulation{};
  check(gradstep_accumulator_options_init(&accumulation, sizeof accumulation));
  accumulation.steps = kMicroBatches;
  gradstep_accumulator* accumulator = nullptr;
  check(gradstep_accumulator_create(context, &accumulation, &parameter, 1, &accumulator));
  accumulator_.reset(accumulator);

  gradstep_reducer* reducer = nullptr;
  if (comm != nullptr) check(gradstep_reducer_create(context, comm, nullptr, &parameter, 1, &reducer));
  reducer_.reset(reducer);

  gradstep_updater_options options{};
  check(gradstep_updater_options_init(&options, sizeof options));
  options.max_norm = 1;
  gradstep_updater* updater = nullptr;
  check(gradstep_updater_create(context, optimizer, accumulator, reducer, &options, &updater));
  updater_.reset(updater);
}

/// Queues an update; nothing of it is waited for, but for exchanges between ranks.
void Training::put_window() {
  for (std::uint32_t k = 0; k < kMicroBatches; ++k) {
    cudaLaunchConfig_t launch{};
    launch.gridDim.x = 1;
    launch.blockDim.x = 32;
    launch.stream = stream_.get();
    check(cudaLaunchKernelEx(&launch, squared_error_gradient, weights_.get(), inputs_.get(), k, gradient_.get()));
    check(gradstep_updater_push(updater_.get(), &weights_tensor_, &gradient_tensor_, 1, 1.0, stream_.get(), nullptr));
  }
}

Graph Training::capture_window() {
  // docs:begin capture
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t executable = nullptr;
  check(cudaStreamBeginCapture(stream_.get(), cudaStreamCaptureModeGlobal));
  put_window();
  check(cudaStreamEndCapture(stream_.get(), &graph));
  check(cudaGraphInstantiate(&executable, graph, 0));
  check(cudaGraphDestroy(graph));
  // docs:end capture
  return Graph(executable);
}

void Training::run(bool with_graph, int rank, int ranks) {
  UpdateInputs* const all_inputs = all_inputs_.get();
  for (int update = 0; update < kUpdates; ++update) {
    const double turn = std::numbers::pi * update / kUpdates;
    all_inputs[update] = {kLearningRate * (1 + std::cos(turn)) / 2,
                          static_cast<std::uint32_t>((update * ranks + rank) * kMicroBatches * kBatch), 0};
  }
  const auto begin = std::chrono::steady_clock::now();
  Graph graph;
  for (int update = 0; update < kUpdates; ++update) {
    check(cudaMemcpyAsync(inputs_.get(), &all_inputs[update], sizeof(UpdateInputs), cudaMemcpyDefault, stream_.get()));
    // docs:begin replay
    if (graph != nullptr) {
      check(cudaGraphLaunch(graph.get(), stream_.get()));
    } else {
      put_window();
      if (with_graph) graph = capture_window();  // a window like the one that was just run
    }
    // docs:end replay
  }
  check(cudaStreamSynchronize(stream_.get()));
  const std::chrono::duration<double, std::micro> taken = std::chrono::steady_clock::now() - begin;

  std::int64_t steps = 0;
  check(gradstep_optimizer_step_count(optimizer_.get(), &steps));
  std::printf("rank %d, %s: %lld steps, %.1f us each\n", rank, with_graph ? "by a CUDA graph" : "call by call",
              static_cast<long long>(steps), taken.count() / kUpdates);
}

std::vector<float> Training::weights() const {
  std::vector<float> found(kWeights);
  check(cudaMemcpyAsync(found.data(), weights_.get(), kWeights * sizeof(float), cudaMemcpyDefault, stream_.get()));
  check(cudaStreamSynchronize(stream_.get()));
  return found;
}

std::vector<float> train_alone(bool with_graph) {
  Training training(0, nullptr);
  training.run(with_graph, 0, 1);
  return training.weights();
}

/// The weights of each rank.
std::vector<std::vector<float>> train_together(int ranks) {
  const auto count = static_cast<std::size_t>(ranks);
  std::vector<std::vector<float>> found(count);
  // Threads of this process meet without a network; processes would use gradstep_comm_create with engine "nccl".
  gradstep_context* context = nullptr;
  check(gradstep_context_create(nullptr, &context));
  std::vector<gradstep_comm*> hosts(count);
  check(gradstep_comm_create_local(context, ranks, hosts.data()));
  gradstep_context_destroy(context);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] {
      check(cudaSetDevice(rank));
      const Communicator host(hosts[static_cast<std::size_t>(rank)]);
      gradstep_comm* nccl = nullptr;
      check(gradstep_comm_attach_nccl(host.get(), rank, nullptr, &nccl));
      const Communicator comm(nccl);
      Training training(rank, nccl);
      training.run(/*with_graph=*/false, rank, ranks);
      found[static_cast<std::size_t>(rank)] = training.weights();
    });
  }
  for (std::thread& thread : threads) thread.join();
  return found;
}

bool is_fitted(const std::vector<float>& weights) {
  float furthest = 0;
  for (int i = 0; i < kWeights; ++i) {
    furthest = std::fmax(furthest, std::fabs(weights[static_cast<std::size_t>(i)] - true_weight(i)));
  }
  std::printf("the weight that is furthest from the true one is off by %.4f\n", static_cast<double>(furthest));
  return furthest < 0.05F;
}

/// Whether `devices` can be had; if not, says why.
bool is_possible(int devices) {
  if (gradstep_backend_available("cuda") == 0) {
    char reason[512] = "";
    std::size_t length = sizeof reason;
    check(gradstep_backend_status("cuda", reason, sizeof reason, &length));
    std::printf("nothing to run on: %s\n", reason);
    return false;
  }
  int found = 0;
  check(cudaGetDeviceCount(&found));
  if (found >= devices) return true;
  std::printf("nothing to run on: %d ranks need a device each, and there are %d\n", devices, found);
  return false;
}

}  // namespace

int main(int argc, char** argv) {
  const int ranks = argc > 1 ? std::atoi(argv[1]) : 1;
  if (ranks < 1 || argc > 2) {
    std::fprintf(stderr, "usage: %s [RANKS], RANKS >= 1\n", argv[0]);
    return EXIT_FAILURE;
  }
  if (!is_possible(ranks)) return kSkipped;
  const std::vector<std::vector<float>> results =
      ranks > 1 ? train_together(ranks) : std::vector{train_alone(false), train_alone(true)};
  for (const std::vector<float>& weights : results) {
    if (weights == results.front()) continue;
    std::fprintf(stderr, "the results differ\n");
    return EXIT_FAILURE;
  }
  std::printf("all results have the same bits\n");
  return is_fitted(results.front()) ? EXIT_SUCCESS : EXIT_FAILURE;
}
