// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// libgloo's thread gives a socket up at once; any other thread waits for its next look at all sockets, which is 10 ms
// later where they are silent.
#pragma once

#include <gloo/transport/device.h>

#include <memory>

#include "core/function_ref.h"

namespace gradstep::gloo_plugin {

/// Runs `work` on the device's thread, and waits for it. Rethrows what it throws. Not called on that thread.
void run_on_device_thread(const std::shared_ptr<::gloo::transport::Device>& device, FunctionRef<void()> work);

}  // namespace gradstep::gloo_plugin
