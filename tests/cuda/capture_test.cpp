// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Windows and steps that are captured in a CUDA graph: what replays of them do, and what they do not depend on.
#include <cuda_runtime_api.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <memory>

#include "cuda/emulated_device.h"

namespace gradstep::test {
namespace {

constexpr std::uint64_t kSeeds = 5;

/// A stream that may be captured, and graphs of what is asked of it.
class CaptureStream {
 public:
  CaptureStream() { EXPECT_EQ(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), cudaSuccess); }
  ~CaptureStream() {
    forget();
    EXPECT_EQ(cudaStreamDestroy(stream_), cudaSuccess);
  }
  CaptureStream(const CaptureStream&) = delete;
  CaptureStream& operator=(const CaptureStream&) = delete;

  cudaStream_t get() const { return stream_; }
  template <class Work>
  void capture(const Work& work, bool is_spoiled = false) {
    EXPECT_EQ(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeGlobal), cudaSuccess);
    work();
    cudaGraph_t graph = nullptr;
    EXPECT_EQ(cudaStreamEndCapture(stream_, &graph), is_spoiled ? cudaErrorStreamCaptureInvalidated : cudaSuccess);
    if (graph == nullptr) return;
    EXPECT_EQ(cudaGraphInstantiate(&graph_, graph, 0), cudaSuccess);
    EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
  }
  void replay(cudaStream_t stream) const { EXPECT_EQ(cudaGraphLaunch(graph_, stream), cudaSuccess); }
  void finish() const { EXPECT_EQ(cudaStreamSynchronize(stream_), cudaSuccess); }
  /// Destroys the graph.
  void forget() {
    if (graph_ != nullptr) cudaGraphExecDestroy(graph_);
    graph_ = nullptr;
  }

 private:
  cudaStream_t stream_ = nullptr;
  cudaGraphExec_t graph_ = nullptr;
};

/// Both micro-batches of a window, with the step.
void push_window(Chain& chain, cudaStream_t stream) {
  for (int k = 0; k < 2; ++k) chain.push(stream);
}

/// A chain that is stepped by two sets of gradients, which lie elsewhere.
class SteppedChain {
 public:
  explicit SteppedChain(EmulatedCuda& device) : device_(device), chain_(device) {
    for (std::size_t set = 0; set < 2; ++set) {
      for (std::size_t i = 0; i < 2; ++i) {
        grads_[set][i] = chain_.grad(i);
        if (set == 1) grads_[set][i].data = device.allocate(static_cast<std::size_t>(*grads_[set][i].shape));
        chain_.fill(grads_[set][i], i, set == 0 ? 0.25F : -1.0F);
      }
    }
  }

  gradstep_status step(std::size_t set, void* stream) {
    return gradstep_optimizer_step(chain_.optimizer(), chain_.params(), grads_[set].data(), 2, stream);
  }
  /// Another gradient in the same memory.
  void fill(std::size_t set, float value) {
    for (std::size_t i = 0; i < 2; ++i) chain_.fill(grads_[set][i], i, value);
    device_.queue().finish();
  }
  Chain& chain() { return chain_; }

 private:
  EmulatedCuda& device_;
  Chain chain_;
  std::array<std::array<gradstep_tensor, 2>, 2> grads_{};
};

TEST(CudaCapture, ACapturedWindowIsReplayedWithTheLearningRateOfTheMoment) {
  const emulation::Control& cuda = EmulatedCuda::control();
  void* const stream = cuda.make_stream();
  constexpr double kRates[] = {0.5, 0.25, 0.125, 0.0625};
  float found[2];
  for (const bool captures : {false, true}) {
    EmulatedCuda device(1);
    Chain chain(device);
    auto* rate = reinterpret_cast<double*>(device.allocate(2));
    const std::int64_t one = 1;
    gradstep_tensor number{};
    number.data = rate;
    number.device = device.id();
    number.ndim = 1;
    number.dtype = {GRADSTEP_TYPE_FLOAT, 64, 1};
    number.shape = const_cast<std::int64_t*>(&one);
    write(device.queue(stream), rate, kRates[0]);
    TestDevice::check(gradstep_optimizer_set_tensor(chain.optimizer(), -1, "learning_rate", &number));
    const auto window = [&] { push_window(chain, static_cast<cudaStream_t>(stream)); };
    window();
    void* graph = nullptr;
    if (captures) {
      cuda.begin_capture(stream);
      window();
      graph = cuda.end_capture(stream);
    }
    for (const double value : kRates) {
      write(device.queue(stream), rate, value);
      if (captures) {
        cuda.replay(graph, stream);
      } else {
        window();
      }
    }
    found[captures ? 1 : 0] = chain.param(stream);
    EXPECT_EQ(chain.steps(), 5);
  }
  EXPECT_EQ(found[0], found[1]);
}

