// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include <string>

#include "core/platform/system.h"
#include "tests/unit/comm/worlds.h"

namespace gradstep::test {
namespace {

/// UNSUPPORTED, by a text that names `what`, the system, and what to use instead.
template <class Call>
void expect_unsupported(const std::string& what, Call call) {
  expect_error(GRADSTEP_ERR_UNSUPPORTED, what + " is not there on " + platform::kName, call);
  expect_error(GRADSTEP_ERR_UNSUPPORTED, "gradstep_comm_create_local", call);
}

TEST(NoProcesses, EnginesOfProcessesAreUnsupported) {
  const auto context = make_context();
  gradstep_comm_options options{};
  options.struct_size = sizeof options;
  options.world_size = 2;
  for (const char* engine : {"shm", "gloo", "auto", "nccl"}) {
    options.engine = engine;
    expect_unsupported(std::string("engine ") + engine, [&] { make_met_communicator(context, options); });
  }
  expect_unsupported("engine mpi", [&] { make_mpi_communicator(context, options, nullptr); });
}

TEST(NoProcesses, StoresAreUnsupported) {
  expect_unsupported("a store of gradstep_comm_unique_id", [] { make_unique_id(nullptr); });
  expect_unsupported("a store in which ranks meet", [] { count_newcomers({}, 0, Deadline::after_ms(1)); });
}

}  // namespace
}  // namespace gradstep::test
