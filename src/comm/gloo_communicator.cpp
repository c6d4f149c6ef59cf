// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Connects through libgradstep_gloo.so: chooses the store and the address, the plugin does the rest.
#include "comm/engine_communicator.h"
#include "comm/network_address.h"
#include "comm/plugin_engine.h"
#include "comm/rendezvous.h"

namespace gradstep {

namespace {

constexpr std::int32_t kMaxGlooRanks = 4096;

}  // namespace

std::shared_ptr<Communicator> make_gloo_communicator(std::shared_ptr<Context> context,
                                                     const gradstep_comm_options& options) {
  const CommSettings settings = comm_settings(options);
  const Deadline deadline = Deadline::after_ms(settings.timeout_ms);
  const auto store = open_store(options, kMaxGlooRanks, deadline);
  const std::string address = own_address(options.interface).text();
  Rendezvous rendezvous(*store, *context, "gloo", options);
  const gradstep_plugin_rendezvous loan = rendezvous.loan();

  gradstep_comm_options connect_options = options;
  connect_options.interface = address.c_str();
  connect_options.timeout_ms = deadline.remaining_ms();
  auto engine = connect_plugin("gloo", connect_options, &loan, nullptr);
  return EngineCommunicator::introduce(std::move(context), std::move(engine), settings, deadline);
}

}  // namespace gradstep
