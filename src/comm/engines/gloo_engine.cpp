// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Connects through libgradstep_gloo.so: chooses the address, the plugin does the rest.
#include "comm/engines/met_engines.h"
#include "comm/engines/plugin_engine.h"
#include "comm/rendezvous/network_address.h"
#include "comm/rendezvous/rendezvous.h"
#include "core/error.h"
#include "core/platform/system.h"

namespace gradstep {

std::shared_ptr<Engine> connect_gloo(Store& store, const Context& context, const gradstep_comm_options& options,
                                     const std::string& room, const Deadline& deadline) {
  const NetworkAddress own = own_address(options.network_interface, store.reached_from());
  const std::string address = own.text();
  Rendezvous rendezvous(store, context, "gloo", options, room);
  const gradstep_plugin_rendezvous loan = rendezvous.loan();

  gradstep_comm_options connect_options = options;
  connect_options.network_interface = address.c_str();
  connect_options.timeout_ms = deadline.remaining_ms();
  try {
    return connect_plugin("gloo", connect_options, &loan, nullptr);
  } catch (const Error& error) {
    const bool is_of_peers = error.status() == GRADSTEP_ERR_TIMEOUT || error.status() == GRADSTEP_ERR_PEER_LOST;
    if (!is_of_peers || !rendezvous.has_met()) throw;
    fail(error.status(), "{} (host {} is at {}{}: network_interface chooses an address that the other ranks reach)",
         error.what(), platform::host_name(), address, own.is_loopback() ? ", which other machines cannot reach" : "");
  }
}

}  // namespace gradstep
