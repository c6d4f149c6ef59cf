// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/context.h"
#include "backend_device.h"
#include "c_api/handles.h"
#include "cuda/emulated.h"

namespace gradstep_bits {

namespace {

constexpr gradstep_device kCuda{GRADSTEP_DEVICE_CUDA, 0};

const gradstep::emulation::Control* emulation() {
  static const gradstep::emulation::Control* const control = gradstep::test::find_emulation();
  return control;
}

unsigned long device_seed = 1;

}  // namespace

std::unique_ptr<Device> make_device(gradstep_context* context) {
  if (emulation() != nullptr) emulation()->set_seed(device_seed);
  return std::make_unique<BackendDevice>(kCuda, gradstep::object_of(context)->backend(kCuda, "device", 0));
}

const char* device_name() { return emulation() != nullptr ? "cuda (emulated)" : "cuda"; }

// Products and roots are cuBLAS's and cuSOLVER's.
Part part_of_device(const Case& described) {
  return described.may_differ_by_rounding() ? Part::rounded : Part::compared;
}

void set_device_seed(unsigned long seed) { device_seed = seed; }

}  // namespace gradstep_bits
