// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// A kernel that fails when its call has long returned: CUDA then answers every call on its device with that, and so
// do handles, which can still be destroyed.
#include "cuda/emulated_device.h"

namespace gradstep::test {
namespace {

/// All devices are well again at its end: what is on them is gone by then.
class FailingKernels {
 public:
  FailingKernels() { emulated_cuda(); }
  ~FailingKernels() { EmulatedCuda::control().fail_kernel(0); }
  FailingKernels(const FailingKernels&) = delete;
  FailingKernels& operator=(const FailingKernels&) = delete;
};

void expect_the_error(gradstep_status status, const std::string& what) {
  EXPECT_EQ(status, GRADSTEP_ERR_DEVICE) << what;
  if (status == GRADSTEP_OK) return;
  EXPECT_NE(std::string(gradstep_last_error()).find("cudaErrorIllegalAddress"), std::string::npos)
      << what << ": " << gradstep_last_error();
}

/// Asks until nothing is under way, or what it asks fails.
template <class Poll>
gradstep_status end_of(Poll poll) {
  for (int k = 0; k < 100000; ++k) {
    std::int32_t done = 0;
    const gradstep_status status = poll(&done);
    if (status != GRADSTEP_OK || done != 0) return status;
  }
  ADD_FAILURE() << "it has no end";
  return GRADSTEP_OK;
}

/// The handles that drive a chain's optimizer from here on: an accumulator of single micro-batches, and an updater.
class Handles {
 public:
  Handles(EmulatedCuda& device, const Chain& chain) : chain_(chain) {
    const std::int64_t sizes[] = {5, 70000};
    const gradstep_parameter parameters[] = {parameter_of(sizes[0], device.id()), parameter_of(sizes[1], device.id())};
    TestDevice::check(gradstep_accumulator_create(device.context(), nullptr, parameters, 2, &accumulator_));
    gradstep_updater_options options{};
    TestDevice::check(gradstep_updater_options_init(&options, sizeof options));
    options.max_norm = 1;
    TestDevice::check(
        gradstep_updater_create(device.context(), chain.optimizer(), accumulator_, nullptr, &options, &updater_));
  }
  ~Handles() {
    gradstep_updater_destroy(updater_);
    gradstep_accumulator_destroy(accumulator_);
  }
  Handles(const Handles&) = delete;
  Handles& operator=(const Handles&) = delete;

  gradstep_status push(void* stream) {
    const gradstep_tensor grads[] = {chain_.grad(0), chain_.grad(1)};
    return gradstep_updater_push(updater_, chain_.params(), grads, 2, 1, stream, nullptr);
  }
  gradstep_updater* updater() const { return updater_; }
  gradstep_accumulator* accumulator() const { return accumulator_; }

 private:
  const Chain& chain_;
  gradstep_accumulator* accumulator_ = nullptr;
  gradstep_updater* updater_ = nullptr;
};

/// A window whose k-th kernel fails. False if it has fewer.
bool fail_a_window(CreateOptimizer create, void* stream, std::int64_t k) {
  const FailingKernels well_again;
  EmulatedCuda device(static_cast<std::uint64_t>(k));
  Chain chain(device, create);
  Handles handles(device, chain);
  TestDevice::check(handles.push(stream));
  device.queue(stream).finish();
  device.queue().finish();
  EmulatedCuda::control().fail_kernel(k);
  const gradstep_status pushed = handles.push(stream);
  gradstep_updater* const updater = handles.updater();
  const gradstep_status polled = end_of([&](std::int32_t* done) { return gradstep_updater_poll(updater, done); });
  if (pushed == GRADSTEP_OK && polled == GRADSTEP_OK) return false;

  if (pushed != GRADSTEP_OK) expect_the_error(pushed, "the push");  // some wait
  expect_the_error(polled, "gradstep_updater_poll");
  std::int32_t done = 0;
  expect_the_error(gradstep_optimizer_poll(chain.optimizer(), &done), "gradstep_optimizer_poll");
  expect_the_error(gradstep_accumulator_poll(handles.accumulator(), &done), "gradstep_accumulator_poll");
  const gradstep_tensor grads[] = {chain.grad(0), chain.grad(1)};
  expect_the_error(gradstep_optimizer_step(chain.optimizer(), chain.params(), grads, 2, stream), "a step");
  std::int64_t steps = 0;
  expect_the_error(gradstep_optimizer_step_count(chain.optimizer(), &steps), "the step count");
  return true;
}

void fail_every_kernel(CreateOptimizer create, std::int64_t least) {
  for (void* stream : {EmulatedCuda::stream(0), EmulatedCuda::stream(1)}) {
    std::int64_t k = 1;
    while (fail_a_window(create, stream, k)) ++k;
    EXPECT_GT(k, least);
  }
}

TEST(CudaErrors, AKernelThatFailsIsToldByPollsAndByWhatComesNextAndHandlesCanBeDestroyed) {
  fail_every_kernel(create_adam, 2);
}

TEST(CudaErrors, SoIsOneOfShampoos) { fail_every_kernel(create_shampoo, 5); }

/// Whose roots are computed on a stream of their own.
gradstep_status create_lagging_shampoo(gradstep_context* context, const gradstep_parameter* parameters,
                                       gradstep_optimizer** optimizer) {
  return create_shampoo_with(2, 1, context, parameters, optimizer);
}

TEST(CudaErrors, SoIsOneBesideTheSteps) { fail_every_kernel(create_lagging_shampoo, 5); }

TEST(CudaErrors, OtherDevicesGoOn) {
  const FailingKernels well_again;
  EmulatedCuda lost(1, 0);
  EmulatedCuda well(2, 1);
  Chain lost_chain(lost);
  Chain chain(well);
  Handles handles(lost, lost_chain);
  for (int k = 0; k < 2; ++k) chain.push();
  const float before = chain.param();
  EmulatedCuda::control().fail_kernel(1);
  handles.push(nullptr);
  gradstep_updater* const updater = handles.updater();
  expect_the_error(end_of([&](std::int32_t* done) { return gradstep_updater_poll(updater, done); }), "the lost one");
  for (int k = 0; k < 2; ++k) chain.push();
  EXPECT_NE(chain.param(), before);
  EXPECT_EQ(chain.steps(), 2);
}

}  // namespace
}  // namespace gradstep::test
