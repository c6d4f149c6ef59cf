// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Finds, opens and remembers plugins. Opened plugins are never closed.
#pragma once

#include <string>

#include "backend/plugin.h"

namespace gradstep {

/// Identifies the source and compiler that both sides must share.
const char* build_id();

/// Opens the plugin file at `path`. Throws BACKEND_UNAVAILABLE with the loader's words.
const gradstep_plugin_api& load_plugin(const std::string& path);

/// Opens libgradstep_<name>.so: GRADSTEP_PLUGIN_DIR, then libgradstep's own directory. Throws BACKEND_UNAVAILABLE.
const gradstep_plugin_api& find_plugin(const std::string& name);

}  // namespace gradstep
