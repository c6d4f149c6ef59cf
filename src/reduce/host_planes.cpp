// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "reduce/host_planes.h"

namespace gradstep {

HostPlanes::HostPlanes(HostSums& sums, ExchangeResources& resources)
    : sums_(sums), inside_(sums.inside(), *resources.context, resources.lane()) {
  if (Communicator* between = sums.between(); between != nullptr) {
    between_ = std::make_unique<DataPlane>(*between, *resources.context, resources.lane());
  }
}

void HostPlanes::run(Communicator& comm, const Deadline& deadline, FunctionRef<void()> body) {
  comm.perform(nullptr, {.kind = CallKind::all_to_all}, deadline, [&] {
    try {
      body();
    } catch (...) {
      sums_.abort();  // ranks of other groups wait for this one
      throw;
    }
  });
}

}  // namespace gradstep
