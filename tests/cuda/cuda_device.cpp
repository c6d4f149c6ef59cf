// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/context.h"
#include "c_api/handles.h"
#include "cuda/emulated.h"
#include "device.h"

namespace gradstep_bits {

namespace {

constexpr gradstep_device kCuda{GRADSTEP_DEVICE_CUDA, 0};

class CudaDevice final : public Device {
 public:
  explicit CudaDevice(gradstep::Backend& backend) : backend_(backend) {}

  gradstep_device id() const override { return kCuda; }
  void* allocate(std::size_t bytes) override { return backend_.memory()->allocate(bytes); }
  void deallocate(void* data, std::size_t bytes) override { backend_.memory()->deallocate(data, bytes); }
  void write(void* to, const void* from, std::size_t bytes) override {
    backend_.queue(nullptr).upload(to, from, bytes);
  }
  void read(void* to, const void* from, std::size_t bytes) override {
    backend_.queue(nullptr).download(to, from, bytes);
  }

 private:
  gradstep::Backend& backend_;
};

const gradstep::emulation::Control* emulation() {
  static const gradstep::emulation::Control* const control = gradstep::test::find_emulation();
  return control;
}

unsigned long device_seed = 1;

}  // namespace

std::unique_ptr<Device> make_device(gradstep_context* context) {
  if (emulation() != nullptr) emulation()->set_seed(device_seed);
  return std::make_unique<CudaDevice>(gradstep::object_of(context)->backend(kCuda, "device", 0));
}

const char* device_name() { return emulation() != nullptr ? "cuda (emulated)" : "cuda"; }

// Products and roots are cuBLAS's and cuSOLVER's.
Part part_of_device(const Case& described) {
  if (!described.may_differ_by_rounding()) return Part::compared;
  const bool in_bases = described.spec.at("optimizer").value("eigenvalue_corrected", 0) != 0;
  return in_bases ? Part::left_out : Part::rounded;
}

void set_device_seed(unsigned long seed) { device_seed = seed; }

}  // namespace gradstep_bits
