// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Engines that plugins bring.
#pragma once

#include <memory>
#include <string>

#include "backend/plugin.h"
#include "comm/engine.h"

namespace gradstep {

/// Connects through libgradstep_<name>.so; the arguments are those of gradstep_plugin_engine::connect. Throws
/// BACKEND_UNAVAILABLE if there is no such plugin, and what the plugin returns.
std::shared_ptr<Engine> connect_plugin(const std::string& name, const gradstep_comm_options& options,
                                       const gradstep_plugin_rendezvous* rendezvous, const void* native);

}  // namespace gradstep
