// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Shampoo over tensors of one device, and how tests hold it beside the CPU's.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <numeric>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "cuda/emulated_device.h"

namespace gradstep::test {
using Shape = std::vector<std::int64_t>;
using Change = std::function<void(gradstep_shampoo_options&)>;

inline constexpr float kNan = __builtin_nanf("");

/// What is compared of an optimizer after a step.
template <class T>
struct OutcomeOf {
  std::vector<std::vector<T>> parameters;
  std::vector<std::vector<T>> states;
};

/// Shampoo over tensors of f32 or f64 of one device, fed with numbers that are a function of the step.
template <class T>
class ModelOf {
 public:
  using Outcome = OutcomeOf<T>;

  ModelOf(TestDevice& device, std::vector<Shape> shapes, const Change& change)
      : device_(device), shapes_(std::move(shapes)), parameters_(shapes_.size()) {
    for (std::size_t i = 0; i < shapes_.size(); ++i) {
      parameters_[i].struct_size = sizeof(gradstep_parameter);
      parameters_[i].shape = shapes_[i].data();
      parameters_[i].ndim = static_cast<std::int32_t>(shapes_[i].size());
      parameters_[i].dtype = {GRADSTEP_TYPE_FLOAT, 8 * sizeof(T), 1};
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
    has_bases_ = options.eigenvalue_corrected != 0;
    TestDevice::check(gradstep_optimizer_create_shampoo(device.context(), &options, parameters_.data(),
                                                        parameters_.size(), &optimizer_));
  }
  ~ModelOf() { gradstep_optimizer_destroy(optimizer_); }
  ModelOf(const ModelOf&) = delete;
  ModelOf& operator=(const ModelOf&) = delete;

  /// `missing`: the parameter without a gradient. `poison`: the one whose gradient is NaN. `skips`: a step with a NaN
  /// is not made.
  gradstep_status step(int t, std::size_t missing = kNone, std::size_t poison = kNone, bool skips = false) {
    std::vector<gradstep_tensor> grads = grads_;
    for (std::size_t i = 0; i < grads.size(); ++i) {
      std::vector<T> values = i == poison ? std::vector<T>(size(i), static_cast<T>(kNan)) : numbers(i, t);
      if (t == kSpikedStep && i == 0) std::ranges::copy(spikes, values.begin());
      write(grads[i], values);
      if (i == missing) grads[i] = {};
    }
    gradstep_step_options options{};
    TestDevice::check(gradstep_step_options_init(&options, sizeof options));
    options.skip_nonfinite = skips ? 1 : 0;
    return gradstep_optimizer_step_ex(optimizer_, params_.data(), grads.data(), nullptr, grads.size(), &options,
                                      nullptr);
  }

  /// The states. Eigenvectors have any sign, and with bases diagonal_exp_avg is in them: its magnitudes.
  std::vector<std::vector<T>> states_up_to_signs() {
    std::vector<std::vector<T>> states = outcome().states;
    if (!has_bases_) return states;
    for (std::size_t s = kStates - 1; s < states.size(); s += kStates) {
      for (T& value : states[s]) value = std::abs(value);
    }
    return states;
  }
  Outcome outcome() {
    Outcome result;
    result.parameters = parameters();
    for (std::size_t i = 0; i < shapes_.size(); ++i) {
      for (const char* name : kStateNames) result.states.push_back(state(i, name, shapes_[i]));
    }
    return result;
  }
  std::vector<std::vector<T>> parameters() {
    std::vector<std::vector<T>> all;
    for (std::size_t i = 0; i < shapes_.size(); ++i) {
      all.emplace_back(size(i));
      device_.queue().download(all.back().data(), params_[i].data, size(i) * sizeof(T));
    }
    return all;
  }
  /// Empty if there is none.
  std::vector<T> state(std::size_t i, const char* name, Shape shape) {
    const std::int64_t count = std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
    std::vector<T> values(static_cast<std::size_t>(count));
    const gradstep_tensor host = view(values.data(), {GRADSTEP_DEVICE_CPU, 0}, shape);
    if (gradstep_optimizer_get_state(optimizer_, i, name, &host, nullptr) != GRADSTEP_OK) values.clear();
    return values;
  }
  void set_state(std::size_t i, const char* name, Shape shape, std::vector<T> values) {
    const gradstep_tensor host = view(values.data(), {GRADSTEP_DEVICE_CPU, 0}, shape);
    TestDevice::check(gradstep_optimizer_set_state(optimizer_, i, name, &host, nullptr));
  }
  /// A metric of the matrix of an axis of parameter i's first block.
  double metric(const char* name, std::size_t i = 0, std::int64_t axis = 0) const {
    std::size_t count = 0;
    TestDevice::check(gradstep_optimizer_metrics(optimizer_, nullptr, sizeof(gradstep_metric), 0, &count));
    std::vector<gradstep_metric> metrics(count);
    TestDevice::check(
        gradstep_optimizer_metrics(optimizer_, metrics.data(), sizeof(gradstep_metric), metrics.size(), &count));
    for (const gradstep_metric& m : metrics) {
      if (std::string(m.name) == name && m.parameter == static_cast<std::int64_t>(i) && m.block == 0 && m.axis == axis)
        return m.value;
    }
    ADD_FAILURE() << "there is no metric " << name;
    return 0;
  }
  void set_parameters(const Outcome& outcome) {
    for (std::size_t i = 0; i < params_.size(); ++i) write(params_[i], outcome.parameters[i]);
  }
  gradstep_optimizer* optimizer() const { return optimizer_; }
  /// The gradient of parameter i in step t; of step 0, its first values.
  std::vector<T> numbers(std::size_t i, int t) const {
    std::mt19937 generator(static_cast<unsigned>(100 * t) + static_cast<unsigned>(i));
    std::vector<T> values(size(i));
    for (T& value : values) value = static_cast<T>(generator() % 2001) / T{1000} - T{1};
    return values;
  }

  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);
  static constexpr int kSpikedStep = 2;

