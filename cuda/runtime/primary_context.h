// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Contexts of CUDA's driver, which its runtime uses where one is current (CUDA C++ Programming Guide, "Interoperability
// between Runtime and Driver APIs").
#pragma once

namespace gradstep::cuda {

/// Makes the device's primary context, the one that the runtime and all its users share, current on this thread, above
/// what was. It is made where there is none, and stays until the process ends. Throws OUT_OF_MEMORY or DEVICE.
void push_primary_context(int device);
/// What was current before is current again.
void pop_primary_context() noexcept;

/// For calls of the driver, which need a current context: a thread that has called nothing of the runtime has none.
class OnPrimaryContext {
 public:
  explicit OnPrimaryContext(int device) { push_primary_context(device); }
  ~OnPrimaryContext() { pop_primary_context(); }
  OnPrimaryContext(const OnPrimaryContext&) = delete;
  OnPrimaryContext& operator=(const OnPrimaryContext&) = delete;
};

}  // namespace gradstep::cuda
