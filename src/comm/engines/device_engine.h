// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Engines of a device's memory, between ranks that are connected already.
#pragma once

#include <memory>

#include "comm/communicator.h"
#include "comm/engine.h"

namespace gradstep {

/// Throws BACKEND_UNAVAILABLE where the plugin, the library of its engine, or the device is not there, and UNSUPPORTED
/// for devices that no engine carries.
void check_device_engine(gradstep_device device);

/// By the plugin of the device's type, between the ranks of `control`, each with a device of its own: a new connection,
/// or the host's `native` one, unless NULL. Collective: all ranks have it, or all throw. Throws BACKEND_UNAVAILABLE
/// where there is no plugin, library or device.
std::shared_ptr<Engine> connect_device_engine(Communicator& control, gradstep_device device, void* native,
                                              const Deadline& deadline);

}  // namespace gradstep
