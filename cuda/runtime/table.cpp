// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "runtime/table.h"

#include <algorithm>

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
  Layout layout{};
  layout.ndim = array.ndim;
  for (std::int32_t d = 0; d < array.ndim; ++d) {
    layout.shape[d] = array.shape[d];
    layout.strides[d] = array.strides[d];
  }
  const std::size_t place = layouts_.size();
  layouts_.push_back(layout);
  if (place / kLayouts == layout_buffers_.size()) {
    layout_buffers_.emplace_back(queue_->scratch(), kLayouts * sizeof(Layout));
  }
  view.layout = layout_buffers_[place / kLayouts].as<Layout>() + place % kLayouts;
  return view;
}

void Table::send() {
  if (bytes_ != sent_) {
    if (buffer_.bytes() < bytes_.size()) buffer_ = Buffer(queue_->scratch(), bytes_.size());
    queue_->initialize(buffer_.data(), bytes_.data(), bytes_.size());
    sent_ = bytes_;
  }
  if (layouts_ == sent_layouts_) return;
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
    buffer_ = Buffer(queue.scratch(), work.chunks().size_bytes());
    queue.initialize(buffer_.data(), work.chunks().data(), work.chunks().size_bytes());
    queue_ = &queue;
    capture_ = capture;
    version_ = work.version();
  }
  return {buffer_.as<const Chunk>(), count};
}

bool ScratchBuffer::take(CudaQueue& queue, std::size_t bytes) {
  const unsigned long long capture = queue.capture().id;
  if (queue_ == &queue && capture_ == capture && buffer_.bytes() == bytes) return false;
  buffer_ = Buffer(queue.scratch(), bytes);
  queue_ = &queue;
  capture_ = capture;
  return true;
}

}  // namespace gradstep::cuda
