// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Where the tensors of a case lie. The host's memory is one such place; a program for another device has a subclass.
#pragma once

#include <cstddef>
#include <cstring>
#include <memory>

#include "case.h"
#include "gradstep/gradstep.h"

namespace gradstep_bits {

class Device {
 public:
  virtual ~Device() = default;

  virtual gradstep_device id() const { return {GRADSTEP_DEVICE_CPU, 0}; }
  bool is_host() const { return id().device_type == GRADSTEP_DEVICE_CPU; }

  // Memory, aligned to 64 bytes, and bytes in and out of it.
  virtual void* allocate(std::size_t bytes) = 0;
  virtual void deallocate(void* data, std::size_t bytes) = 0;
  virtual void write(void* to, const void* from, std::size_t bytes) = 0;
  /// Waits for what the library has been asked.
  virtual void read(void* to, const void* from, std::size_t bytes) = 0;
};

std::unique_ptr<Device> make_host();
/// The host's memory, wherever the case's tensors are.
Device& host();

/// The device of a program, which handles on `context` find from then on.
std::unique_ptr<Device> make_device(gradstep_context* context);
const char* device_name();
/// What a program's device has to do with a case.
enum class Part {
  compared,  ///< its hash is the recorded one
  rounded,   ///< it differs by rounding from what is recorded, and runs without a comparison
};
Part part_of_device(const Case& described);
/// The seed of what is left to chance on devices that are made from here on.
void set_device_seed(unsigned long seed);

}  // namespace gradstep_bits
