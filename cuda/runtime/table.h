// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// What kernels need to know of a list, side by side in one buffer on the device. It is sent when it is not what was
// sent last, so that a list that stays costs a comparison. What is used inside a capture stays as it is for its graph:
// each is made anew there, in the graph's own memory, and nothing that is sent later changes it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "backend/work_list.h"
#include "core/held_bytes.h"
#include "core/memory.h"
#include "device/view.h"
#include "runtime/queue.h"

namespace gradstep::cuda {

/// Whether values can be compared by their bytes.
template <class T>
inline constexpr bool kHasNoPadding = std::has_unique_object_representations_v<T>;
template <>
inline constexpr bool kHasNoPadding<double> = true;

class Table {
 public:
  /// A section's place in the table.
  template <class T>
  struct Section {
    std::size_t offset = 0;
    std::size_t count = 0;
  };

  /// A new table begins. What is in it is in the order of `queue`.
  void begin(CudaQueue& queue);

  template <class T>
  Section<T> add(const T* values, std::size_t count) {
    static_assert(std::is_trivially_copyable_v<T> && kHasNoPadding<T> && alignof(T) <= kSectionAlignment);
    const std::size_t offset = (bytes_.size() + kSectionAlignment - 1) / kSectionAlignment * kSectionAlignment;
    bytes_.resize(offset + count * sizeof(T));
    if (count > 0) std::memcpy(bytes_.data() + offset, values, count * sizeof(T));
    return {offset, count};
  }
  template <class T>
  Section<T> add(const std::vector<T>& values) {
    return add(values.data(), values.size());
  }

  /// How kernels see an array.
  View view(const Array& array);

  std::size_t bytes() const { return held_bytes(bytes_, sent_, buffer_, layouts_, sent_layouts_, layout_buffers_); }

  /// After the last section.
  void send();

  /// Where a section lies on the device, once it has been sent.
  template <class T>
  const T* at(Section<T> section) const {
    return section.count == 0 ? nullptr : reinterpret_cast<const T*>(buffer_.as<std::byte>() + section.offset);
  }

 private:
  static constexpr std::size_t kSectionAlignment = 16;

  CudaQueue* queue_ = nullptr;
  bool is_captured_ = false;
  std::vector<std::byte> bytes_;
  std::vector<std::byte> sent_;
  Buffer buffer_;
  // Layouts are apart, in buffers that do not move: views show them before they are sent.
  std::vector<Layout> layouts_;
  std::vector<Layout> sent_layouts_;
  std::vector<Buffer> layout_buffers_;
};

/// A work list on the device.
struct Chunks {
  const Chunk* chunks = nullptr;
  std::int64_t count = 0;
};

class ChunkTable {
 public:
  Chunks of(const WorkList& work, CudaQueue& queue);
  std::size_t bytes() const { return held_bytes(buffer_); }

 private:
  CudaQueue* queue_ = nullptr;
  unsigned long long capture_ = 0;
  std::uint64_t version_ = 0;
  Buffer buffer_;
};

/// A buffer in the order of the queue, or of the capture, that it was last asked for, which keeps its bytes while their
/// number does.
class ScratchBuffer {
 public:
  std::size_t bytes() const { return held_bytes(buffer_); }

  template <class T>
  T* of(CudaQueue& queue, std::int64_t count, bool zeroed = false) {
    return ready<T>(queue, static_cast<std::size_t>(count), [&](Buffer& made) {
      if (zeroed) queue.initialize(made.data(), nullptr, made.bytes());
    });
  }
  /// Each of them begins as `value`.
  template <class T>
  T* filled(CudaQueue& queue, std::size_t count, const T& value) {
    return ready<T>(queue, count, [&](Buffer& made) {
      const std::vector<T> values(count, value);
      queue.initialize(made.data(), values.data(), made.bytes());
    });
  }

 private:
  /// A buffer that is new is kept once `initialize` has come to an end.
  template <class T, class Initialize>
  T* ready(CudaQueue& queue, std::size_t count, Initialize initialize) {
    const std::size_t bytes = count * sizeof(T);
    const unsigned long long capture = queue.capture().id;
    if (queue_ != &queue || capture_ != capture || buffer_.bytes() != bytes) {
      Buffer made(queue.scratch(), bytes);
      initialize(made);
      buffer_ = std::move(made);
      queue_ = &queue;
      capture_ = capture;
    }
    return buffer_.as<T>();
  }

  CudaQueue* queue_ = nullptr;
  unsigned long long capture_ = 0;
  Buffer buffer_;
};

}  // namespace gradstep::cuda
