// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/rendezvous/launch.h"

#include <fmt/core.h>

#include <array>
#include <charconv>
#include <vector>

#include "core/error.h"
#include "core/text.h"

namespace gradstep {

namespace {

constexpr const char* kTorchrun = "TORCHELASTIC_RUN_ID";

// RANK and WORLD_SIZE are also those of a Kubernetes PyTorchJob, and of a host that sets them by itself.
constexpr std::array<Launcher, 6> kLaunchers = {{
    {"torchrun, PyTorchJob", "RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", nullptr, {kTorchrun}},
    {"Open MPI",
     "OMPI_COMM_WORLD_RANK",
     "OMPI_COMM_WORLD_SIZE",
     "OMPI_COMM_WORLD_LOCAL_SIZE",
     nullptr,
     {"PMIX_NAMESPACE"}},
    {"MPICH and others by PMI", "PMI_RANK", "PMI_SIZE", "MPI_LOCALNRANKS"},
    {"Slurm",
     "SLURM_PROCID",
     "SLURM_STEP_NUM_TASKS",
     nullptr,
     "SLURM_STEP_NUM_NODES",
     {"SLURM_JOB_ID", "SLURM_STEP_ID"}},
    {"TrainJob", "PET_NODE_RANK", "PET_NNODES"},
    {"JobSet", "JOB_COMPLETION_INDEX", "WORLD_SIZE"},
}};
constexpr const Launcher& kPlain = kLaunchers[0];
constexpr const Launcher& kPmi = kLaunchers[2];
constexpr const Launcher& kSlurm = kLaunchers[3];

constexpr std::int32_t kFirstSlurmPort = 20000;
constexpr std::int32_t kSlurmPorts = 10000;
constexpr std::int32_t kLastPort = 65534;

const char* value_of(const char* variable, Environment environment) {
  return variable == nullptr ? nullptr : environment(variable);
}

/// `variable` is set.
std::int32_t number_of(const char* variable, Environment environment) {
  const std::string_view text(environment(variable));
  std::int32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < 0) {
    fail_argument("{}: is '{}', expected a number >= 0", variable, text);
  }
  return number;
}

std::optional<std::int32_t> number_in(const char* variable, Environment environment) {
  if (value_of(variable, environment) == nullptr) return std::nullopt;
  return number_of(variable, environment);
}

std::int32_t port_in(const char* variable, Environment environment) {
  const std::int32_t port = number_of(variable, environment);
  if (port < 1 || port > kLastPort) fail_argument("{}: is {}, expected 1 to {}", variable, port, kLastPort);
  return port;
}

bool is_there(const Launcher& launcher, Environment environment) {
  return environment(launcher.rank) != nullptr && environment(launcher.world_size) != nullptr;
}

[[noreturn]] void fail_without_launcher(Environment environment) {
  std::string halves;
  for (const Launcher& each : kLaunchers) {
    const bool has_rank = environment(each.rank) != nullptr;
    // A batch script's shell has one of Slurm's; JobSet's second one is torchrun's.
    if (&each == &kSlurm || has_rank == (environment(each.world_size) != nullptr)) continue;
    if (!has_rank && &each == &kLaunchers.back()) continue;
    halves += fmt::format("{} is set and {} is not; ", has_rank ? each.rank : each.world_size,
                          has_rank ? each.world_size : each.rank);
  }
  fail_argument("options.rank: is -1, and the environment does not say it: {}expected one pair of {}", halves,
                join(kLaunchers, ", ", [](const Launcher& each) {
                  return fmt::format("{} and {} ({})", each.rank, each.world_size, each.name);
                }));
}

/// RANK and WORLD_SIZE without torchrun may be those of pods or of a shell, in which something else started the ranks.
void check_plain(const Launch& launch, Environment environment) {
  const auto say = [&](const Launcher& launcher) {
    return fmt::format("{} = {} of {} = {}", launcher.rank, environment(launcher.rank), launcher.world_size,
                       environment(launcher.world_size));
  };
  for (const Launcher* other : {&kLaunchers[1], &kLaunchers[2]}) {
    if (!is_there(*other, environment)) continue;
    if (number_in(other->rank, environment) == launch.rank &&
        number_in(other->world_size, environment) == launch.world_size) {
      continue;
    }
    fail_argument("the environment contradicts itself: {}, but {} ({}); unset one pair", say(kPlain), say(*other),
                  other->name);
  }
  const char* processes = environment("PET_NPROC_PER_NODE");
  if (processes != nullptr && std::string_view(processes).find_first_not_of("0123456789") == std::string_view::npos &&
      std::string_view(processes) != "1") {
    fail_argument(
        "the environment contradicts itself: {} counts PET_NPROC_PER_NODE = {} processes of each pod, but torchrun has "
        "not started them ({} is not set)",
        say(kPlain), processes, kTorchrun);
  }
}

Launch launch_of(const Launcher& launcher, Environment environment) {
  Launch launch{&launcher, number_of(launcher.rank, environment), number_of(launcher.world_size, environment), false};
  if (launch.rank >= launch.world_size) {
    fail_argument("{}: is {}, expected 0 to {} - 1 = {}", launcher.rank, launch.rank, launcher.world_size,
                  launch.world_size - 1);
  }
  const auto here = number_in(launcher.ranks_here, environment);
  if (here && *here > launch.world_size) {
    fail_argument("the environment contradicts itself: {} = {}, but {} = {}", launcher.ranks_here, *here,
                  launcher.world_size, launch.world_size);
  }
  launch.one_machine =
      launch.world_size == 1 || here == launch.world_size || number_in(launcher.machines, environment) == 1;
  return launch;
}

[[noreturn]] void fail_without(const std::vector<const char*>& variables, const char* instead) {
  fail_argument("options: no store is given, and {} not set: {}", join(variables, " and "), instead);
}

}  // namespace

