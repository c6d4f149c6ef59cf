// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Tensors of the host that are taken to the emulated device for a call and brought back after it, and views of what is
// there that become copies: for tests that were written for the host.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "cuda/emulated.h"
#include "gradstep/gradstep.h"

namespace gradstep::test {

inline constexpr gradstep_device kDevice = {GRADSTEP_DEVICE_CUDA, 0};
inline constexpr gradstep_device kHost = {GRADSTEP_DEVICE_CPU, 0};

inline bool is_at_host(gradstep_device device) { return device.device_type == GRADSTEP_DEVICE_CPU; }

/// The bytes from the first to past the last element.
inline std::size_t span_of(const gradstep_tensor& tensor) {
  std::int64_t last = 0;
  std::int64_t stride = 1;
  for (std::int32_t d = tensor.ndim - 1; d >= 0; --d) {
    if (tensor.shape[d] == 0) return 0;
    last += (tensor.shape[d] - 1) * (tensor.strides != nullptr ? tensor.strides[d] : stride);
    stride *= tensor.shape[d];
  }
  return static_cast<std::size_t>(last + 1) * tensor.dtype.bits * tensor.dtype.lanes / 8;
}

inline std::byte* first_byte(const gradstep_tensor& tensor) {
  return static_cast<std::byte*>(tensor.data) + tensor.byte_offset;
}

/// A copy of some of the host's memory on the device, which has its alignment.
class Region {
 public:
  Region(std::byte* begin, std::byte* end) : begin_(begin), end_(end) {
    const std::size_t misaligned = reinterpret_cast<std::uintptr_t>(begin) % kAlignment;
    memory_ = static_cast<std::byte*>(emulated_cuda().allocate(0, size() + kAlignment));
    copy_ = memory_ + misaligned;
    upload();
  }
  Region(const Region&) = delete;
  Region& operator=(const Region&) = delete;
  ~Region() { emulated_cuda().deallocate(memory_); }

  void upload() const { emulated_cuda().copy(copy_, begin_, size()); }
  void bring_back() const { emulated_cuda().copy(begin_, copy_, size()); }
  bool has(const std::byte* data) const { return begin_ <= data && data < end_; }
  std::byte* there(const std::byte* data) const { return copy_ + (data - begin_); }

 private:
  static constexpr std::size_t kAlignment = 64;

  std::size_t size() const { return static_cast<std::size_t>(end_ - begin_); }

  std::byte* begin_;
  std::byte* end_;
  std::byte* memory_ = nullptr;
  std::byte* copy_ = nullptr;
};

/// The tensors of one call. Tensors that overlap do so there, too.
class Trip {
 public:
  using Tensors = std::vector<gradstep_tensor>;

  Trip() = default;
  Trip(const Trip&) = delete;
  Trip& operator=(const Trip&) = delete;
  ~Trip() {
    for (const auto& region : regions_) region->bring_back();
  }

  const gradstep_tensor* take(const gradstep_tensor* tensors, std::size_t n) {
    if (tensors == nullptr) return nullptr;
    lists_.emplace_back(tensors, tensors + n);
    return lists_.back().data();
  }

  std::vector<gradstep_rows> take_rows(const gradstep_rows* rows, std::size_t n) {
    std::vector<gradstep_rows> there(rows, rows + n);
    for (gradstep_rows& one : there) {
      one.indices = take(one.indices, 1);
      one.values = take(one.values, 1);
    }
    return there;
  }

  /// When all are known. What is not the host's, absent or empty stays as it is.
  void begin() {
    std::vector<std::pair<std::byte*, std::byte*>> spans;
    each([&](gradstep_tensor& tensor, std::size_t size) {
      spans.emplace_back(first_byte(tensor), first_byte(tensor) + size);
    });
    std::sort(spans.begin(), spans.end());
    for (std::size_t i = 0; i < spans.size();) {
      auto [from, to] = spans[i];
      for (++i; i < spans.size() && spans[i].first < to; ++i) to = std::max(to, spans[i].second);
      regions_.push_back(std::make_unique<Region>(from, to));
    }
    each([&](gradstep_tensor& tensor, std::size_t) {
      const auto own = std::find_if(regions_.begin(), regions_.end(),
                                    [&](const auto& region) { return region->has(first_byte(tensor)); });
      tensor.data = (*own)->there(static_cast<const std::byte*>(tensor.data));
    });
    for (Tensors& list : lists_) {
      for (gradstep_tensor& tensor : list) {
        tensor.device = is_at_host(tensor.device) ? kDevice : kHost;  // of another device than the handle's either way
      }
    }
  }

 private:
  template <class Body>
  void each(Body body) {
    for (Tensors& list : lists_) {
      for (gradstep_tensor& tensor : list) {
        if (tensor.data == nullptr || !is_at_host(tensor.device)) continue;
        if (const std::size_t size = span_of(tensor); size > 0) body(tensor, size);
      }
    }
  }

  std::deque<Tensors> lists_;
  std::vector<std::unique_ptr<Region>> regions_;
};

/// Views become those of copies, which have one address for as long as their size is the same.
inline void show(std::span<gradstep_tensor> views) {
  static std::mutex mutex;
  // By the device's address; they stay to the end, for a test may still look at them.
  static auto* const shown = new std::map<const void*, std::vector<std::unique_ptr<std::vector<std::byte>>>>;
  const std::lock_guard lock(mutex);
  for (gradstep_tensor& view : views) {
    if (view.data == nullptr || is_at_host(view.device)) continue;
    const std::size_t size = span_of(view);
    auto& copies = (*shown)[view.data];
    if (copies.empty() || copies.back()->size() != size) {
      copies.push_back(std::make_unique<std::vector<std::byte>>(size));
    }
    emulated_cuda().copy(copies.back()->data(), view.data, size);
    view.data = copies.back()->data();
    view.device = kHost;
  }
}

}  // namespace gradstep::test
