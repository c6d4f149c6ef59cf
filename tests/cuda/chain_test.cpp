// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// What the library promises every device, and of a step on a CUDA device beside: it is a fixed number of launches.
#include <thread>

#include "cuda/emulated_device.h"
#include "detached/device_promises.h"

namespace gradstep::test {
namespace {

gradstep_status create_adam_of_one(gradstep_context* context, const gradstep_parameter& parameter,
                                   gradstep_optimizer** optimizer) {
  gradstep_adam_options adam{};
  TestDevice::check(gradstep_adam_options_init(&adam, sizeof adam));
  return gradstep_optimizer_create_adam(context, &adam, &parameter, 1, optimizer);
}

TEST(Cuda, AHostThatReadsItsMemoryIsEnded) {
  const EmulatedCuda device(1);
  float* numbers = device.allocate(4);
  const float value = 3;
  write(device.queue(), numbers, value);
  EXPECT_EQ(read(device.queue(), static_cast<const float*>(numbers)), 3);
  volatile float* seen = numbers;
  EXPECT_DEATH(static_cast<void>(*seen), "");
}

INSTANTIATE_TYPED_TEST_SUITE_P(Cuda, DevicePromises, EmulatedCuda);

TEST(Cuda, NothingGoesBetweenHostAndDeviceInAStepAfterTheFirst) {
  EmulatedCuda device(1);
  Chain chain(device);
  for (int k = 0; k < 2; ++k) chain.push();
  device.queue().finish();
  const std::int64_t copies = EmulatedCuda::control().counts().copies;
  for (int k = 0; k < 8; ++k) chain.push();
  device.queue().finish();
  EXPECT_EQ(EmulatedCuda::control().counts().copies, copies);
}

// Clipping and the check of finiteness are a part of the accumulation and of the step's beginning.
TEST(Cuda, AWindowIsOneLaunchForEachAddAndTwoForTheStep) {
  EmulatedCuda device(1);
  Chain chain(device);
  for (int k = 0; k < 4; ++k) chain.push();
  device.queue().finish();
  EmulatedCuda::launches();
  for (int k = 0; k < 2; ++k) chain.push();
  device.queue().finish();
  const std::vector<std::string> expected = {"accumulate", "accumulate_and_measure", "begin_step", "update"};
  EXPECT_EQ(EmulatedCuda::launches(), expected);
}

TEST(Cuda, ATensorOfTheHostsOnItsOptimizerIsRefusedByName) {
  EmulatedCuda device(1);
  Chain chain(device);
  float values[5] = {};
  gradstep_tensor grads[2] = {chain.grad(0), chain.grad(1)};
  grads[0].data = values;
  grads[0].device = {GRADSTEP_DEVICE_CPU, 0};
  EXPECT_EQ(gradstep_optimizer_step(chain.optimizer(), chain.params(), grads, 2, nullptr),
            GRADSTEP_ERR_INVALID_ARGUMENT);
  EXPECT_NE(std::string(gradstep_last_error()).find("grads[0]: is on cpu"), std::string::npos) << gradstep_last_error();
  EXPECT_EQ(chain.steps(), 0);
}

TEST(Cuda, AWorkListThatHasGrownIsSentAgain) {
  const EmulatedCuda device(1);
  Backend& backend = object_of(device.context())->backend(device.id(), "device", 0);
  float* const from = device.allocate(2);
  float* const to = device.allocate(2);
  std::vector<CopyItem> items(2);
  for (std::size_t i = 0; i < 2; ++i) {
    write(device.queue(), from + i, static_cast<float>(i) + 1);
    write(device.queue(), to + i, 0.0F);
    items[i].destination.data = to + i;
    items[i].source.data = from + i;
    items[i].destination.size = items[i].source.size = 1;
  }
  WorkList work;
  const CopyPlan plan{&work, items, {}};
  for (int k = 0; k < 2; ++k) {
    work.append(1);
    backend.copy(plan, 1, 1, device.queue());
  }
  EXPECT_EQ(read(device.queue(), static_cast<const float*>(to)), 1);
  EXPECT_EQ(read(device.queue(), static_cast<const float*>(to + 1)), 2);
}

TEST(Cuda, AnotherDeviceIsNotTheThreadsCurrentOneAfterACall) {
  EmulatedCuda first(1);
  EmulatedCuda second(1, 1);
  Chain on_first(first);
  Chain on_second(second);
  for (int k = 0; k < 4; ++k) {
    on_first.push();
    on_second.push();
    EXPECT_EQ(EmulatedCuda::control().current_device(), 0);
  }
  EXPECT_EQ(on_second.param(), on_first.param());
  EXPECT_EQ(EmulatedCuda::control().current_device(), 0);
}

// As cudaSetDevice() would, on the way back to what was current.
TEST(Cuda, AThreadThatHasNoDeviceMakesNoContextButOnThatOfTheHandle) {
  const EmulatedCuda before(1, 1);  // opens the plugin
  std::thread thread([] {
    EmulatedCuda::control().used_devices();
    EmulatedCuda device(1, 1);
    Chain chain(device);
    for (int k = 0; k < 4; ++k) chain.push();
    chain.param();
    EXPECT_TRUE(chain.is_done());
  });
  thread.join();
  EXPECT_EQ(EmulatedCuda::control().used_devices(), 1U << 1);
}

TEST(Cuda, APollSaysAtOnceThatAllIsDone) {
  void* const stream = EmulatedCuda::stream(1);
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    EmulatedCuda device(seed);
    Chain chain(device);
    chain.push(stream);
    device.queue(stream).finish();
    EXPECT_TRUE(chain.is_done()) << "seed " << seed;
  }
}

TEST(Cuda, APollDoesNotWait) {
  EmulatedCuda device(1);
  Chain chain(device);
  const std::int64_t waits = device.waits();
  for (int k = 0; k < 2; ++k) chain.push();
  int polls = 1;
  while (!chain.is_done()) ++polls;
  EXPECT_GT(polls, 1);
  EXPECT_EQ(device.waits(), waits);
}

TEST(Cuda, TheDefaultStreamHasTwoNames) {
  void* const legacy = reinterpret_cast<void*>(1);
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    EmulatedCuda device(seed);
    Chain chain(device);
    Chain expected(device);
    for (int k = 0; k < 4; ++k) {
      chain.push(k % 2 == 0 ? legacy : nullptr);
      expected.push();
    }
    EXPECT_EQ(chain.param(), expected.param());
  }
}

