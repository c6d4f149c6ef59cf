// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "optim/first_order/gradient_units.h"

#include <algorithm>
#include <cstddef>
#include <numeric>

#include "core/memory.h"

namespace gradstep {

namespace {

/// The axes of a tensor in the order in which its units lie side by side: those that a unit has come last.
std::vector<std::size_t> order_of(std::size_t axes, ClipUnits units) {
  std::vector<std::size_t> order(axes);
  std::iota(order.begin(), order.end(), std::size_t{0});
  if (axes < 2 || units == ClipUnits::rows || (units == ClipUnits::second && axes != 3)) return order;
  if (units == ClipUnits::second) return {0, 2, 1};
  // columns
  if (axes > 3) return (std::rotate(order.begin(), order.end() - 1, order.end()), order);
  return (std::rotate(order.begin(), order.begin() + 1, order.end()), order);
}

/// Elements of a unit.
std::int64_t length_of(const Parameter& parameter, ClipUnits units) {
  const std::span<const std::int64_t> shape = parameter.whole_shape();
  const std::int64_t size = parameter.whole_size();
  if (shape.size() < 2 || size == 0) return size;
  if (units == ClipUnits::columns) return shape.size() > 3 ? size / shape.back() : shape.front();
  if (units == ClipUnits::second && shape.size() == 3) return shape[1];
  return size / shape.front();
}

}  // namespace

void GradientUnits::fill(std::span<UpdateItem> items, const RulesByGroup& rules, const Schema& schema) {
  clipped_ = {};
  centered_ = {};
  layouts_.clear();
  gradients_.clear();
  if (!rules.any([](const Rule& rule) { return rule.unit_clip().ratio > 0 || rule.centers_gradients(); })) return;
  const auto clips = [&](std::size_t i) { return rules.of(schema[i].group).unit_clip().ratio > 0; };
  const auto centers = [&](std::size_t i) {
    return rules.of(schema[i].group).centers_gradients() && schema[i].shape.size() > 1;
  };
  gradients_.resize(items.size());
  std::int64_t bytes = 0;
  for (std::size_t i = 0; i < items.size(); ++i) {
    const Array& gradient = *items[i].gradient;
    if ((!clips(i) && !centers(i)) || gradient.data == nullptr || gradient.size == 0) continue;
    gradients_[i] = compact_array(nullptr, gradient.size, arithmetic_dtype(items[i].param->dtype));
    bytes += line_bytes(gradient.size, gradients_[i].dtype);
  }
  site_.fit(shaped_, bytes, /*zeroed=*/false);
  auto* next = shaped_.as<std::byte>();
  for (std::size_t i = 0; i < items.size(); ++i) {
    Array& shaped = gradients_[i];
    if (shaped.size == 0) continue;
    shaped.data = next;
    next += line_bytes(shaped.size, shaped.dtype);
    UpdateItem& item = items[i];
    if (clips(i)) {
      const UnitClip& clip = rules.of(schema[i].group).unit_clip();
      add(clipped_,
          {.gradient = *item.gradient, .value = *item.param, .to = shaped, .clip = clip.ratio, .epsilon = clip.epsilon},
          schema[i], clip.units);
      item.gradient = &shaped;
    }
    if (centers(i)) {
      add(centered_, {.gradient = *item.gradient, .value = {}, .to = shaped}, schema[i], ClipUnits::rows);
      item.gradient = &shaped;
    }
  }
  for (Pass* pass : {&clipped_, &centered_}) {
    pass->plan.work = &pass->work;
    pass->plan.items = pass->items;
  }
}

void GradientUnits::add(Pass& pass, UnitItem item, const Parameter& parameter, ClipUnits units) {
  const std::vector<std::size_t> order = order_of(parameter.shape.size(), units);
  item.length = length_of(parameter, units);
  item.first = std::ssize(pass.work.chunks());
  pass.work.append_runs(parameter.whole_size() / item.length, item.length);
  for (Array* array : {&item.gradient, &item.value, &item.to}) *array = turned(*array, parameter, order);
  pass.items.push_back(item);
}

Array GradientUnits::turned(const Array& array, const Parameter& parameter, std::span<const std::size_t> axes) {
  if (array.data == nullptr || std::ranges::is_sorted(axes)) return array;
  std::vector<std::int64_t> strides(axes.size());
  std::int64_t compact = 1;
  for (std::size_t axis = axes.size(); axis-- > 0;) {
    strides[axis] = array.strides != nullptr ? array.strides[axis] : compact;
    compact *= parameter.whole_shape()[axis];
  }
  std::vector<std::int64_t>& shape_here = layouts_.emplace_back();
  std::vector<std::int64_t>& strides_here = layouts_.emplace_back();
  for (const std::size_t axis : axes) {
    shape_here.push_back(parameter.whole_shape()[axis]);
    strides_here.push_back(strides[axis]);
  }
  Array view = array;
  view.ndim = static_cast<std::int32_t>(axes.size());
  view.shape = shape_here.data();
  view.strides = strides_here.data();
  return view;
}

void GradientUnits::run(const kernels::StepScalars* scalars) {
  for (const Pass* pass : {&clipped_, &centered_}) {
    if (!pass->items.empty()) site_.backend().shape_gradients(pass->plan, scalars, site_.queue());
  }
}

}  // namespace gradstep