// As in training by PyTorch, where gradients are made anew within the capture. Steps in between are by other tensors.
TEST(CudaCapture, TensorsThatAreNewInACaptureAreThoseOfItsReplays) {
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    float found[2];
    for (const bool captures : {false, true}) {
      EmulatedCuda device(seed);
      CaptureStream stream;
      SteppedChain stepped(device);
      const auto step = [&](std::size_t set) { TestDevice::check(stepped.step(set, stream.get())); };
      step(0);
      if (captures) stream.capture([&] { step(1); });
      for (const float value : {-1.0F, 0.5F, 4.0F}) {
        step(0);
        stream.finish();
        stepped.fill(1, value);
        if (captures) {
          stream.replay(stream.get());
        } else {
          step(1);
        }
      }
      found[captures ? 1 : 0] = stepped.chain().param(stream.get());
      EXPECT_EQ(stepped.chain().steps(), 7);
    }
    EXPECT_EQ(found[0], found[1]) << "seed " << seed;
  }
}

TEST(CudaCapture, AWindowIsCapturedAndReplayedOnStreamsThatAreNew) {
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    float found[2];
    for (const bool captures : {false, true}) {
      EmulatedCuda device(seed);
      CaptureStream usual;
      CaptureStream other;
      CaptureStream replays;
      Chain chain(device);
      const auto window = [&](cudaStream_t stream) { push_window(chain, stream); };
      window(usual.get());
      usual.finish();
      if (captures) other.capture([&] { window(other.get()); });
      for (int k = 0; k < 3; ++k) {
        if (captures) {
          other.replay(replays.get());
        } else {
          window(replays.get());
        }
        replays.finish();  // the library does not know of replays
        window(usual.get());
        usual.finish();
      }
      found[captures ? 1 : 0] = chain.param(usual.get());
      EXPECT_EQ(chain.steps(), 7);
    }
    EXPECT_EQ(found[0], found[1]) << "seed " << seed;
  }
}

TEST(CudaCapture, SeveralGraphsOfOneOptimizerDoNotDisturbEachOther) {
  EmulatedCuda device(1);
  CaptureStream first;
  CaptureStream second;
  SteppedChain stepped(device);
  SteppedChain expected(device);
  TestDevice::check(stepped.step(0, first.get()));
  first.finish();
  first.capture([&] { TestDevice::check(stepped.step(0, first.get())); });
  second.capture([&] { TestDevice::check(stepped.step(1, second.get())); });
  TestDevice::check(expected.step(0, first.get()));
  for (int k = 0; k < 6; ++k) {
    (k % 3 == 0 ? second : first).replay(first.get());
    TestDevice::check(expected.step(k % 3 == 0 ? 1 : 0, first.get()));
  }
  EXPECT_EQ(stepped.chain().param(first.get()), expected.chain().param(first.get()));
}

TEST(CudaCapture, WhatACaptureHasTakenServesTheNextWhenItsGraphIsGone) {
  EmulatedCuda device(1);
  CaptureStream stream;
  Chain chain(device);
  const auto window = [&] { push_window(chain, stream.get()); };
  window();
  std::int64_t taken = 0;
  for (int k = 0; k < 5; ++k) {
    stream.capture(window);
    stream.replay(stream.get());
    stream.finish();
    stream.forget();
    if (k == 0) taken = device.allocations();
  }
  EXPECT_EQ(device.allocations(), taken);
  stream.capture(window);
  CaptureStream other;
  other.capture([&] { push_window(chain, other.get()); });
  EXPECT_GT(device.allocations(), taken) << "two graphs share nothing";
}

