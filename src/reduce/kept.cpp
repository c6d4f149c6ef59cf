// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// What a window leaves for the next one: residuals, velocities, estimates, factors. A window whose result is not finite
// leaves nothing, for the host skips it. All ranks decide alike, because the result has the same bits on all of them.
// An exchange bounds its result by the few numbers that were exchanged; the result itself is read only where that bound
// is too large.
#include <algorithm>
#include <cmath>
#include <limits>

#include "core/error.h"
#include "reduce/reducer.h"

namespace gradstep {

namespace {

/// Below it f16 has room for every number, rounded.
constexpr double kFitsHalf = 0x1p15;

bool is_half(DType dtype) { return dtype == DType::f16 || dtype == DType::bf16; }

}  // namespace

void Reducer::measure_window(Chosen exchanged, const BufferList& targets) {
  keeps_ =
      !has_memory_ || std::ranges::all_of(exchanged, [&](const auto& bucket) { return is_finite(*bucket, targets); });
}

/// In the bucket, and in what the host gets of it.
bool Reducer::is_finite(Bucket& bucket, const BufferList& targets) {
  if (bucket.is_empty()) return true;
  double largest = bucket.exchange().largest();
  const Array result = bucket.exchange().result();
  if (is_weighted()) {
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
    if (targets[i].data == nullptr || !is_half(targets[i].dtype) || !places_[i].shown) continue;
    work.append(targets[i].size);
    halves.push_back(targets[i]);
  }
  if (halves.empty()) return true;
  auto* norm = resources_.half_norm.as<double>();
  backend().measure({&work, {halves, /*version=*/0}, {}}, norm, queue());
  return std::isfinite(read(queue(), norm));
}

void Reducer::commit(Chosen exchanged) {
  if (!keeps_) return;
  run_in_lane([](Bucket& bucket) { bucket.exchange().commit(); }, exchanged);
  ++resources_.windows;
}

void Reducer::commit() { commit(buckets_); }

void Reducer::run_in_lane(FunctionRef<void(Bucket&)> work, Chosen chosen) {
  resources_.follow(resources_.record());
  for (const auto& bucket : chosen) work(*bucket);
  resources_.join();
}

void Reducer::set_loss_scale(double scale) {
  if (!(scale > 0) || !std::isfinite(scale)) {
    fail_argument("scale: is {}, expected a finite number above 0", scale);
  }
  check_closed();
  if (scale == resources_.loss_scale) return;
  // A factor of f32 all the same: zero times it is zero.
  const double factor = std::min(scale / resources_.loss_scale, 0x1p127);
  OwnPlan<CopyPlan, CopyItem> kept;
  std::vector<Array> arrays;
  for (const auto& bucket : buckets_) {
    for (const KeptTensor& tensor : bucket->exchange().kept()) {
      if (!tensor.is_scaled || tensor.array.size == 0) continue;
      kept.add({tensor.array, tensor.array}, tensor.array.size);
      arrays.push_back(tensor.array);
    }
  }
  if (!arrays.empty()) backend().copy(kept.plan(), factor, 1, queue());
  if (factor > 1) {
    for (const Array& array : arrays)
      backend().clamp(
          array, array.dtype == DType::f64 ? std::numeric_limits<double>::max() : std::numeric_limits<float>::max(),
          queue());
  }
  resources_.loss_scale = scale;
}

}  // namespace gradstep
