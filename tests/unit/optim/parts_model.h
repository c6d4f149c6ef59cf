// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// A model that a host has spread over ranks, beside the same model on one rank.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "optim/first_order/first_order_optimizer.h"
#include "optim/first_order/named_options.h"
#include "optim/parts.h"
#include "optim/saved_optimizer.h"
#include "unit/memory_stream.h"
#include "unit/optim/optimizer_fixture.h"
#include "unit/ranks.h"

namespace gradstep::test {

using Shape = std::vector<std::int64_t>;

/// What a rank has of a parameter.
struct PartOf {
  Shape shape;
  Shape offset;
};
/// By rank, then parameter.
using Layout = std::vector<std::vector<PartOf>>;

/// A matrix, more than a chunk with a rest, three axes, and one element.
inline const std::vector<Shape> kWholes = {{6, 10}, {3 * kChunk + 100}, {5, 4, 3}, {1}};

inline PartOf all_of(const Shape& whole) { return {whole, Shape(whole.size(), 0)}; }

/// Piece `place` of `count` along an axis: each as long as the first one, while there is something left.
inline PartOf piece_of(PartOf part, std::size_t axis, std::int64_t place, std::int64_t count) {
  const std::int64_t length = part.shape[axis];
  const std::int64_t each = (length + count - 1) / count;
  const std::int64_t begin = std::min(place * each, length);
  part.offset[axis] += begin;
  part.shape[axis] = std::min(each, length - begin);
  return part;
}

/// Every rank has rows of each whole.
inline Layout by_rows(std::int64_t ranks, const std::vector<Shape>& wholes = kWholes) {
  Layout layout(static_cast<std::size_t>(ranks));
  for (std::int64_t rank = 0; rank < ranks; ++rank) {
    for (const Shape& whole : wholes) {
      layout[static_cast<std::size_t>(rank)].push_back(piece_of(all_of(whole), 0, rank, ranks));
    }
  }
  return layout;
}

/// Every rank has columns of each whole.
inline Layout by_columns(std::int64_t ranks, const std::vector<Shape>& wholes = kWholes) {
  Layout layout(static_cast<std::size_t>(ranks));
  for (std::int64_t rank = 0; rank < ranks; ++rank) {
    for (const Shape& whole : wholes) {
      layout[static_cast<std::size_t>(rank)].push_back(piece_of(all_of(whole), whole.size() - 1, rank, ranks));
    }
  }
  return layout;
}

/// Four ranks: two times two pieces of what has two axes, two of what has one, which two ranks each have.
inline Layout in_a_grid(const std::vector<Shape>& wholes = kWholes) {
  Layout layout(4);
  for (std::int64_t rank = 0; rank < 4; ++rank) {
    for (const Shape& whole : wholes) {
      PartOf part = piece_of(all_of(whole), 0, rank / 2, 2);
      if (whole.size() > 1) part = piece_of(part, 1, rank % 2, 2);
      layout[static_cast<std::size_t>(rank)].push_back(part);
    }
  }
  return layout;
}

/// Four ranks: two pieces of each whole, which two ranks each have; the last parameter is whole on all.
inline Layout in_replicas(const std::vector<Shape>& wholes = kWholes) {
  Layout layout(4);
  for (std::int64_t rank = 0; rank < 4; ++rank) {
    for (const Shape& whole : wholes) {
      const bool is_last = &whole == &wholes.back();
      layout[static_cast<std::size_t>(rank)].push_back(is_last ? all_of(whole)
                                                               : piece_of(all_of(whole), 0, rank % 2, 2));
    }
  }
  return layout;
}

/// Everything is on the last rank.
inline Layout on_the_last(std::int64_t ranks, const std::vector<Shape>& wholes = kWholes) {
  Layout layout(static_cast<std::size_t>(ranks));
  for (std::int64_t rank = 0; rank < ranks; ++rank) {
    for (const Shape& whole : wholes) {
      PartOf part = all_of(whole);
      if (rank + 1 < ranks) part.shape[0] = 0;
      layout[static_cast<std::size_t>(rank)].push_back(part);
    }
  }
  return layout;
}

/// Where each element of a part lies in the whole, one index after the other.
inline std::vector<std::size_t> places_of(const Shape& whole, const PartOf& part) {
  std::int64_t size = 1;
  for (const std::int64_t length : part.shape) size *= length;
  std::vector<std::size_t> places;
  for (std::int64_t element = 0; element < size; ++element) {
    std::int64_t rest = element;
    std::int64_t place = 0;
    std::int64_t stride = 1;
    for (std::size_t axis = whole.size(); axis-- > 0;) {
      place += (part.offset[axis] + rest % part.shape[axis]) * stride;
      rest /= part.shape[axis];
      stride *= whole[axis];
    }
    places.push_back(static_cast<std::size_t>(place));
  }
  return places;
}

/// With groups, what has fewer than two axes is in the second one.
inline Schema schema_of(const std::vector<Shape>& wholes, const std::vector<PartOf>& parts, DType dtype = DType::f32,
                        bool has_groups = false) {
  std::vector<gradstep_parameter> parameters;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < wholes.size(); ++i) names.push_back("p" + std::to_string(i));
  for (std::size_t i = 0; i < wholes.size(); ++i) {
    gradstep_parameter p{};
    p.struct_size = sizeof p;
    p.name = names[i].c_str();
    p.ndim = static_cast<std::int32_t>(wholes[i].size());
    p.dtype = to_dlpack(dtype);
    p.device = kDeviceOfHandles;
    p.shape = parts[i].shape.data();
    p.whole_shape = wholes[i].data();
    p.offset = parts[i].offset.data();
    p.group = has_groups && wholes[i].size() < 2 ? 1 : 0;
    parameters.push_back(p);
  }
  return Schema(parameters.data(), parameters.size());
}

