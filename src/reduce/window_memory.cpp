// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// An exchange bounds its result by the few numbers that were exchanged; the result itself is read only where that bound
// is too large.
#include "reduce/window_memory.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>
#include <utility>
#include <vector>

#include "core/error.h"

namespace gradstep {

namespace {

/// Below it f16 has room for every number, rounded.
constexpr double kFitsHalf = 0x1p15;

bool is_half(DType dtype) { return dtype == DType::f16 || dtype == DType::bf16; }

double largest_of(DType dtype) {
  return dtype == DType::f64 ? std::numeric_limits<double>::max() : std::numeric_limits<float>::max();
}

}  // namespace

WindowMemory::WindowMemory(ExchangeResources& resources, const BucketLayout& layout, const ControlRound& control)
    : resources_(resources), layout_(layout), control_(control) {}

void WindowMemory::measure(std::span<const std::unique_ptr<Bucket>> exchanged, const BufferList& targets) {
  keeps_ = !layout_.has_memory() ||
           std::ranges::all_of(exchanged, [&](const auto& bucket) { return is_finite(*bucket, targets); });
}

/// In the bucket, and in what the host gets of it.
bool WindowMemory::is_finite(Bucket& bucket, const BufferList& targets) const {
  if (bucket.is_empty()) return true;
  double largest = bucket.exchange().largest();
  const Array result = bucket.exchange().result();
  if (control_.is_weighted()) {
    // A total weight of zero makes the result zero, whatever was exchanged.
    if (control_.total_weight() == 0) return largest <= safe_bound(result.dtype);
    largest /= control_.total_weight();
  }
  if (!(largest <= safe_bound(result.dtype))) {
    if (!resources_.is_finite(result, queue())) return false;
    bucket.exchange().limit_kept();
  }
  if (targets.empty() || largest <= kFitsHalf) return true;
  WorkList work;
  std::vector<Array> halves;
  for (const std::size_t i : bucket.parameters()) {
    if (targets[i].data == nullptr || !is_half(targets[i].dtype) || !control_.has_gradient(i)) continue;
    work.append(targets[i].size);
    halves.push_back(targets[i]);
  }
  if (halves.empty()) return true;
  auto* norm = resources_.half_norm.as<double>();
  backend().measure({&work, {halves, /*version=*/0}, {}}, norm, queue());
  return std::isfinite(read(queue(), norm));
}

void WindowMemory::commit(std::span<const std::unique_ptr<Bucket>> exchanged) {
  if (!std::exchange(keeps_, false)) return;
  resources_.run_in_lane([&] {
    for (const auto& bucket : exchanged) bucket->exchange().commit();
  });
  ++resources_.state->windows;
}

void WindowMemory::set_loss_scale(double scale) {
  if (!(scale > 0) || !std::isfinite(scale)) {
    fail_argument("scale: is {}, expected a finite number above 0", scale);
  }
  if (scale == resources_.state->loss_scale) return;
  // A factor of f32 all the same: zero times it is zero.
  const double factor = std::min(scale / resources_.state->loss_scale, 0x1p127);
  OwnPlan<CopyPlan, CopyItem> kept;
  std::vector<Array> arrays;
  for (const auto& bucket : layout_.buckets()) {
    for (const KeptTensor& tensor : bucket->exchange().kept()) {
      if (!tensor.is_scaled || tensor.array.size == 0) continue;
      kept.add({tensor.array, tensor.array}, tensor.array.size);
      arrays.push_back(tensor.array);
    }
  }
  if (!arrays.empty()) backend().copy(kept.plan(), factor, 1, queue());
  if (factor > 1) {
    for (const Array& array : arrays) backend().clamp(array, largest_of(array.dtype), queue());
  }
  resources_.state->loss_scale = scale;
}

Array WindowMemory::residual(std::size_t parameter) const {
  if (parameter >= layout_.parameters()) {
    fail_argument("index: is {}, the schema has {} parameters", parameter, layout_.parameters());
  }
  for (const KeptTensor& kept : layout_.bucket_of(parameter).exchange().kept()) {
    if (kept.position == layout_.place_of(parameter).position && std::string_view(kept.name) == "residual") {
      return kept.array;
    }
  }
  fail(GRADSTEP_ERR_INVALID_STATE, "reducer: this mode keeps no residuals, or options.residual is 0");
}

}  // namespace gradstep