Launch read_launch(Environment environment) {
  for (const Launcher& launcher : kLaunchers) {
    if (!is_there(launcher, environment)) continue;
    // Slurm's own PMI says less of the step than Slurm does.
    const bool is_of_slurm = &launcher == &kPmi && is_there(kSlurm, environment) &&
                             number_of(kSlurm.rank, environment) == number_of(kPmi.rank, environment) &&
                             number_of(kSlurm.world_size, environment) == number_of(kPmi.world_size, environment);
    const Launch launch = launch_of(is_of_slurm ? kSlurm : launcher, environment);
    if (&launcher == &kPlain && environment(kTorchrun) == nullptr) check_plain(launch, environment);
    return launch;
  }
  fail_without_launcher(environment);
}

std::optional<std::int32_t> launched_rank(Environment environment) {
  try {
    return read_launch(environment).rank;
  } catch (const Error&) {
    return std::nullopt;
  }
}

MeetingPoint meeting_point(const Launch& launch, Environment environment) {
  const bool by_pods = environment("MASTER_ADDR") == nullptr && environment("PET_MASTER_ADDR") != nullptr;
  const char* address = by_pods ? "PET_MASTER_ADDR" : "MASTER_ADDR";
  const char* port = by_pods ? "PET_MASTER_PORT" : "MASTER_PORT";
  constexpr const char* kOwnPort = "GRADSTEP_PORT";
  const bool has_own_port = environment(kOwnPort) != nullptr;
  std::vector<const char*> lacking;
  const auto need = [&](const char* variable) {
    if (environment(variable) == nullptr) lacking.push_back(variable);
  };
  if (launch.launcher == &kSlurm && environment(address) == nullptr) {
    need("SLURM_STEP_NODELIST");
    if (!has_own_port) need("SLURM_JOB_ID");
    if (!lacking.empty()) fail_without(lacking, "expected of Slurm; or set MASTER_ADDR and MASTER_PORT");
    const std::int32_t own = has_own_port ? port_in(kOwnPort, environment)
                                          : kFirstSlurmPort + number_of("SLURM_JOB_ID", environment) % kSlurmPorts;
    return {first_host(environment("SLURM_STEP_NODELIST")), static_cast<std::uint16_t>(own)};
  }
  need(address);
  if (!has_own_port) need(port);
  if (!lacking.empty()) {
    fail_without(lacking,
                 "set MASTER_ADDR (a host name of rank 0's machine) and MASTER_PORT, or GRADSTEP_STORE (a directory "
                 "that all ranks share)");
  }
  const std::int32_t own = has_own_port ? port_in(kOwnPort, environment) : port_in(port, environment) + 1;
  return {environment(address), static_cast<std::uint16_t>(own)};
}

std::string first_host(std::string_view hosts) {
  std::string host(hosts);
  for (;;) {
    const std::size_t open = host.find('[');
    const std::size_t close = host.find(']', open);
    if (open == std::string::npos || close == std::string::npos || host.find(',') < open) break;
    const std::size_t first_ends = host.find_first_of("],-", open);
    host = host.substr(0, open) + host.substr(open + 1, first_ends - open - 1) + host.substr(close + 1);
  }
  return host.substr(0, host.find(','));
}

std::string job_text(const Launch& launch, Environment environment) {
  std::string text = fmt::format("{} ranks by {}", launch.world_size, launch.launcher->name);
  for (const char* variable :
       {"GRADSTEP_JOB", "MASTER_PORT", "PET_MASTER_PORT", launch.launcher->job[0], launch.launcher->job[1]}) {
    if (variable == nullptr) continue;
    const char* value = environment(variable);
    text += fmt::format("; {} = {}", variable, value == nullptr ? "" : value);
  }
  return text;
}

}  // namespace gradstep
