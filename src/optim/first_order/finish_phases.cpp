// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "optim/first_order/finish_phases.h"

#include <algorithm>
#include <utility>

#include "core/memory.h"

namespace gradstep {

namespace {

/// Bytes of a parameter's change, whole lines of the cache.
std::int64_t change_bytes(const Array& param) { return line_bytes(param.size, arithmetic_dtype(param.dtype)); }

/// What update() steps: the master, where there is one.
Array stepped(const UpdateItem& item) {
  return item.master != nullptr ? compact_array(item.master, item.param->size, DType::f32) : *item.param;
}

}  // namespace

void FinishPhases::fill(std::span<UpdateItem> items, std::span<const WholeNumbers> whole, const RulesByGroup& rules,
                        const Schema& schema, const WorkList& work, const Sharding* sharding) {
  waits_ = std::ranges::any_of(options_, &FinishOptions::are_needed);
  has_ratios_ = std::ranges::any_of(
      options_, [](const FinishOptions& options) { return options.scale == ChangeScale::trust_ratio; });
  has_masks_ = false;
  if (!waits_) return;
  const std::int64_t chunks = sharding != nullptr ? sharding->partials().count() : std::ssize(work.chunks());
  make_room(items, chunks);
  items_.assign(items.size(), {});
  values_.assign(has_ratios_ ? items.size() : 0, {});
  scaled_changes_.assign(has_ratios_ ? items.size() : 0, {});
  shown_changes_.assign(items.size(), {});
  std::vector<OrthogonalItem> matrices;
  factored_.clear();
  double* factor = partials_.as<double>() + 3 * chunks;
  std::vector<ProjectedItem> projected;
  std::int64_t offset = 0;
  std::int64_t first = 0;
  for (std::size_t i = 0; i < items.size(); ++i) {
    UpdateItem& item = items[i];
    const FinishOptions& options = options_[i];
    FinishItem& finish = items_[i];
    finish.size = schema[i].whole_size();
    finish.first = first;
    finish.count = sharding != nullptr ? sharding->partials().count(i) : chunks_of(schema[i].size);
    first += finish.count;
    Array& change = shown_changes_[i];
    change = compact_array(nullptr, item.param->size, arithmetic_dtype(item.param->dtype));
    if (has_ratios_) values_[i].size = scaled_changes_[i].size = change.size;
    if (!options.are_needed()) continue;
    change.data = changes_.as<std::byte>() + offset;
    offset += change_bytes(*item.param);
    finish.scale = options.scale;
    finish.cautious = options.cautious;
    finish.decays = options.decays;
    finish.decays_aligned = options.decays_aligned;
    finish.item = item;
    finish.item.states[0] = change.data;
    finish.item.format = StateFormat::native;
    if (options.cautious == CautiousUpdate::off && item.gradient->data != nullptr) finish.item.gradient = &change;
    item.update = &change;
    if (options.scale == ChangeScale::trust_ratio) {
      values_[i] = stepped(item);
      scaled_changes_[i] = change;
    }
    has_masks_ = has_masks_ || options.cautious != CautiousUpdate::off;
    if (options.scale == ChangeScale::factored) finish.factor = factor++;
    if (options.scale == ChangeScale::factored && change.size > 0 && item.gradient->data != nullptr) {
      const Rule& rule = rules.of(schema[i].group);
      factored_.push_back({change, stepped(item), rule.factoring(), rule.axes(schema[i]), whole[i].of[0],
                           whole[i].of[1], whole[i].of[2], item.constants, factor - 1});
    }
    if (options.scale == ChangeScale::step) {
      const std::int64_t rows = schema[i].whole_shape().front();
      const std::int64_t columns = rows == 0 ? 0 : finish.size / rows;
      const Rule& rule = rules.of(schema[i].group);
      finish.step_scale = finish.size == 0 ? 1 : rule.step_scale(rows, columns);
      // Ranks that have no part of it have no elements.
      if (change.size > 0 && item.gradient->data != nullptr) {
        if (rule.is_projected()) {
          projected.push_back({.change = change,
                               .rows = rows,
                               .columns = columns,
                               .rank = rule.rank_of(rows, columns),
                               .form = rule.projection(),
                               .momentum = whole[i].of[0],
                               .factors = whole[i].of[1],
                               .constants = item.constants});
        } else {
          matrices.push_back(
              {change, rows, columns, rule.orthogonalization(), rule.variance(), whole[i].of[0], item.constants});
        }
      }
    }
  }
  const auto show = [&](NormPlan& plan, const std::vector<Array>& arrays) {
    plan.work = &work;
    plan.arrays = {arrays, 0};
    plan.prepared.forget();
  };
  show(value_norms_, values_);
  show(change_norms_, scaled_changes_);
  take(std::move(matrices));
  projection_.set_items(std::move(projected));
  factored_plan_.items = factored_;
  factored_plan_.prepared.forget();
  if (!factored_.empty()) site_.backend().reserve_factored(factored_plan_, site_.queue());
  plan_.work = &work;
  plan_.items = items_;
  plan_.maximize = rules.maximize();
  plan_.values = partials_.as<double>();
  plan_.changes = plan_.values + chunks;
  plan_.staying = plan_.changes + chunks;
  plan_.prepared.forget();
}

void FinishPhases::make_room(std::span<const UpdateItem> items, std::int64_t chunks) {
  std::int64_t bytes = 0;
  std::int64_t factored = 0;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (options_[i].are_needed()) bytes += change_bytes(*items[i].param);
    if (options_[i].scale == ChangeScale::factored) ++factored;
  }
  site_.fit(changes_, bytes, /*zeroed=*/true);
  site_.fit(partials_, (3 * chunks + factored) * static_cast<std::int64_t>(sizeof(double)), /*zeroed=*/true);
}

/// What a backend has made for the matrices is expensive, and stays as long as they do.
void FinishPhases::take(std::vector<OrthogonalItem> matrices) {
  if (matrices == matrices_) return;
  matrices_.swap(matrices);
  orthogonal_plan_.items = matrices_;
  orthogonal_plan_.prepared.forget();
  if (!matrices_.empty()) site_.backend().reserve_orthogonal(orthogonal_plan_, site_.queue());
}

void FinishPhases::measure(const double* partials, FunctionRef<void(double*)> measure, const Sharding* sharding) {
  auto* to = const_cast<double*>(partials);
  if (sharding == nullptr) return measure(to);
  sharding->partials().gather<double>(measure, to, sharding->comm().deadline());
}

void FinishPhases::run(const kernels::StepScalars* scalars, const Sharding* sharding) {
  Backend& backend = site_.backend();
  Queue& queue = site_.queue();
  if (!matrices_.empty()) backend.orthogonalize(orthogonal_plan_, scalars, queue);
  if (projection_.has_work()) projection_.run(scalars);
  if (!factored_.empty()) backend.factorize(factored_plan_, scalars, queue);
  if (has_ratios_) {
    measure(plan_.values, [&](double* to) { backend.square_chunks(value_norms_, 1, to, queue); }, sharding);
    measure(plan_.changes, [&](double* to) { backend.square_chunks(change_norms_, 1, to, queue); }, sharding);
  }
  if (has_masks_) {
    measure(plan_.staying, [&](double* to) { backend.count_staying(plan_, scalars, to, queue); }, sharding);
  }
  if (sharding != nullptr && (has_ratios_ || has_masks_)) sharding->data().settle(sharding->comm().deadline());
  backend.finish(plan_, scalars, queue);
}

}  // namespace gradstep
