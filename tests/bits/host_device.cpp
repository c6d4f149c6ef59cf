// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "device.h"

namespace gradstep_bits {

std::unique_ptr<Device> make_device(gradstep_context* /*context*/) { return make_host(); }

const char* device_name() { return "cpu"; }

Part part_of_device(const Case& /*described*/) { return Part::compared; }

void set_device_seed(unsigned long /*seed*/) {}

}  // namespace gradstep_bits
