// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// A device under test, and an optimizer with an accumulator before it whose tensors are there.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "backend/backend.h"
#include "c_api/handles.h"
#include "detached/parameter_of.h"
#include "gradstep/gradstep.h"

namespace gradstep::test {

/// A context that serves a device, and memory there.
class TestDevice {
 public:
  explicit TestDevice(gradstep_device id, const gradstep_context_options* options = nullptr) : id_(id) {
    check(gradstep_context_create(options, &context_));
  }
  virtual ~TestDevice() {
    buffers_.clear();
    gradstep_context_destroy(context_);
  }
  TestDevice(const TestDevice&) = delete;
  TestDevice& operator=(const TestDevice&) = delete;

  static void check(gradstep_status status) { ASSERT_EQ(status, GRADSTEP_OK) << gradstep_last_error(); }

  gradstep_device id() const { return id_; }
  gradstep_context* context() const { return context_; }
  Queue& queue(void* stream = nullptr) const { return own().queue(stream); }
  /// For as long as this.
  float* allocate(std::size_t count) const {
    buffers_.emplace_back(own().memory(), count * sizeof(float));
    return buffers_.back().as<float>();
  }

  // How often the host has waited for the device, and taken memory of it.
  virtual std::int64_t waits() const = 0;
  virtual std::int64_t allocations() const = 0;

 private:
  Backend& own() const { return object_of(context_)->backend(id_, "device", 0); }

  gradstep_device id_;
  gradstep_context* context_ = nullptr;
  mutable std::vector<Buffer> buffers_;
};

using CreateOptimizer = gradstep_status (*)(gradstep_context*, const gradstep_parameter*, gradstep_optimizer**);

inline gradstep_status create_adam(gradstep_context* context, const gradstep_parameter* parameters,
                                   gradstep_optimizer** optimizer) {
  gradstep_adam_options adam{};
  TestDevice::check(gradstep_adam_options_init(&adam, sizeof adam));
  adam.learning_rate = 0.5;
  return gradstep_optimizer_create_adam(context, &adam, parameters, 2, optimizer);
}

/// Whose roots are those of each `root_steps`-th step, and serve `lag` steps later.
inline gradstep_status create_shampoo_with(std::int64_t root_steps, std::int32_t lag, gradstep_context* context,
                                           const gradstep_parameter* parameters, gradstep_optimizer** optimizer) {
  gradstep_shampoo_options shampoo{};
  TestDevice::check(gradstep_shampoo_options_init(&shampoo, sizeof shampoo));
  shampoo.learning_rate = 0.5;
  shampoo.start_preconditioning_step = 1;
  shampoo.preconditioning_compute_steps = root_steps;
  shampoo.root_lag = lag;
  shampoo.block_size = 8;
  return gradstep_optimizer_create_shampoo(context, &shampoo, parameters, 2, optimizer);
}

/// Whose roots are the first step's for long.
inline gradstep_status create_shampoo(gradstep_context* context, const gradstep_parameter* parameters,
                                      gradstep_optimizer** optimizer) {
  return create_shampoo_with(1000, 0, context, parameters, optimizer);
}

/// Two parameters, an optimizer with clipping and perhaps a check of finiteness, and an accumulator before it.
class Chain {
 public:
  explicit Chain(TestDevice& device, CreateOptimizer create = create_adam, bool skip_nonfinite = true)
      : device_(device) {
    for (std::size_t i = 0; i < 2; ++i) {
      parameters_[i] = parameter_of(sizes_[i], device_.id());
      params_[i] = tensor(i);
      grads_[i] = tensor(i);
      fill(grads_[i], i, 0.25F);
    }
    TestDevice::check(create(device.context(), parameters_, &optimizer_));
    gradstep_accumulator_options steps{};
    TestDevice::check(gradstep_accumulator_options_init(&steps, sizeof steps));
    steps.steps = 2;
    steps.mode = GRADSTEP_ACCUMULATE_MEAN;
    TestDevice::check(gradstep_accumulator_create(device.context(), &steps, parameters_, 2, &accumulator_));
    gradstep_updater_options updater{};
    TestDevice::check(gradstep_updater_options_init(&updater, sizeof updater));
    updater.max_norm = 1;
    updater.skip_nonfinite = skip_nonfinite ? 1 : 0;
    TestDevice::check(
        gradstep_updater_create(device.context(), optimizer_, accumulator_, nullptr, &updater, &updater_));
  }
  ~Chain() {
    gradstep_updater_destroy(updater_);
    gradstep_accumulator_destroy(accumulator_);
    gradstep_optimizer_destroy(optimizer_);
  }
  Chain(const Chain&) = delete;
  Chain& operator=(const Chain&) = delete;

  void fill(const gradstep_tensor& tensor, std::size_t i, float value) {
    const std::vector<float> values(static_cast<std::size_t>(sizes_[i]), value);
    device_.queue().upload(tensor.data, values.data(), values.size() * sizeof(float));
  }
  void push(void* stream = nullptr) {
    TestDevice::check(gradstep_updater_push(updater_, params_, grads_, 2, 1, stream, nullptr));
  }
  void step(void* stream) { TestDevice::check(gradstep_optimizer_step(optimizer_, params_, grads_, 2, stream)); }
  float param(void* stream = nullptr) {
    return read(device_.queue(stream), static_cast<const float*>(params_[1].data));
  }
  std::int64_t steps() {
    std::int64_t count = 0;
    TestDevice::check(gradstep_optimizer_step_count(optimizer_, &count));
    return count;
  }
  const gradstep_tensor* params() const { return params_; }
  gradstep_tensor grad(std::size_t i) const { return grads_[i]; }
  gradstep_optimizer* optimizer() const { return optimizer_; }
  bool is_done() {
    std::int32_t done = -1;
    TestDevice::check(gradstep_updater_poll(updater_, &done));
    return done != 0;
  }
  void set_learning_rate(const gradstep_schedule& schedule) {
    TestDevice::check(gradstep_optimizer_set_schedule(optimizer_, -1, "learning_rate", &schedule));
  }

 private:
  gradstep_tensor tensor(std::size_t i) {
    gradstep_tensor tensor{};
    tensor.data = device_.allocate(static_cast<std::size_t>(sizes_[i]));
    tensor.device = device_.id();
    tensor.ndim = 1;
    tensor.dtype = {GRADSTEP_TYPE_FLOAT, 32, 1};
    tensor.shape = &sizes_[i];
    device_.queue().zero(tensor.data, static_cast<std::size_t>(sizes_[i]) * sizeof(float));
    return tensor;
  }

  TestDevice& device_;
  std::int64_t sizes_[2] = {5, 70000};
  gradstep_parameter parameters_[2] = {};
  gradstep_tensor params_[2] = {};
  gradstep_tensor grads_[2] = {};
  gradstep_optimizer* optimizer_ = nullptr;
  gradstep_accumulator* accumulator_ = nullptr;
  gradstep_updater* updater_ = nullptr;
};

}  // namespace gradstep::test
