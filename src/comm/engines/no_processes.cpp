// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// For systems on which nothing connects processes: neither shm nor the plugins gloo and mpi are there.
#include "comm/communicators.h"
#include "core/error.h"
#include "core/platform/system.h"

namespace gradstep {

namespace {

[[noreturn]] void fail_here(const std::string& what) {
  fail(
      GRADSTEP_ERR_UNSUPPORTED,
      "{} is not there on {}: ranks are threads of one process (gradstep_comm_create_local), or meet by collectives of "
      "the host's own (gradstep_comm_create_host)",
      what, platform::kName);
}

}  // namespace

const bool kConnectsProcesses = false;

std::shared_ptr<Communicator> make_met_communicator(std::shared_ptr<Context>, const gradstep_comm_options& options) {
  fail_here(fmt::format("engine {}", options.engine));
}

std::shared_ptr<Communicator> make_mpi_communicator(std::shared_ptr<Context>, const gradstep_comm_options&,
                                                    const void*) {
  fail_here("engine mpi");
}

UniqueId make_unique_id(const char*) { fail_here("a store of gradstep_comm_unique_id"); }

std::int32_t count_newcomers(const gradstep_comm_options&, std::int32_t, const Deadline&) {
  fail_here("a store in which ranks meet");
}

}  // namespace gradstep
