// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// The emulated device as tests of handles see it.
#pragma once

#include <string>
#include <vector>

#include "cuda/emulated.h"
#include "detached/chain.h"

namespace gradstep::test {

class EmulatedCuda final : public TestDevice {
 public:
  explicit EmulatedCuda(std::uint64_t seed, std::int32_t number = 0, const gradstep_context_options* options = nullptr)
      : TestDevice({GRADSTEP_DEVICE_CUDA, number}, options) {
    control().set_seed(seed);
  }

  static const emulation::Control& control() { return emulated_cuda(); }
  static void* stream(int k) {
    static std::vector<void*> streams = {nullptr};
    while (streams.size() <= static_cast<std::size_t>(k)) streams.push_back(control().make_stream());
    return streams[static_cast<std::size_t>(k)];
  }
  std::int64_t waits() const override { return control().counts().waits; }
  std::int64_t allocations() const override { return control().counts().allocations; }

  /// The kernels that have run since the last call.
  static std::vector<std::string> launches() {
    std::vector<std::string> names;
    while (const char* name = control().launch(static_cast<std::int64_t>(names.size()))) names.emplace_back(name);
    control().forget_launches();
    return names;
  }
};

}  // namespace gradstep::test
