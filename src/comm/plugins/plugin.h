// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// What a plugin that brings a communicator engine defines.
#pragma once

#include "backend/plugin.h"

namespace gradstep::plugin {

extern const gradstep_plugin_engine engine;

}  // namespace gradstep::plugin
