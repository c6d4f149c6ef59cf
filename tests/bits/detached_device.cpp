// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "c_api/handles.h"
#include "detached/detached_backend.h"
#include "device.h"

namespace gradstep_bits {

namespace {

using gradstep::test::DetachedBackend;

unsigned long device_seed = 1;

class DetachedDevice final : public Device {
 public:
  explicit DetachedDevice(DetachedBackend& backend) : backend_(backend) {}

  gradstep_device id() const override { return gradstep::test::kDetached; }
  void* allocate(std::size_t bytes) override { return backend_.memory()->allocate(bytes); }
  void deallocate(void* data, std::size_t bytes) override { backend_.memory()->deallocate(data, bytes); }
  void write(void* to, const void* from, std::size_t bytes) override {
    backend_.queue(nullptr).upload(to, from, bytes);
  }
  void read(void* to, const void* from, std::size_t bytes) override {
    backend_.queue(nullptr).download(to, from, bytes);
  }

 private:
  DetachedBackend& backend_;
};

}  // namespace

std::unique_ptr<Device> make_device(gradstep_context* context) {
  gradstep::Context& impl = *gradstep::object_of(context);
  auto backend = std::make_unique<DetachedBackend>(impl.cpu(), device_seed);
  auto device = std::make_unique<DetachedDevice>(*backend);
  impl.add_backend(device->id(), std::move(backend));
  return device;
}

const char* device_name() { return "detached"; }

Part part_of_device(const Case& /*described*/) { return Part::compared; }

void set_device_seed(unsigned long seed) { device_seed = seed; }

}  // namespace gradstep_bits
