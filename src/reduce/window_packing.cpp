// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "reduce/window_packing.h"

#include "core/absence.h"

namespace gradstep {

WindowPacking::WindowPacking(const BucketLayout& layout, const Schema& schema, ControlRound& control)
    : layout_(layout), schema_(schema), control_(control), is_packed_(schema.size()) {}

void WindowPacking::begin(double multiplier) {
  for (const auto& bucket : layout_.buckets()) bucket->begin(multiplier);
  is_packed_.assign(is_packed_.size(), false);
  full_buckets_ = 0;
}

void WindowPacking::pack(Bucket& bucket, const BufferList& grads) {
  bucket.pack(grads);
  for (const std::size_t i : bucket.parameters()) note(i, grads[i]);
}

void WindowPacking::pack(std::size_t parameter, const Array& grad) {
  layout_.bucket_of(parameter).pack(layout_.place_of(parameter).position, grad);
  note(parameter, grad);
}

void WindowPacking::note(std::size_t parameter, const Array& grad) {
  is_packed_[parameter] = true;
  if (!is_absent(grad)) control_.set_touched(parameter);
}

void WindowPacking::pack_rest() {
  for (std::size_t i = 0; i < is_packed_.size(); ++i) {
    if (!is_packed_[i]) pack(i, compact_array(nullptr, schema_[i].size, DType::f32));
  }
}

std::size_t WindowPacking::full_buckets() {
  const Buckets& buckets = layout_.buckets();
  for (; full_buckets_ < buckets.size() && buckets[full_buckets_]->is_full(); ++full_buckets_) {
    buckets[full_buckets_]->note_packed();
  }
  return full_buckets_;
}

}  // namespace gradstep
