// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/engines/plugin_engine.h"

#include "backend/plugin_loader.h"
#include "core/error.h"

namespace gradstep {

std::shared_ptr<Engine> connect_plugin(const std::string& name, const gradstep_comm_options& options,
                                       const gradstep_plugin_rendezvous* rendezvous, const void* native) {
  const gradstep_plugin_api& plugin = find_plugin(name);
  if (plugin.engine == nullptr) fail(GRADSTEP_ERR_BACKEND_UNAVAILABLE, "the {} plugin has no engine", name);
  gradstep_comm_vtable vtable{};
  vtable.struct_size = sizeof vtable;
  void* user = nullptr;
  set_last_error("");
  const gradstep_status status = plugin.engine->connect(&options, rendezvous, native, &vtable, &user);
  if (status != GRADSTEP_OK) fail(status, "{}: {}", name, std::string(last_error()));
  return Engine::make(name, vtable, user, Engine::Medium::network,
                      {plugin.engine->split, plugin.engine->carry, plugin.engine->reduce_by_ring});
}

}  // namespace gradstep
