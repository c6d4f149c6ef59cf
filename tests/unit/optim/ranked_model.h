// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// A model for optimizers whose state is spread over ranks.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "optim/optimizer.h"
#include "unit/optim/optimizer_fixture.h"

namespace gradstep::test {

/// Less than a chunk, several chunks with a rest, exactly one, and one element.
inline const std::vector<std::vector<std::int64_t>> kUneven = {
    {5, 7}, {3 * kChunk + 100}, {kChunk}, {1}, {2 * kChunk - 1}};

inline gradstep_adam_options adam() {
  auto o = default_options<gradstep_adam_options>();
  o.learning_rate = 0.01;
  o.weight_decay = 0.1;
  return o;
}

/// Parameters of one dtype, equal on all ranks, and gradients that differ by rank. Both stay where they are, and so
/// does what was worked out for them.
struct Ranked {
  Schema schema;
  DType dtype;
  std::vector<std::vector<std::byte>> params;
  std::vector<std::vector<float>> grads;
  std::vector<bool> absent;
  StepBinding binding;

  explicit Ranked(DType type, std::uint32_t flags = 0, const std::vector<std::vector<std::int64_t>>& shapes = kUneven)
      : schema(make_schema(shapes, type, flags)), dtype(type) {
    const auto context = make_context();
    for (std::size_t i = 0; i < schema.size(); ++i) {
      auto values = random_values<float>(static_cast<std::size_t>(schema[i].size), 7 + static_cast<std::uint32_t>(i));
      params.emplace_back(values.size() * static_cast<std::size_t>(size_of(dtype)));
      CopyItem item;
      item.destination = {params.back().data(), schema[i].size, dtype, 0, nullptr, nullptr};
      item.source = {values.data(), schema[i].size, DType::f32, 0, nullptr, nullptr};
      Site(context->cpu()).copy(item.destination, item.source);
      grads.emplace_back(values.size());
    }
    absent.assign(schema.size(), false);
  }
  void draw(std::int32_t rank, std::uint32_t step) {
    for (std::size_t i = 0; i < grads.size(); ++i) {
      const auto seed = 1000 * static_cast<std::uint32_t>(rank) + 31 * step + static_cast<std::uint32_t>(i);
      std::ranges::copy(random_values<float>(grads[i].size(), seed), grads[i].begin());
    }
  }
  std::vector<gradstep_tensor> param_tensors() {
    std::vector<gradstep_tensor> list;
    for (std::size_t i = 0; i < params.size(); ++i) list.push_back(view_of(schema, i, params[i].data(), dtype));
    return list;
  }
  std::vector<gradstep_tensor> grad_tensors() {
    std::vector<gradstep_tensor> list;
    for (std::size_t i = 0; i < grads.size(); ++i) {
      list.push_back(view_of(schema, i, absent[i] ? nullptr : grads[i].data(), DType::f32));
    }
    return list;
  }
  const StepBuffers& buffers() {
    return binding.bind(schema, param_tensors().data(), grad_tensors().data(), nullptr, schema.size());
  }
  StepOutcome step(Optimizer& optimizer, const StepGuards& guards = {}) { return optimizer.step(buffers(), guards); }
};

}  // namespace gradstep::test
