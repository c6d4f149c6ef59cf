// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// What the launcher of this process says in its environment: which rank it is, of how many, and where all meet.
#pragma once

#include <array>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

#include "core/function_ref.h"

namespace gradstep {

/// The value of a variable; nullptr = it is not set.
using Environment = FunctionRef<const char*(const char* variable)>;

/// This process's own; a variable that is empty counts as not set.
inline constexpr auto environment_of_process = [](const char* variable) -> const char* {
  const char* value = std::getenv(variable);  // NOLINT(concurrency-mt-unsafe): hosts set it before threads run
  return value == nullptr || *value == '\0' ? nullptr : value;
};

/// Variables of one launcher.
struct Launcher {
  const char* name;
  const char* rank;
  const char* world_size;
  const char* ranks_here = nullptr;  ///< how many of the ranks run on this machine
  const char* machines = nullptr;    ///< on how many machines the ranks run, where it does not say the other
  std::array<const char*, 2> job{};  ///< equal on all machines of a job, and different in another one
};

/// This process in its job.
struct Launch {
  const Launcher* launcher;
  std::int32_t rank;
  std::int32_t world_size;
  bool one_machine;  ///< all ranks are known to run here
};

struct MeetingPoint {
  std::string host;
  std::uint16_t port;
};

/// The first launcher whose variables are there: the innermost, for one that runs inside another inherits the other's.
/// Throws INVALID_ARGUMENT that names what was looked for, what was found, and what contradicts.
Launch read_launch(Environment environment);

/// The rank of read_launch(); nullopt where that throws.
std::optional<std::int32_t> launched_rank(Environment environment);

/// Where rank 0 serves what the others ask for: GRADSTEP_PORT, else the port after MASTER_PORT, which is
/// torch.distributed's own, at MASTER_ADDR; of Slurm, the step's first machine. Throws INVALID_ARGUMENT.
MeetingPoint meeting_point(const Launch& launch, Environment environment);

/// The first name in Slurm's shorthand: node03 of "node[03-07,9],gpu1".
std::string first_host(std::string_view hosts);

/// Equal for all ranks of a job, whatever machine they are on. GRADSTEP_JOB, which the user may set, tells jobs apart
/// whose other variables are equal, and strangers do not know it.
std::string job_text(const Launch& launch, Environment environment);

/// The nearest ancestor of this process that was started without a rank: the launcher, whatever scripts are in between.
std::int64_t launcher_process(const Launch& launch);

}  // namespace gradstep
