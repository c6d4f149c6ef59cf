// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "optim/saved_optimizer.h"
#include "optim/shampoo/shampoo.h"
#include "unit/memory_stream.h"
#include "unit/optim/optimizer_fixture.h"

namespace gradstep::test {

/// Blocks of 4, so that the parameters of the fixture have several.
inline gradstep_shampoo_options shampoo_options() {
  auto o = default_shampoo_options();
  o.learning_rate = 0.01;
  o.block_size = 4;
  o.graft_type = GRADSTEP_GRAFT_TYPE_RMSPROP;
  o.start_preconditioning_step = 1;
  return o;
}

inline std::unique_ptr<Shampoo> make_shampoo(const gradstep_shampoo_options& o, int threads = 1,
                                             const std::vector<std::vector<std::int64_t>>& shapes = kShapes,
                                             DType dtype = DType::f32) {
  return std::make_unique<Shampoo>(make_context(threads), o, make_schema(shapes, dtype));
}

/// Steps begin .. end - 1 of gradients that depend on the step alone.
inline void run(Model<float>& model, Optimizer& optimizer, std::uint32_t begin, std::uint32_t end) {
  for (std::uint32_t t = begin; t < end; ++t) {
    model.draw_gradients(t);
    model.step(optimizer);
  }
}

inline void expect_equal_params(const Model<float>& a, const Model<float>& b) {
  for (std::size_t k = 0; k < a.params.size(); ++k) EXPECT_EQ(a.params[k].values, b.params[k].values);
}

inline std::vector<float> copy_of_state(Optimizer& optimizer, std::size_t index, const char* name) {
  const auto shape = optimizer.state().shape(index, name);
  std::int64_t size = 1;
  for (const std::int64_t extent : shape) size *= extent;
  std::vector<float> values(static_cast<std::size_t>(size));
  optimizer.state().get(index, name, {values.data(), size, DType::f32, 0, nullptr, nullptr});
  return values;
}

inline double metric_of(Optimizer& optimizer, const std::string& name) {
  double sum = 0;
  for (const gradstep_metric& metric : optimizer.metrics()) sum += metric.name == name ? metric.value : 0;
  return sum;
}

/// Loads what `from` saves.
inline void resume(Optimizer& from, Optimizer& to) {
  const StateFile file = read_bytes(saved_bytes("optimizer", {{"", save_optimizer(from)}}));
  LoadedPart part(file, "");
  load_optimizer(part, to)();
}

}  // namespace gradstep::test
