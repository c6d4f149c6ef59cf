// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "core/memory.h"

#include <new>
#include <utility>

#include "core/error.h"
#include "core/options.h"
#include "core/platform/system.h"

namespace gradstep {

namespace {

constexpr gradstep_device kCpu{GRADSTEP_DEVICE_CPU, 0};
constexpr std::size_t kHugePage = std::size_t{2} << 20;

/// Large buffers ask for huge pages: walking several streams of state costs a TLB miss every 4 KiB otherwise.
void* allocate_own(std::size_t bytes) {
  const std::size_t alignment = bytes >= 2 * kHugePage ? kHugePage : kAlignment;
  void* data = platform::allocate(alignment, (bytes + alignment - 1) / alignment * alignment);
  if (data != nullptr && alignment == kHugePage) platform::ask_for_huge_pages(data, bytes);
  return data;
}

}  // namespace

Allocator::Allocator(const gradstep_allocator* host) {
  if (host == nullptr) return;
  host_ = read_known_fields("options.allocator", host);
  owner_ = CallbackOwner(host_.release, host_.user);
  check_unknown_fields("options.allocator", host);
  if (host_.allocate == nullptr || host_.deallocate == nullptr) {
    fail_argument("options.allocator: allocate and deallocate must both be set");
  }
}

void* Allocator::allocate_on(gradstep_device device, std::size_t bytes, void* stream) const {
  return call_host("allocator.allocate", [&]() -> void* {
    try {
      return host_.allocate(host_.user, bytes, kAlignment, device.device_type, device.device_id, stream);
    } catch (const std::bad_alloc&) {
      return nullptr;  // another way to say it
    }
  });
}

void Allocator::deallocate_on(gradstep_device device, void* data, std::size_t bytes, void* stream) const noexcept {
  call_host_quietly(
      [&] { host_.deallocate(host_.user, data, bytes, kAlignment, device.device_type, device.device_id, stream); });
}

void* Allocator::allocate(std::size_t bytes) {
  if (bytes == 0) return nullptr;
  void* data = is_host() ? allocate_on(kCpu, bytes, nullptr) : allocate_own(bytes);
  if (data == nullptr) fail(GRADSTEP_ERR_OUT_OF_MEMORY, "the allocator has no {} bytes", bytes);
  return data;
}

void Allocator::deallocate(void* data, std::size_t bytes) noexcept {
  if (data == nullptr) return;
  if (is_host()) {
    deallocate_on(kCpu, data, bytes, nullptr);
  } else {
    platform::deallocate(data);
  }
}

Buffer::Buffer(std::shared_ptr<Memory> memory, std::size_t bytes)
    : memory_(std::move(memory)), data_(memory_->allocate(bytes)), bytes_(bytes) {}

Buffer::Buffer(Buffer&& other) noexcept
    : memory_(std::move(other.memory_)),
      data_(std::exchange(other.data_, nullptr)),
      bytes_(std::exchange(other.bytes_, 0)) {}

Buffer& Buffer::operator=(Buffer&& other) noexcept {
  std::swap(memory_, other.memory_);
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

Buffer::~Buffer() {
  if (memory_ != nullptr) memory_->deallocate(data_, bytes_);
}

}  // namespace gradstep
