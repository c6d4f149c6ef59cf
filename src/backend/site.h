// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Where a handle is at home: the backend of its parameters' device, and the queue that its work goes to.
#pragma once

#include "backend/backend.h"
#include "backend/queue.h"
#include "core/memory.h"

namespace gradstep {

class Site {
 public:
  /// `backend` outlives it. Work goes to the default stream until use().
  explicit Site(Backend& backend) : backend_(&backend), queue_(&backend.queue(nullptr)) {}

  Backend& backend() const { return *backend_; }
  Queue& queue() const { return *queue_; }
  /// The host's; NULL = the default one.
  void* stream() const { return stream_; }
  /// Results can be read where they are as soon as a call returns.
  bool is_host() const { return queue_->is_host(); }

  /// Work that is asked for from now on is queued on the host's `stream`, and begins after all that was before. Throws
  /// INVALID_ARGUMENT for what is no stream of the device.
  void use(void* stream) {
    if (stream != stream_) change(stream);
  }

  /// Has all been done that was asked? Never blocks.
  bool is_idle() const { return queue_->is_idle(); }

  /// destination = source, of one size; any dtypes and strides.
  void copy(const Array& destination, const Array& source) const {
    const WorkList work({&source.size, 1});
    const CopyItem item{destination, source};
    backend_->copy({&work, {&item, 1}, {}}, 1, 1, *queue_);
  }

  /// For items of one size.
  void combine(const CombineItem& item) const {
    const WorkList work({&item.destination.size, 1});
    backend_->combine({&work, {&item, 1}, {}}, *queue_);
  }

  /// Memory that a handle keeps. Throws INVALID_STATE inside a capture, which would make it zero again at every replay.
  Buffer allocate(std::size_t bytes, bool zeroed) const {
    queue_->check_not_capturing("memory is to be taken");
    Buffer buffer(backend_->memory(), bytes);
    if (zeroed) queue_->zero(buffer.data(), bytes);
    return buffer;
  }
  /// Replaces a buffer that does not have `bytes` bytes. One that has them keeps its contents, even if `zeroed`.
  void fit(Buffer& buffer, std::int64_t bytes, bool zeroed) const {
    if (buffer.bytes() == static_cast<std::size_t>(bytes)) return;
    buffer = allocate(static_cast<std::size_t>(bytes), zeroed);
  }

 private:
  void change(void* stream) {
    Queue& next = backend_->queue(stream);
    if (!is_host()) next.follow(*queue_);
    queue_ = &next;
    stream_ = stream;
  }

  Backend* backend_;
  Queue* queue_;
  void* stream_ = nullptr;
};

}  // namespace gradstep
