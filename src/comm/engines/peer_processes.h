// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Tells whether the processes of the ranks on this host still live.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/file_descriptor.h"

namespace gradstep {

/// Equal for processes that can see each other: of one running system and one namespace of process numbers.
std::uint64_t process_space();

class PeerProcesses {
 public:
  /// processes[r] is rank r's. A number that is used again later is not mistaken for the old process. Throws PEER_LOST
  /// if one has ended, UNSUPPORTED if the system cannot watch processes.
  PeerProcesses(std::span<const std::int32_t> processes, std::int32_t own_rank);

  /// The processes of the ranks `members` of a wider world, watched by the same descriptors.
  PeerProcesses(const PeerProcesses& wider, std::span<const std::int32_t> members);

  /// Whether rank's process has ended. Never of the own one.
  bool ended(std::int32_t rank) const;

  /// Copies from the memory of rank's process; false if the system does not let, or the process has ended.
  bool read(std::int32_t rank, std::uint64_t address, void* destination, std::int64_t bytes) const;

 private:
  std::vector<std::int32_t> processes_;
  // pidfds; readable when the process has ended. The own one is not watched.
  std::vector<std::shared_ptr<const FileDescriptor>> watched_;
};

}  // namespace gradstep
