// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// What unit tests share: tensors over vectors, a context with the CPU backend, expected errors.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "backend/context.h"
#include "core/dtype.h"
#include "core/error.h"
#include "core/schema.h"
#include "cpu/cpu_backend.h"
#include "kernels/convert.h"
#include "unit/random_values.h"

namespace gradstep::test {

/// Where handles are. tests/cuda compiles some of these sources once more, for the emulated CUDA device.
#if defined(GRADSTEP_TEST_ON_CUDA)
inline constexpr gradstep_device kDeviceOfHandles = {GRADSTEP_DEVICE_CUDA, 0};
#else
inline constexpr gradstep_device kDeviceOfHandles = {GRADSTEP_DEVICE_CPU, 0};
#endif

inline std::shared_ptr<Context> make_context(int threads = 1) {
  auto options = default_context_options();
  options.num_threads = threads;
  auto context = std::make_shared<Context>(options);
  context->add_backend({GRADSTEP_DEVICE_CPU, 0}, cpu::make_backend(*context));
  return context;
}

template <class T>
constexpr DType dtype_of() {
  if constexpr (std::is_same_v<T, double>) return DType::f64;
  if constexpr (std::is_same_v<T, std::int32_t>) return DType::i32;
  if constexpr (std::is_same_v<T, std::int64_t>) return DType::i64;
  if constexpr (std::is_same_v<T, kernels::Float16>) return DType::f16;
  if constexpr (std::is_same_v<T, kernels::BFloat16>) return DType::bf16;
  return DType::f32;
}

/// A vector with a shape, and the gradstep_tensor that shows it.
template <class T>
struct TestTensor {
  std::vector<T> values;
  std::vector<std::int64_t> shape;

  explicit TestTensor(std::vector<std::int64_t> dimensions, T fill = T{}) : shape(std::move(dimensions)) {
    std::int64_t count = 1;
    for (const std::int64_t d : shape) count *= d;
    values.assign(static_cast<std::size_t>(count), fill);
  }
  TestTensor(std::vector<std::int64_t> dimensions, std::vector<T> data)
      : values(std::move(data)), shape(std::move(dimensions)) {}

  gradstep_tensor tensor() {
    gradstep_tensor t{};
    t.data = values.data();
    t.device = {GRADSTEP_DEVICE_CPU, 0};
    t.ndim = static_cast<std::int32_t>(shape.size());
    t.dtype = to_dlpack(dtype_of<T>());
    t.shape = shape.data();
    return t;
  }
  gradstep_tensor absent() {
    gradstep_tensor t = tensor();
    t.data = nullptr;
    return t;
  }
};

/// A schema of parameters named p0, p1, ... of one dtype.
inline Schema make_schema(const std::vector<std::vector<std::int64_t>>& shapes, DType dtype = DType::f32,
                          std::uint32_t flags = 0) {
  std::vector<gradstep_parameter> parameters;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < shapes.size(); ++i) names.push_back("p" + std::to_string(i));
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    gradstep_parameter p{};
    p.struct_size = sizeof p;
    p.flags = flags;
    p.name = names[i].c_str();
    p.shape = shapes[i].data();
    p.ndim = static_cast<std::int32_t>(shapes[i].size());
    p.dtype = to_dlpack(dtype);
    p.device = kDeviceOfHandles;
    parameters.push_back(p);
  }
  return Schema(parameters.data(), parameters.size());
}

inline void check_error(gradstep_status status, const std::string& part, const Error& error) {
  EXPECT_STREQ(status_name(error.status()), status_name(status)) << error.what();
  EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
}

inline void miss_error(gradstep_status status, const std::string& part) {
  ADD_FAILURE() << "no error, expected " << status_name(status) << " with '" << part << "'";
}

/// Runs `body` and checks the status of the Error it throws and a part of its text.
template <class Body>
void expect_error(gradstep_status status, const std::string& part, Body&& body) {
  try {
    body();
    miss_error(status, part);
  } catch (const Error& error) {
    check_error(status, part, error);
  }
}

}  // namespace gradstep::test
