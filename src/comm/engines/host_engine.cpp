// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// A host's own collectives.
#include "comm/communicator.h"
#include "comm/communicators.h"
#include "core/error.h"

namespace gradstep {

std::shared_ptr<Communicator> make_host_communicator(std::shared_ptr<Context> context,
                                                     const gradstep_comm_vtable& vtable, void* user,
                                                     const CommSettings& settings) {
  auto engine = Engine::make("host", vtable, user);  // every failure releases user
  if (vtable.all_gather == nullptr) fail_argument("vtable.all_gather: is NULL");
  if (vtable.rank_ordered != 0 && vtable.rank_ordered != 1) {
    fail_argument("vtable.rank_ordered: is {}, expected 0 or 1", vtable.rank_ordered);
  }
  return Communicator::handshake(std::move(context), std::move(engine), settings,
                                 Deadline::after_ms(settings.timeout_ms));
}

}  // namespace gradstep