TEST(CudaCapture, OtherStreamsMustBeDoneBeforeIt) {
  EmulatedCuda device(1);
  CaptureStream usual;
  CaptureStream stream;
  SteppedChain stepped(device);
  for (int k = 0; k < 4; ++k) TestDevice::check(stepped.step(0, usual.get()));
  stream.capture([&] {
    EXPECT_EQ(stepped.step(0, stream.get()), GRADSTEP_ERR_INVALID_STATE);
    EXPECT_NE(std::string(gradstep_last_error()).find("what was asked on another stream before is not done"),
              std::string::npos)
        << gradstep_last_error();
  });
  TestDevice::check(stepped.step(0, usual.get()));
  EXPECT_EQ(stepped.chain().steps(), 5);
}

TEST(CudaCapture, AHandleThatIsDestroyedMeanwhileDoesNotSpoilIt) {
  EmulatedCuda device(1);
  CaptureStream stream;
  Chain chain(device);
  const auto window = [&] { push_window(chain, stream.get()); };
  window();
  auto other = std::make_unique<EmulatedCuda>(1);
  auto gone = std::make_unique<Chain>(*other);
  gone->push();
  stream.capture([&] {
    window();
    gone.reset();
    other.reset();
  });
  stream.replay(stream.get());
  EXPECT_EQ(chain.steps(), 2);
}

// Its tables are new, and so is the memory in which they are staged; Shampoo's roots are decomposed by a library that
// waits, and loads what it needs.
TEST(CudaCapture, AWindowOnAnotherStreamDoesNotSpoilIt) {
  for (const CreateOptimizer create : {create_adam, create_shampoo}) {
    EmulatedCuda device(1);
    CaptureStream captured;
    CaptureStream other;
    Chain chain(device);
    Chain beside(device, create, /*skip_nonfinite=*/false);
    Chain expected(device, create, /*skip_nonfinite=*/false);
    push_window(chain, captured.get());
    captured.finish();
    device.queue().finish();
    EmulatedCuda::launches();
    captured.capture([&] {
      push_window(chain, captured.get());
      push_window(beside, other.get());
      EXPECT_FALSE(std::isnan(beside.param(other.get())));
      while (!beside.is_done()) {
      }
    });
    const std::vector<std::string> names = EmulatedCuda::launches();
    const auto decompositions =
        std::ranges::count_if(names, [](const std::string& name) { return name.starts_with("cusolver"); });
    EXPECT_EQ(decompositions > 0, create == create_shampoo);
    push_window(expected, other.get());
    EXPECT_EQ(beside.param(other.get()), expected.param(other.get()));
  }
}

TEST(CudaCapture, ARuleWhoseNumbersTheHostComputesIsRefused) {
  EmulatedCuda device(1);
  CaptureStream stream;
  Chain chain(device, create_shampoo, /*skip_nonfinite=*/false);
  const gradstep_tensor grads[] = {chain.grad(0), chain.grad(1)};
  for (int k = 0; k < 2; ++k) chain.step(stream.get());
  stream.finish();
  stream.capture([&] {
    EXPECT_EQ(gradstep_optimizer_step(chain.optimizer(), chain.params(), grads, 2, stream.get()),
              GRADSTEP_ERR_INVALID_STATE);
    EXPECT_NE(std::string(gradstep_last_error()).find("the host computes this rule's numbers"), std::string::npos)
        << gradstep_last_error();
  });
  chain.step(stream.get());
  EXPECT_EQ(chain.steps(), 3);
}

/// Replays would not count its windows.
TEST(CudaCapture, APushIntoARoundIsRefused) {
  EmulatedCuda device(1);
  CaptureStream stream;
  Chain chain(device);
  Chain outer(device);
  const gradstep_tensor grads[] = {chain.grad(0), chain.grad(1)};
  gradstep_updater_options options;
  ASSERT_EQ(gradstep_updater_options_init(&options, sizeof options), GRADSTEP_OK);
  options.sync = GRADSTEP_SYNC_DELTAS;
  options.sync_steps = 4;
  options.outer = outer.optimizer();
  gradstep_updater* updater = nullptr;
  ASSERT_EQ(gradstep_updater_create(device.context(), chain.optimizer(), nullptr, nullptr, &options, &updater),
            GRADSTEP_OK);
  const auto push = [&] { return gradstep_updater_push(updater, chain.params(), grads, 2, 1, stream.get(), nullptr); };
  EXPECT_EQ(push(), GRADSTEP_OK);
  stream.finish();
  stream.capture([&] {
    EXPECT_EQ(push(), GRADSTEP_ERR_INVALID_STATE);
    EXPECT_NE(std::string(gradstep_last_error()).find("the host counts the windows of a round"), std::string::npos)
        << gradstep_last_error();
  });
  EXPECT_EQ(push(), GRADSTEP_OK);
  gradstep_updater_destroy(updater);
}

