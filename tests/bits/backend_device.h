// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// A device whose memory is that of a backend of the library, for programs that are linked with its objects.
#pragma once

#include "backend/backend.h"
#include "device.h"

namespace gradstep_bits {

class BackendDevice final : public Device {
 public:
  BackendDevice(gradstep_device id, gradstep::Backend& backend) : id_(id), backend_(backend) {}

  gradstep_device id() const override { return id_; }
  void* allocate(std::size_t bytes) override { return backend_.memory()->allocate(bytes); }
  void deallocate(void* data, std::size_t bytes) override { backend_.memory()->deallocate(data, bytes); }
  void write(void* to, const void* from, std::size_t bytes) override {
    backend_.queue(nullptr).upload(to, from, bytes);
  }
  void read(void* to, const void* from, std::size_t bytes) override {
    backend_.queue(nullptr).download(to, from, bytes);
  }

 private:
  gradstep_device id_;
  gradstep::Backend& backend_;
};

}  // namespace gradstep_bits
