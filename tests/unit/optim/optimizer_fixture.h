// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// An optimizer over two parameters, one of them absent now and then, driven side by side with a reference in f64.
#pragma once

#include <cmath>
#include <functional>

#include "core/platform/system.h"
#include "gradstep/optimizer.h"
#include "optim/first_order/first_order_optimizer.h"
#include "optim/first_order/typed_options.h"
#include "unit/host_calls.h"
#include "unit/support.h"

namespace gradstep::test {

inline const std::vector<std::vector<std::int64_t>> kShapes = {{7, 5}, {1000}};

/// The parameters of kShapes, in a group each.
inline Schema grouped_schema(std::int32_t second_group = 1, DType dtype = DType::f32) {
  std::vector<gradstep_parameter> parameters(kShapes.size());
  for (std::size_t i = 0; i < kShapes.size(); ++i) {
    gradstep_parameter& p = parameters[i];
    p.struct_size = sizeof p;
    p.shape = kShapes[i].data();
    p.ndim = static_cast<std::int32_t>(kShapes[i].size());
    p.group = i == 0 ? 0 : second_group;
    p.dtype = to_dlpack(dtype);
    p.device = {GRADSTEP_DEVICE_CPU, 0};
  }
  return {parameters.data(), parameters.size()};
}

/// A context that counts what it allocates. Without background threads only the caller and the pool work, so
/// that scratch does not depend on who came first.
inline std::shared_ptr<Context> make_counting_context(int* allocations, int threads) {
  gradstep_allocator allocator{};
  allocator.struct_size = sizeof allocator;
  allocator.user = allocations;
  allocator.allocate = [](void* user, std::size_t bytes, std::size_t alignment, std::int32_t, std::int32_t, void*) {
    ++*static_cast<int*>(user);
    return platform::allocate(alignment, (bytes + alignment - 1) / alignment * alignment);
  };
  allocator.deallocate = [](void*, void* data, std::size_t, std::size_t, std::int32_t, std::int32_t, void*) {
    platform::deallocate(data);
  };
  auto options = default_context_options();
  options.num_threads = threads;
  options.background_threads = 0;
  options.allocator = &allocator;
  auto context = std::make_shared<Context>(options);
  context->add_backend({GRADSTEP_DEVICE_CPU, 0}, cpu::make_backend(*context));
  return context;
}

template <class Options>
std::unique_ptr<FirstOrderOptimizer> make_optimizer(const Options& options, DType dtype = DType::f32) {
  return std::make_unique<FirstOrderOptimizer>(make_context(), make_rule(options), make_schema(kShapes, dtype));
}

template <class T>
struct Model {
  std::vector<TestTensor<T>> params;
  std::vector<TestTensor<T>> grads;
  std::vector<TestTensor<T>> updates;

  explicit Model(std::uint32_t seed = 1) {
    for (const auto& shape : kShapes) {
      params.emplace_back(shape);
      grads.emplace_back(shape);
      updates.emplace_back(shape);
      params.back().values = random_values<T>(params.back().values.size(), seed++);
    }
  }
  void draw_gradients(std::uint32_t seed) {
    for (auto& grad : grads) grad.values = random_values<T>(grad.values.size(), 1000 + 31 * seed++);
  }
  static std::vector<gradstep_tensor> tensors(std::vector<TestTensor<T>>& list) {
    std::vector<gradstep_tensor> result;
    for (auto& tensor : list) result.push_back(tensor.tensor());
    return result;
  }
  StepOutcome step(Optimizer& optimizer, const StepGuards& guards = {}) {
    const auto p = tensors(params);
    const auto g = tensors(grads);
    return host::step(optimizer, p.data(), g.data(), nullptr, p.size(), guards);
  }
  StepOutcome update(Optimizer& optimizer, const StepGuards& guards = {}) {
    const auto p = tensors(params);
    const auto g = tensors(grads);
    const auto u = tensors(updates);
    return host::step(optimizer, p.data(), g.data(), u.data(), p.size(), guards);
  }
};

inline std::vector<kernels::BFloat16> to_bfloat16(const std::vector<float>& wide) {
  std::vector<kernels::BFloat16> narrow;
  for (const float value : wide) narrow.push_back(kernels::to_bfloat16(value));
  return narrow;
}

inline std::vector<float> widen(const std::vector<kernels::BFloat16>& narrow) {
  std::vector<float> wide;
  for (const kernels::BFloat16 value : narrow) wide.push_back(kernels::widen(value));
  return wide;
}

inline std::vector<std::uint16_t> bits_of(const std::vector<kernels::BFloat16>& narrow) {
  std::vector<std::uint16_t> bits;
  for (const kernels::BFloat16 value : narrow) bits.push_back(value.bits);
  return bits;
}

/// A bf16 parameter, and its f32 twin that begins with the same values; the same gradients for both, in f32.
struct NarrowModel {
  TestTensor<kernels::BFloat16> param;
  TestTensor<float> twin;
  TestTensor<float> grad;

  explicit NarrowModel(const std::vector<std::int64_t>& shape) : param(shape), twin(shape), grad(shape) {
    param.values = to_bfloat16(random_values<float>(param.values.size(), 5));
    twin.values = widen(param.values);
  }
  void step(Optimizer& optimizer, std::uint32_t seed) { step(optimizer, param.tensor(), seed); }
  void step_twin(Optimizer& optimizer, std::uint32_t seed) { step(optimizer, twin.tensor(), seed); }

 private:
  void step(Optimizer& optimizer, const gradstep_tensor& p, std::uint32_t seed) {
    grad.values = random_values<float>(grad.values.size(), 100 + seed);
    const gradstep_tensor g = grad.tensor();
    host::step(optimizer, &p, &g, nullptr, 1);
  }
};

inline std::int64_t bytes_held(Optimizer& optimizer) {
  std::int64_t bytes = 0;
  for (const StoredState& stored : optimizer.state().stored()) bytes += stored.array.bytes();
  return bytes;
}

/// One element's rule in f64: (p, g, state, t) -> new p. `state` has room for three numbers.
using ReferenceRule = std::function<double(double p, double g, double* state, std::int64_t t)>;

/// 20 steps of random gradients beside the reference; the largest difference relative to the largest parameter.
template <class T>
double run_beside(Optimizer& optimizer, const ReferenceRule& rule, int steps = 20) {
  Model<T> model;
  std::vector<std::vector<double>> p;
  std::vector<std::vector<double>> state;
  for (const auto& tensor : model.params) {
    p.emplace_back(tensor.values.begin(), tensor.values.end());
    state.emplace_back(3 * tensor.values.size(), 0.0);
  }
  double worst = 0;
  double largest = 0;
  for (int t = 0; t < steps; ++t) {
    model.draw_gradients(static_cast<std::uint32_t>(t));
    model.step(optimizer);
    for (std::size_t k = 0; k < p.size(); ++k) {
      for (std::size_t i = 0; i < p[k].size(); ++i) {
        p[k][i] = rule(p[k][i], static_cast<double>(model.grads[k].values[i]), &state[k][3 * i], t);
        worst = std::max(worst, std::abs(p[k][i] - static_cast<double>(model.params[k].values[i])));
        largest = std::max(largest, std::abs(p[k][i]));
      }
    }
  }
  return worst / largest;
}

// Rounding of 20 steps: a few ulp of f32 and f64 respectively, with room for cancellation.
inline constexpr double kTolerance32 = 2e-6;
inline constexpr double kTolerance64 = 1e-13;

}  // namespace gradstep::test
