// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Finds, opens and remembers plugins. Opened plugins are never closed.
#pragma once

#include <memory>
#include <string>

#include "backend/backend.h"
#include "backend/plugin.h"

namespace gradstep {

/// Identifies the source and compiler that both sides must share.
const char* build_id();

/// Opens the plugin file at `path`. Throws BACKEND_UNAVAILABLE with the loader's words.
const gradstep_plugin_api& load_plugin(const std::string& path);

/// Opens libgradstep_<name>.so: GRADSTEP_PLUGIN_DIR, then libgradstep's own directory. Throws BACKEND_UNAVAILABLE.
const gradstep_plugin_api& find_plugin(const std::string& name);

/// The backend of that plugin for `device`. Throws BACKEND_UNAVAILABLE.
std::unique_ptr<Backend> make_plugin_backend(const std::string& name, gradstep_device device,
                                             const std::shared_ptr<Allocator>& allocator);

/// A stream of gradstep's own on `device`, for Backend::queue(); NULL where the device is no plugin's. Throws what the
/// backend does.
std::shared_ptr<void> make_own_stream(gradstep_device device);

}  // namespace gradstep
