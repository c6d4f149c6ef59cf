// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Connects through libgradstep_gloo.so: chooses the store and the address, the plugin does the rest.
#include "backend/plugin_loader.h"
#include "comm/engine_communicator.h"
#include "comm/network_address.h"
#include "comm/store.h"
#include "core/error.h"

namespace gradstep {

namespace {

constexpr std::int32_t kMaxGlooRanks = 4096;

void check_place(const gradstep_comm_options& options) {
  if (options.world_size < 1 || options.world_size > kMaxGlooRanks) {
    fail_argument("options.world_size: is {}, expected 1 to {}", options.world_size, kMaxGlooRanks);
  }
  if (options.rank < 0 || options.rank >= options.world_size) {
    fail_argument("options.rank: is {}, expected 0 to {}", options.rank, options.world_size - 1);
  }
  const int given =
      (options.id != nullptr ? 1 : 0) + (options.store != nullptr ? 1 : 0) + (options.store_path != nullptr ? 1 : 0);
  if (given != 1) {
    fail_argument("options: {} of id, store and store_path are given, expected exactly one", given);
  }
}

std::unique_ptr<Store> open_store(const gradstep_comm_options& options, const Deadline& deadline) {
  if (options.store != nullptr) return wrap_host_store(*options.store);
  if (options.store_path != nullptr) return open_directory_store(options.store_path);
  return connect_tcp_store(options.id, options.id_len, options.rank, options.world_size, deadline);
}

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
  check_place(options);
  const std::string address = own_address(options.interface).text();
  const gradstep_plugin_engine& plugin = gloo_engine();
  const auto store = open_store(options, deadline);
  const StoreLoan loan(*store, fmt::format("gradstep/{}/", options.generation), *context);

  gradstep_comm_options connect_options = options;
  connect_options.interface = address.c_str();
  connect_options.timeout_ms = deadline.remaining_ms();
  gradstep_comm_vtable vtable{};
  vtable.struct_size = sizeof vtable;
  void* user = nullptr;
  set_last_error("");
  const gradstep_status status = plugin.connect(&connect_options, loan.get(), &vtable, &user);
  if (status != GRADSTEP_OK) fail(status, "gloo: {}", std::string(last_error()));
  auto engine = std::make_shared<Engine>(plugin.name, vtable, user);
  return EngineCommunicator::introduce(std::move(context), std::move(engine), settings, deadline);
}

}  // namespace gradstep
