// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Worlds of ranks for tests: every engine, each rank a thread of this process.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "comm/communicators.h"
#include "tests/unit/support.h"
#include "tests/unit/temporary_directory.h"

namespace gradstep::test {

using World = std::vector<std::shared_ptr<Communicator>>;

/// "local"; "shm"; "gloo"; a host that lends, over an inner local world, "host_gather": all_gather alone, "host_pairs":
/// also send and recv, "host_all": everything, summing in the order of ranks; "group", "host_group": what split
/// makes of a local world, and of one of "host_pairs".
World make_world(const std::string& engine, std::int32_t world_size, const CommSettings& settings = {},
                 const std::shared_ptr<Context>& context = make_context());

/// All engines that this build can test, gloo only where its plugin was built.
std::vector<std::string> engines();
/// "local", and "shm" where this system has it.
std::vector<std::string> engines_of_one_machine();
/// Is gloo one of them? It alone has a network's rounds.
bool has_gloo();

/// How one rank's thread ended.
struct Outcome {
  gradstep_status status = GRADSTEP_OK;
  std::string text;
  std::int64_t milliseconds = 0;
};

/// Runs body(communicator) on one thread per rank, and waits for all.
std::vector<Outcome> run_outcomes(const World& world, const std::function<void(Communicator&)>& body);
std::vector<Outcome> run_outcomes(std::int32_t ranks, const std::function<void(std::int32_t)>& body);
/// Runs the ranks; none may fail.
void run(const World& world, const std::function<void(Communicator&)>& body);

/// What a host has lent and how it was used; lives until released.
struct HostRank {
  std::shared_ptr<Communicator> inner;
  int* releases = nullptr;
};
gradstep_comm_vtable host_vtable(const std::string& kind, const Communicator& inner);

}  // namespace gradstep::test
