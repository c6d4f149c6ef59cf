// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// The gloo engine: a Mesh behind the public vtable.
#pragma once

#include "backend/plugin.h"

namespace gradstep::gloo_plugin {

/// gradstep_plugin_engine::connect.
gradstep_status connect(const gradstep_comm_options* options, const gradstep_plugin_rendezvous* rendezvous,
                        gradstep_comm_vtable* vtable, void** user);

}  // namespace gradstep::gloo_plugin