TEST(Cuda, AStreamThatEachThreadHasForItselfIsRefused) {
  EmulatedCuda device(1);
  const Chain chain(device);
  const gradstep_tensor grads[] = {chain.grad(0), chain.grad(1)};
  EXPECT_EQ(gradstep_optimizer_step(chain.optimizer(), chain.params(), grads, 2, reinterpret_cast<void*>(2)),
            GRADSTEP_ERR_INVALID_ARGUMENT);
  EXPECT_NE(std::string(gradstep_last_error()).find("stream: is cudaStreamPerThread"), std::string::npos)
      << gradstep_last_error();
}

// What fails before it has begun is made again, of memory that is filled again.
TEST(Cuda, AStepWhoseUploadsFailIsMadeWhenItIsAskedForAgain) {
  const emulation::Control& cuda = EmulatedCuda::control();
  const auto stepped = [&](std::int64_t failing, gradstep_status* status) {
    EmulatedCuda device(1);
    Chain chain(device, create_adam, /*skip_nonfinite=*/false);
    gradstep_tensor grads[] = {chain.grad(0), chain.grad(1)};
    gradstep_step_options options{};
    TestDevice::check(gradstep_step_options_init(&options, sizeof options));
    options.max_norm = 1;
    device.queue().finish();
    const auto step = [&] {
      return gradstep_optimizer_step_ex(chain.optimizer(), chain.params(), grads, nullptr, 2, &options, nullptr);
    };
    cuda.fail_copy(failing);
    *status = step();
    cuda.fail_copy(0);
    if (*status != GRADSTEP_OK) TestDevice::check(step());
    return chain.param();
  };
  gradstep_status status = GRADSTEP_OK;
  const float expected = stepped(0, &status);
  std::int64_t failed = 0;
  for (std::int64_t k = 1;; ++k) {
    const float found = stepped(k, &status);
    if (status == GRADSTEP_OK) break;
    ++failed;
    EXPECT_EQ(found, expected) << "copy " << k;
  }
  EXPECT_GT(failed, 3);
}

TEST(Cuda, ADeviceThatKernelsAreNotCompiledForIsNotAvailable) {
  const emulation::Control& cuda = EmulatedCuda::control();
  EmulatedCuda device(1);
  const std::int64_t size = 3;
  const gradstep_parameter parameter = parameter_of(size, {GRADSTEP_DEVICE_CUDA, 1});
  gradstep_optimizer* optimizer = nullptr;
  cuda.set_compute_capability(7);
  const gradstep_status status = create_adam_of_one(device.context(), parameter, &optimizer);
  cuda.set_compute_capability(9);
  EXPECT_EQ(status, GRADSTEP_ERR_BACKEND_UNAVAILABLE);
  EXPECT_NE(std::string(gradstep_last_error()).find("device 1 has compute capability 7.0"), std::string::npos)
      << gradstep_last_error();
}

TEST(Cuda, DevicesThatAreNotThereAreNamed) {
  EmulatedCuda device(1);
  const std::int64_t size = 3;
  const gradstep_parameter parameter = parameter_of(size, {GRADSTEP_DEVICE_CUDA, 7});
  gradstep_optimizer* optimizer = nullptr;
  EXPECT_EQ(create_adam_of_one(device.context(), parameter, &optimizer), GRADSTEP_ERR_BACKEND_UNAVAILABLE);
  EXPECT_NE(std::string(gradstep_last_error()).find("parameters[0]: is on cuda:7: CUDA has 2 devices"),
            std::string::npos)
      << gradstep_last_error();
}

}  // namespace
}  // namespace gradstep::test
