// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "runtime/table.h"

#include <algorithm>
#include <utility>

#include "core/dimensions.h"

namespace gradstep::cuda {

namespace {

/// Layouts that share a buffer.
constexpr std::size_t kLayouts = 16;

}  // namespace

void Table::begin(CudaQueue& queue) {
  const bool captures{queue.capture()};
  if (queue_ != &queue || captures || is_captured_) {
    *this = Table();  // buffers are in a queue's order
    queue_ = &queue;
    is_captured_ = captures;
  }
  bytes_.clear();
  layouts_.clear();
}

View Table::view(const Array& array) {
  View view;
  view.data = array.data;
  view.dtype = array.dtype;
  if (array.contiguous()) {
    const auto bytes = static_cast<std::uintptr_t>(std::min<std::int64_t>(4 * size_of(array.dtype), 16));
    view.is_aligned = reinterpret_cast<std::uintptr_t>(array.data) % bytes == 0;
    return view;
  }
  const Dimensions dimensions(array);
  Layout layout{};
  layout.ndim = dimensions.count;
  for (int d = 0; d < dimensions.count; ++d) {
    layout.shape[d] = dimensions.shape[d];
    layout.strides[d] = dimensions.strides[d];
  }
  if (layouts_.empty() || layouts_.back() != layout) layouts_.push_back(layout);
  const std::size_t place = layouts_.size() - 1;
  if (place / kLayouts == layout_buffers_.size()) {
    layout_buffers_.emplace_back(queue_->scratch(), kLayouts * sizeof(Layout));
  }
  view.layout = layout_buffers_[place / kLayouts].as<Layout>() + place % kLayouts;
  return view;
}

// What has been sent is known again when it has arrived whole.
void Table::send() {
  if (bytes_ != sent_) {
    sent_.clear();
    if (buffer_.bytes() < bytes_.size()) buffer_ = Buffer(queue_->scratch(), bytes_.size());
    queue_->initialize(buffer_.data(), bytes_.data(), bytes_.size());
    sent_ = bytes_;
  }
  if (layouts_ == sent_layouts_) return;
  sent_layouts_.clear();
  for (std::size_t first = 0; first < layouts_.size(); first += kLayouts) {
    const std::size_t count = std::min(kLayouts, layouts_.size() - first);
    queue_->initialize(layout_buffers_[first / kLayouts].data(), &layouts_[first], count * sizeof(Layout));
  }
  sent_layouts_ = layouts_;
}

Chunks ChunkTable::of(const WorkList& work, CudaQueue& queue) {
  const auto count = static_cast<std::int64_t>(work.chunks().size());
  const unsigned long long capture = queue.capture().id;
  if (queue_ != &queue || capture_ != capture || version_ != work.version()) {
    Buffer made(queue.scratch(), work.chunks().size_bytes());
    queue.initialize(made.data(), work.chunks().data(), made.bytes());
    buffer_ = std::move(made);
    queue_ = &queue;
    capture_ = capture;
    version_ = work.version();
  }
  return {buffer_.as<const Chunk>(), count};
}

}  // namespace gradstep::cuda
