// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "reduce/sparse_selection.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace gradstep {

namespace {

std::int64_t count_of(std::span<const SelectPart> parts) {
  std::int64_t count = 0;
  for (const SelectPart& part : parts) count += part.count;
  return count;
}

}  // namespace

std::int64_t selected_count(double sparsity, std::int64_t n) {
  return std::min(n, static_cast<std::int64_t>(std::ceil(sparsity * static_cast<double>(n))));
}

double sparsity_in_window(const gradstep_reducer_options& options, std::int64_t window) {
  if (window >= options.warmup_steps) return options.sparsity;
  const double part = static_cast<double>(window + 1) / static_cast<double>(options.warmup_steps + 1);
  return std::pow(options.sparsity, part);
}

SparseSelection::SparseSelection(const ExchangeResources& resources, const gradstep_reducer_options& options,
                                 DType dtype, std::span<const std::int64_t> sizes)
    : resources_(resources),
      options_(options),
      messages_{dtype},
      sizes_(sizes.begin(), sizes.end()),
      zeroed_nans_(resources.site.allocate(sizeof(std::int64_t), /*zeroed=*/true)),
      head_(resources.site.allocate(kHeadBytes, /*zeroed=*/true)),
      counts_(
          resources.site.allocate((1 + static_cast<std::size_t>(resources.comm->world_size())) * sizeof(std::int64_t),
                                  /*zeroed=*/true)),
      memory_(resources.site.backend().memory()) {}

std::vector<SelectPart> SparseSelection::parts_of(double sparsity) const {
  std::vector<SelectPart> parts;
  const auto add = [&](std::int64_t size) { parts.push_back({size, selected_count(sparsity, size)}); };
  if (options_.selection == GRADSTEP_SELECTION_BUCKET) {
    add(std::accumulate(sizes_.begin(), sizes_.end(), std::int64_t{0}));
  } else {
    for (const std::int64_t size : sizes_) add(size);
  }
  return parts;
}

std::int64_t SparseSelection::next_count() const {
  const double sparsity = sparsity_in_window(options_, resources_.state->windows);
  return sparsity == bound_sparsity_ ? part_counts_ : count_of(parts_of(sparsity));
}

void SparseSelection::bind_parts() {
  const double sparsity = sparsity_in_window(options_, resources_.state->windows);
  if (sparsity == bound_sparsity_) return;
  parts_ = parts_of(sparsity);
  part_counts_ = count_of(parts_);
  write(queue(), head_.as<std::int64_t>() + 1, part_counts_);
  for (SelectPlan& plan : plans_) plan.data = {};
  bound_sparsity_ = sparsity;
}

SelectPlan& SparseSelection::plan_of(const Array& data, const Array& also) {
  if (by_count()) bind_parts();
  const bool is_second = plans_[0].data.data != nullptr && plans_[0].data.data != data.data;
  SelectPlan& plan = plans_[is_second ? 1 : 0];
  if (plan.data.data == data.data) return plan;
  const std::int32_t nan_policy = options_.nan_policy;
  plan.parts = parts_;
  plan.threshold = options_.sparsity;
  plan.nans.zero = nan_policy == GRADSTEP_NAN_ZERO;
  plan.nans.also = also;
  if (nan_policy == GRADSTEP_NAN_ZERO) plan.nans.found = zeroed_nans_.as<std::int64_t>();
  if (nan_policy == GRADSTEP_NAN_ERROR) plan.nans.found = head_.as<std::int64_t>();
  plan.prepared.forget();
  plan.data = data;
  return plan;
}

/// Room for a message, with a head before it.
Selection SparseSelection::reserve(std::int64_t count) {
  count_ = count;
  message_ = memory_.reserve(kHeadBytes + messages_.bytes(count)) + kHeadBytes;
  return messages_.write(message_, count, queue());
}

void SparseSelection::select(const Array& data, const Array& also, std::size_t pieces) {
  pieces_ = pieces;
  plan_ = &plan_of(data, also);
  if (options_.nan_policy == GRADSTEP_NAN_ERROR) queue().zero(head_.data(), sizeof(std::int64_t));
  std::int64_t* counts = counts_.as<std::int64_t>();
  const auto cut = static_cast<std::int64_t>(pieces);
  if (!by_count()) {
    resources_.backend().count_reaching(*plan_, cut, counts + 1, queue());
  } else {
    resources_.backend().select_largest(*plan_, reserve(part_counts_), queue());
    if (pieces > 1) resources_.backend().count_pieces(list(), data.size, cut, counts + 1, queue());
  }
  if (!is_fixed()) queue().copy(counts, head_.data(), sizeof(std::int64_t));
}

void SparseSelection::take(std::int64_t count) {
  resources_.backend().select_reaching(*plan_, reserve(count), queue());
}

const std::byte* SparseSelection::message_with_head() const {
  queue().copy(message_ - kHeadBytes, head_.data(), kHeadBytes);
  return message_ - kHeadBytes;
}

std::int64_t SparseSelection::selected_nans() const {
  return options_.nan_policy == GRADSTEP_NAN_ERROR ? read(queue(), head_.as<std::int64_t>()) : 0;
}

}  // namespace gradstep
