// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "backend_device.h"
#include "c_api/handles.h"
#include "detached/detached_backend.h"

namespace gradstep_bits {

namespace {

using gradstep::test::DetachedBackend;

unsigned long device_seed = 1;

}  // namespace

std::unique_ptr<Device> make_device(gradstep_context* context) {
  gradstep::Context& impl = *gradstep::object_of(context);
  auto backend = std::make_unique<DetachedBackend>(impl.cpu(), device_seed);
  auto device = std::make_unique<BackendDevice>(gradstep::test::kDetached, *backend);
  impl.add_backend(device->id(), std::move(backend));
  return device;
}

const char* device_name() { return "detached"; }

Part part_of_device(const Case& /*described*/) { return Part::compared; }

void set_device_seed(unsigned long seed) { device_seed = seed; }

}  // namespace gradstep_bits
