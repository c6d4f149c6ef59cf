// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Connects through libgradstep_mpi.so. The launcher has given the ranks their places.
#include "comm/communicator.h"
#include "comm/communicators.h"
#include "comm/engines/plugin_engine.h"
#include "core/error.h"

namespace gradstep {

std::shared_ptr<Communicator> make_mpi_communicator(std::shared_ptr<Context> context,
                                                    const gradstep_comm_options& options, const void* native) {
  const CommSettings settings = comm_settings(options);
  const Deadline deadline = Deadline::after_ms(settings.timeout_ms);
  if (options.id != nullptr || options.store != nullptr || options.store_path != nullptr) {
    fail_argument("options: id, store or store_path is given, but the ranks of mpi know each other");
  }
  gradstep_comm_options connect_options = options;
  connect_options.timeout_ms = deadline.remaining_ms();
  auto engine = connect_plugin("mpi", connect_options, nullptr, native);
  return Communicator::handshake(std::move(context), std::move(engine), settings, deadline);
}

}  // namespace gradstep