/// What one rank has of a model: f32 parameters and gradients, which are the same whatever the layout.
struct PartsModel {
  Schema schema;
  std::vector<std::vector<std::size_t>> places;
  std::vector<std::vector<float>> params;
  std::vector<std::vector<float>> grads;
  std::vector<bool> absent;

  explicit PartsModel(const std::vector<PartOf>& parts, const std::vector<Shape>& shapes = kWholes,
                      bool has_groups = false)
      : schema(schema_of(shapes, parts, DType::f32, has_groups)), absent(shapes.size()), wholes_(shapes) {
    for (std::size_t i = 0; i < wholes_.size(); ++i) {
      places.push_back(places_of(wholes_[i], parts[i]));
      params.push_back(drawn(i, 7));
      grads.emplace_back(params.back().size());
    }
  }
  static PartsModel whole(const std::vector<Shape>& shapes = kWholes, bool has_groups = false) {
    std::vector<PartOf> parts;
    for (const Shape& shape : shapes) parts.push_back(all_of(shape));
    return PartsModel(parts, shapes, has_groups);
  }

  void draw(std::uint32_t step) {
    for (std::size_t i = 0; i < grads.size(); ++i) grads[i] = drawn(i, 1000 + 31 * step);
  }
  /// Updates are written where the gradients are.
  StepOutcome step(Optimizer& optimizer, const StepGuards& guards = {}, bool gives_updates = false) {
    std::vector<gradstep_tensor> p;
    std::vector<gradstep_tensor> g;
    std::vector<gradstep_tensor> u;
    for (std::size_t i = 0; i < params.size(); ++i) {
      p.push_back(view_of(schema, i, params[i].data(), DType::f32));
      u.push_back(view_of(schema, i, grads[i].data(), DType::f32));
      g.push_back(view_of(schema, i, absent[i] ? nullptr : grads[i].data(), DType::f32));
      if (absent[i]) g.back().ndim = 0;
      if (absent[i]) g.back().shape = nullptr;
    }
    return host::step(optimizer, p.data(), g.data(), gives_updates ? u.data() : nullptr, p.size(), guards);
  }
  void train(Optimizer& optimizer, std::uint32_t begin, std::uint32_t end, const StepGuards& guards = {}) {
    for (std::uint32_t t = begin; t < end; ++t) {
      draw(t);
      EXPECT_TRUE(step(optimizer, guards).applied) << t;
    }
  }

 private:
  /// The part of random numbers for the whole.
  std::vector<float> drawn(std::size_t i, std::uint32_t seed) const {
    std::size_t size = 1;
    for (const std::int64_t length : wholes_[i]) size *= static_cast<std::size_t>(length);
    const auto whole = random_values<float>(size, seed + static_cast<std::uint32_t>(i));
    std::vector<float> part;
    for (const std::size_t place : places[i]) part.push_back(whole[place]);
    return part;
  }

  std::vector<Shape> wholes_;
};

inline constexpr gradstep_option kRate = {"learning_rate", 0.01, nullptr};
inline constexpr std::uint32_t kSteps = 4;

inline Rule rule_of(const char* name, const std::vector<gradstep_option>& options = {kRate}) {
  return make_rule(find_rule(name), options);
}

inline std::unique_ptr<FirstOrderOptimizer> optimizer_of(RulesByGroup rules, const PartsModel& model) {
  return std::make_unique<FirstOrderOptimizer>(make_context(), std::move(rules), model.schema);
}
inline std::unique_ptr<FirstOrderOptimizer> optimizer_of(const Rule& rule, const PartsModel& model) {
  return optimizer_of(RulesByGroup({rule}), model);
}

inline std::vector<Layout> layouts(const std::vector<Shape>& wholes = kWholes) {
  return {by_rows(2, wholes), by_columns(2, wholes), by_rows(4, wholes),
          in_a_grid(wholes),  in_replicas(wholes),   on_the_last(3, wholes)};
}

inline void attach_parts(Optimizer& optimizer, Communicator* comm) {
  optimizer.attach(comm, {}, {}, /*in_parts=*/true);
}

/// Runs the body on every rank of the layout, with its model and an optimizer whose parts are attached.
template <class Rules, class Body>
void run_attached(const Layout& layout, const Rules& rules, const Body& body,
                  const std::vector<Shape>& wholes = kWholes) {
  run_ranks(static_cast<std::int32_t>(layout.size()), [&](Communicator& comm) {
    PartsModel model(layout[static_cast<std::size_t>(comm.rank())], wholes);
    const auto optimizer = optimizer_of(rules, model);
    attach_parts(*optimizer, &comm);
    body(comm, model, *optimizer);
  });
}

/// The parameters of one rank that has everything.
template <class Rules>
std::vector<std::vector<float>> trained_whole(const Rules& rules, const StepGuards& guards = {},
                                              const std::vector<Shape>& wholes = kWholes) {
  PartsModel model = PartsModel::whole(wholes);
  const auto optimizer = optimizer_of(rules, model);
  model.train(*optimizer, 0, kSteps, guards);
  return model.params;
}

inline std::string save(Optimizer& optimizer) { return saved_bytes("optimizer", {{"", save_optimizer(optimizer)}}); }

inline void load(Optimizer& optimizer, const std::string& bytes) {
  Memory memory(bytes);
  const StateFile file(memory, false, own_parts(optimizer, ""));
  LoadedPart part(file, "");
  load_optimizer(part, optimizer)();
}

/// The elements of a whole that are in a part.
inline std::vector<float> part_of(const std::vector<float>& whole, const std::vector<std::size_t>& places) {
  std::vector<float> part;
  for (const std::size_t place : places) part.push_back(whole[place]);
  return part;
}

}  // namespace gradstep::test
