// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// The one exported function of a plugin that brings a communicator engine.
#include "comm/plugins/plugin.h"

#include <cstring>

#include "comm/plugins/failure.h"
#include "gradstep_build_id.h"

namespace gradstep::plugin {

namespace {

const gradstep_plugin_host_api* host_api = nullptr;

}  // namespace

void set_error(const char* text) noexcept { host_api->set_error(text); }

}  // namespace gradstep::plugin

extern "C" __attribute__((visibility("default"))) gradstep_status
gradstep_plugin_entry(const char* build_id, const gradstep_plugin_host_api* host, gradstep_plugin_api* plugin,
                      const char** plugin_build_id) {
  *plugin_build_id = GRADSTEP_BUILD_ID;
  if (std::strcmp(build_id, GRADSTEP_BUILD_ID) != 0) return GRADSTEP_ERR_INVALID_ARGUMENT;
  gradstep::plugin::host_api = host;
  plugin->engine = &gradstep::plugin::engine;
  return GRADSTEP_OK;
}
