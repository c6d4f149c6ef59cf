// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "reduce/host_planes.h"

#include <algorithm>

namespace gradstep {

Division division_among_all(const ExchangeResources& resources) {
  const Communicator& comm = *resources.comm;
  return {.group = resources.data.get(),
          .ranks = static_cast<std::size_t>(comm.world_size()),
          .rank = static_cast<std::size_t>(comm.rank())};
}

HostPlanes::HostPlanes(HostSums& sums, ExchangeResources& resources)
    : sums_(sums), inside_(sums.inside(), *resources.context, resources.lane()) {
  if (Communicator* between = sums.between(); between != nullptr) {
    between_ = std::make_unique<DataPlane>(*between, *resources.context, resources.lane());
  }
}

Division HostPlanes::division() const {
  const auto place = static_cast<std::size_t>(sums_.inside().rank());
  const auto owners = static_cast<std::size_t>(sums_.owners());
  return {.group = between_.get(),
          .owners = owners,
          .own = std::min(place, owners),
          .ranks = static_cast<std::size_t>(sums_.hosts()),
          .rank = between_ != nullptr ? static_cast<std::size_t>(sums_.between()->rank()) : 0};
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