TEST(CudaCapture, OneThatIsSpoiledIsNamedAndLeavesNothingBehind) {
  EmulatedCuda device(1);
  CaptureStream stream;
  Chain chain(device);
  Chain expected(device);
  const gradstep_tensor grads[] = {chain.grad(0), chain.grad(1)};
  device.queue().finish();
  stream.capture(
      [&] {
        void* data = nullptr;
        EXPECT_EQ(cudaMalloc(&data, 16), cudaErrorStreamCaptureUnsupported);
        EXPECT_EQ(gradstep_optimizer_step(chain.optimizer(), chain.params(), grads, 2, stream.get()),
                  GRADSTEP_ERR_INVALID_STATE);
        EXPECT_NE(std::string(gradstep_last_error()).find("cudaStreamGetCaptureInfo"), std::string::npos)
            << gradstep_last_error();
      },
      /*is_spoiled=*/true);
  for (Chain* each : {&chain, &expected}) each->step(stream.get());
  EXPECT_EQ(chain.param(stream.get()), expected.param(stream.get()));
}

/// A host's pool, of which it is known how many blocks are in use.
struct Pool {
  std::int64_t in_use = 0;

  gradstep_context_options options() {
    gradstep_context_options made{};
    TestDevice::check(gradstep_context_options_init(&made, sizeof made));
    allocator.struct_size = sizeof allocator;
    allocator.user = this;
    allocator.allocate = [](void* user, std::size_t bytes, std::size_t alignment, std::int32_t device,
                            std::int32_t number, void*) -> void* {
      if (device != GRADSTEP_DEVICE_CUDA)
        return std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
      ++static_cast<Pool*>(user)->in_use;
      return EmulatedCuda::control().allocate(number, bytes);
    };
    allocator.deallocate = [](void* user, void* data, std::size_t, std::size_t, std::int32_t device, std::int32_t,
                              void*) {
      if (device != GRADSTEP_DEVICE_CUDA) return std::free(data);
      --static_cast<Pool*>(user)->in_use;
      EmulatedCuda::control().deallocate(data);
    };
    made.allocator = &allocator;
    return made;
  }

  gradstep_allocator allocator{};
};

TEST(CudaCapture, WhatAHostsAllocatorCannotHaveBackMeanwhileItHasLater) {
  Pool pool;
  const gradstep_context_options options = pool.options();
  {
    EmulatedCuda device(1, 0, &options);
    CaptureStream stream;
    auto gone = std::make_unique<Chain>(device);
    gone->push();
    const std::int64_t before = pool.in_use;
    stream.capture([&] { gone.reset(); }, /*is_spoiled=*/true);
    EXPECT_EQ(pool.in_use, before) << "nobody can know whether the device still uses it";
    {
      const Chain chain(device);
    }
    EXPECT_LT(pool.in_use, before);
  }
  EXPECT_EQ(pool.in_use, 0);
}

TEST(CudaCapture, WhatAHandleKeepsIsNotMadeInIt) {
  EmulatedCuda device(1);
  CaptureStream stream;
  SteppedChain stepped(device);
  gradstep_optimizer* sgd = nullptr;
  gradstep_sgd_options options{};
  TestDevice::check(gradstep_sgd_options_init(&options, sizeof options));
  options.learning_rate = 0.1;
  const std::int64_t size = 5;
  const gradstep_parameter parameter = parameter_of(size, device.id());
  TestDevice::check(gradstep_optimizer_create_sgd(device.context(), &options, &parameter, 1, &sgd));
  const gradstep_tensor grad = stepped.chain().grad(0);
  const auto step = [&] { return gradstep_optimizer_step(sgd, stepped.chain().params(), &grad, 1, stream.get()); };
  TestDevice::check(step());
  stream.finish();
  stream.capture([&] {
    EXPECT_EQ(gradstep_optimizer_set_value(sgd, -1, "momentum", 0.5), GRADSTEP_ERR_INVALID_STATE);
    EXPECT_NE(std::string(gradstep_last_error()).find("is being captured"), std::string::npos) << gradstep_last_error();
  });
  TestDevice::check(step());
  gradstep_optimizer_destroy(sgd);
}

}  // namespace
}  // namespace gradstep::test
