// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// The small tensors of a step where the parameters are on a device whose memory the host cannot touch.
#include <cmath>

#include "c_api/handles.h"
#include "detached/detached_backend.h"
#include "unit/optim/optimizer_fixture.h"

namespace gradstep::test {
namespace {

class DeviceStep : public ::testing::TestWithParam<std::uint64_t> {
 protected:
  DeviceStep() {
    expect_ok(gradstep_context_create(nullptr, &context_));
    auto backend = std::make_unique<DetachedBackend>(object_of(context_)->cpu(), GetParam());
    backend_ = backend.get();
    object_of(context_)->add_backend(kDetached, std::move(backend));
    parameter_.struct_size = sizeof parameter_;
    parameter_.shape = &one_;
    parameter_.ndim = 1;
    parameter_.dtype = to_dlpack(DType::f32);
    parameter_.device = kDetached;
    gradstep_sgd_options options{};
    expect_ok(gradstep_sgd_options_init(&options, sizeof options));
    options.learning_rate = 1;
    expect_ok(gradstep_optimizer_create_sgd(context_, &options, &parameter_, 1, &optimizer_));
    expect_ok(gradstep_step_options_init(&step_, sizeof step_));
    param_ = numbers<float>({1}, one_);
    grad_ = numbers<float>({0.125F}, one_);
  }
  ~DeviceStep() override {
    gradstep_optimizer_destroy(optimizer_);
    gradstep_context_destroy(context_);
  }

  static void expect_ok(gradstep_status status) { EXPECT_EQ(status, GRADSTEP_OK) << last_error(); }

  Queue& queue() { return backend_->queue(nullptr); }
  template <class T>
  gradstep_tensor numbers(const std::vector<T>& values, std::int64_t& count) {
    count = static_cast<std::int64_t>(values.size());
    gradstep_tensor tensor{};
    tensor.data = backend_->memory()->allocate(values.size() * sizeof(T));
    queue().upload(tensor.data, values.data(), values.size() * sizeof(T));
    tensor.device = kDetached;
    tensor.ndim = 1;
    tensor.dtype = to_dlpack(dtype_of<T>());
    tensor.shape = &count;
    return tensor;
  }
  template <class T>
  void set(const gradstep_tensor& tensor, T value) {
    write(queue(), static_cast<T*>(tensor.data), value);
  }
  template <class T>
  T get(const gradstep_tensor& tensor, std::size_t i = 0) {
    return read(queue(), static_cast<const T*>(tensor.data) + i);
  }
  void step() { expect_ok(gradstep_optimizer_step_ex(optimizer_, &param_, &grad_, nullptr, 1, &step_, nullptr)); }

  std::int64_t one_ = 1;
  std::int64_t four_ = 4;
  gradstep_context* context_ = nullptr;
  DetachedBackend* backend_ = nullptr;
  gradstep_parameter parameter_{};
  gradstep_optimizer* optimizer_ = nullptr;
  gradstep_step_options step_{};
  gradstep_tensor param_{};
  gradstep_tensor grad_{};
};

TEST_P(DeviceStep, ReadsAHyperParameterAndItsScaleAndWritesItsOutcomeThere) {
  gradstep_tensor rate = numbers<double>({2}, one_);
  gradstep_tensor scale = numbers<float>({2}, one_);
  gradstep_tensor outcome = numbers<double>({-1, -1, -1, -1}, four_);
  expect_ok(gradstep_optimizer_set_tensor(optimizer_, -1, "learning_rate", &rate));
  step_.grad_scale_tensor = &scale;
  step_.outcome = &outcome;
  step();  // 1 - 2 * 2/8
  const std::int64_t waits = backend_->waits();
  set(rate, 4.0);
  step();  // 1/2 - 4 * 2/8
  EXPECT_EQ(backend_->waits(), waits) << "nobody waits for a number";
  EXPECT_EQ(get<float>(param_), -0.5F);
  EXPECT_EQ(get<double>(outcome, 0), 1);
  EXPECT_EQ(get<double>(outcome, 2), 1);
  EXPECT_EQ(get<double>(outcome, 3), 2);
  double value = 0;
  expect_ok(gradstep_optimizer_get_value(optimizer_, 0, "learning_rate", &value));
  EXPECT_EQ(value, 4);
}

TEST_P(DeviceStep, IsSkippedWhereItsScaleIsNotFinite) {
  gradstep_tensor scale = numbers<float>({NAN}, one_);
  gradstep_tensor outcome = numbers<double>({-1, -1, -1, -1}, four_);
  step_.grad_scale_tensor = &scale;
  step_.outcome = &outcome;
  step();
  EXPECT_EQ(get<float>(param_), 1);
  EXPECT_EQ(get<double>(outcome, 0), 0);
  EXPECT_EQ(get<double>(outcome, 3), 0);
  set(scale, 1.0F);
  step();
  EXPECT_EQ(get<float>(param_), 0.875F);
  EXPECT_EQ(get<double>(outcome, 3), 1);
}

TEST_P(DeviceStep, IsUnderWayUntilSomebodyHasWaited) {
  std::int32_t done = -1;
  step();
  expect_ok(gradstep_optimizer_poll(optimizer_, &done));
  EXPECT_EQ(done, 0);
  EXPECT_EQ(get<float>(param_), 0.875F);
  expect_ok(gradstep_optimizer_poll(optimizer_, &done));
  EXPECT_EQ(done, 1);
}

TEST_P(DeviceStep, RefusesNumbersOfTheHost) {
  TestTensor<double> rate({1}, 2.0);
  const gradstep_tensor elsewhere = rate.tensor();
  EXPECT_EQ(gradstep_optimizer_set_tensor(optimizer_, -1, "learning_rate", &elsewhere), GRADSTEP_ERR_INVALID_ARGUMENT);
  EXPECT_NE(std::string(last_error()).find("tensor: is on cpu, the parameters are on"), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(Seeds, DeviceStep, ::testing::Range<std::uint64_t>(1, 5));

}  // namespace
}  // namespace gradstep::test