  /// The first elements of parameter 0's gradient in that step.
  std::vector<T> spikes;

 private:
  std::size_t size(std::size_t i) const {
    return static_cast<std::size_t>(
        std::accumulate(shapes_[i].begin(), shapes_[i].end(), std::int64_t{1}, std::multiplies<>()));
  }
  static gradstep_tensor view(void* data, gradstep_device device, Shape& shape) {
    gradstep_tensor tensor{};
    tensor.data = data;
    tensor.device = device;
    tensor.ndim = static_cast<std::int32_t>(shape.size());
    tensor.dtype = {GRADSTEP_TYPE_FLOAT, 8 * sizeof(T), 1};
    tensor.shape = shape.data();
    return tensor;
  }
  gradstep_tensor tensor(std::size_t i) {
    return view(device_.allocate(size(i) * (sizeof(T) / sizeof(float))), device_.id(), shapes_[i]);
  }
  void write(const gradstep_tensor& tensor, const std::vector<T>& values) {
    device_.queue().upload(tensor.data, values.data(), values.size() * sizeof(T));
  }

  static constexpr std::size_t kStates = 4;
  static constexpr const char* kStateNames[kStates] = {"momentum", "diagonal_momentum", "diagonal_statistics",
                                                       "diagonal_exp_avg"};

  TestDevice& device_;
  bool has_bases_ = false;
  std::vector<Shape> shapes_;
  std::vector<gradstep_parameter> parameters_;
  std::vector<gradstep_tensor> params_;
  std::vector<gradstep_tensor> grads_;
  gradstep_optimizer* optimizer_ = nullptr;
};

using Outcome = OutcomeOf<float>;
using Model = ModelOf<float>;

class Processor final : public TestDevice {
 public:
  Processor() : TestDevice({GRADSTEP_DEVICE_CPU, 0}) {}
  std::int64_t waits() const override { return 0; }
  std::int64_t allocations() const override { return 0; }
};

/// Largest difference, relative to the largest number.
template <class T>
double difference(const std::vector<T>& a, const std::vector<T>& b) {
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

/// To eleven bits, the first of which is not stored.
inline std::vector<float> rounded_to_tf32(std::vector<float> values) {
  for (float& value : values) {
    int exponent = 0;
    const float fraction = std::frexp(value, &exponent);
    value = std::ldexp(std::round(std::ldexp(fraction, 11)), exponent - 11);
  }
  return values;
}

/// `steps` steps on both devices; tensor 0 has no gradient in the third.
template <class T = float>
void compare(const Change& change, double tolerance, const std::vector<Shape>& shapes, int steps = 4,
             std::size_t poison = Model::kNone) {
  Processor processor;
  EmulatedCuda device(7);
  ModelOf<T> expected(processor, shapes, change);
  ModelOf<T> found(device, shapes, change);
  for (int t = 1; t <= steps; ++t) {
    const std::size_t missing = t == 3 ? 0 : Model::kNone;
    const std::size_t poisoned = t == 2 ? poison : Model::kNone;
    ASSERT_EQ(expected.step(t, missing, poisoned), GRADSTEP_OK) << gradstep_last_error();
    ASSERT_EQ(found.step(t, missing, poisoned), GRADSTEP_OK) << gradstep_last_error();
    const auto parameters = expected.parameters();
    const auto found_parameters = found.parameters();
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      EXPECT_LE(difference(found_parameters[i], parameters[i]), tolerance) << "parameter " << i << ", step " << t;
    }
    const auto states = expected.states_up_to_signs();
    const auto found_states = found.states_up_to_signs();
    for (std::size_t s = 0; s < states.size(); ++s) {
      EXPECT_LE(difference(found_states[s], states[s]), tolerance) << "state " << s << ", step " << t;
    }
  }
}

}  // namespace gradstep::test
