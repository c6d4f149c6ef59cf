// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Connects through libgradstep_gloo.so: chooses the store and the address, the plugin does the rest.
#include "backend/plugin_loader.h"
#include "comm/engine_communicator.h"
#include "comm/network_address.h"
#include "comm/rendezvous.h"
#include "core/error.h"

namespace gradstep {

namespace {

constexpr std::int32_t kMaxGlooRanks = 4096;

const gradstep_plugin_engine& gloo_engine() {
  const gradstep_plugin_api& plugin = find_plugin("gloo");
  if (plugin.engine == nullptr) fail(GRADSTEP_ERR_BACKEND_UNAVAILABLE, "the gloo plugin has no engine");
  return *plugin.engine;
}

}  // namespace

std::shared_ptr<Communicator> make_gloo_communicator(std::shared_ptr<Context> context,
                                                     const gradstep_comm_options& options) {
  const CommSettings settings = comm_settings(options);
  const Deadline deadline = Deadline::after_ms(settings.timeout_ms);
  const auto store = open_store(options, kMaxGlooRanks, deadline);
  const std::string address = own_address(options.interface).text();
  const gradstep_plugin_engine& plugin = gloo_engine();
  Rendezvous rendezvous(*store, *context, plugin.name, options);
  const gradstep_plugin_rendezvous loan = rendezvous.loan();

  gradstep_comm_options connect_options = options;
  connect_options.interface = address.c_str();
  connect_options.timeout_ms = deadline.remaining_ms();
  gradstep_comm_vtable vtable{};
  vtable.struct_size = sizeof vtable;
  void* user = nullptr;
  set_last_error("");
  const gradstep_status status = plugin.connect(&connect_options, &loan, &vtable, &user);
  if (status != GRADSTEP_OK) fail(status, "gloo: {}", std::string(last_error()));
  auto engine = std::make_shared<Engine>(plugin.name, vtable, user);
  return EngineCommunicator::introduce(std::move(context), std::move(engine), settings, deadline);
}

}  // namespace gradstep
