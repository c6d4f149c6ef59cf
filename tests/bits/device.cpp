// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "device.h"

#include <new>

namespace gradstep_bits {

namespace {

class HostDevice final : public Device {
 public:
  void* allocate(std::size_t bytes) override { return ::operator new(bytes, std::align_val_t(64)); }
  void deallocate(void* data, std::size_t /*bytes*/) override { ::operator delete(data, std::align_val_t(64)); }
  void write(void* to, const void* from, std::size_t bytes) override { std::memcpy(to, from, bytes); }
  void read(void* to, const void* from, std::size_t bytes) override { std::memcpy(to, from, bytes); }
};

}  // namespace

std::unique_ptr<Device> make_host() { return std::make_unique<HostDevice>(); }

Device& host() {
  static HostDevice device;
  return device;
}

}  // namespace gradstep_bits
