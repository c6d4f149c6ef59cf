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

/// Runs `first`, then `second`, on the device's thread, and waits for them. In between it looks at all sockets anew: no
/// event of a socket that `first` gives up comes after. Rethrows what they throw. Not called on that thread.
void run_on_device_thread(const std::shared_ptr<::gloo::transport::Device>& device, FunctionRef<void()> first,
                          FunctionRef<void()> second);

}  // namespace gradstep::gloo_plugin
