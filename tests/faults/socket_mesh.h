// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// A host's collectives for ranks that are forked processes: a socket between every two of them, and an all_gather.
#pragma once

#include <gradstep/gradstep.h>

#include <cstdint>
#include <vector>

namespace gradstep::test {

enum class Misbehaviour { none, fails, throws };

/// Made before the ranks are forked; after that every process keeps what is its own.
class SocketMesh {
 public:
  explicit SocketMesh(int ranks);
  ~SocketMesh();
  SocketMesh(const SocketMesh&) = delete;
  SocketMesh& operator=(const SocketMesh&) = delete;

  /// Closes what other ranks use, so that a rank's death closes its sockets. `rank` -1: this process plays none.
  void keep(int rank);

  /// The communicator of the rank that was kept; borrows the mesh.
  gradstep_status connect(gradstep_context* context, std::int64_t timeout_ms, gradstep_comm** out);

  /// What all_gather does from now on.
  void misbehave(Misbehaviour how) { misbehaviour_ = how; }

 private:
  gradstep_status all_gather(const void* send, void* receive, std::int64_t bytes, std::int64_t timeout_ms);
  int& socket(int own, int peer) { return sockets_[static_cast<std::size_t>(own * ranks_ + peer)]; }

  int ranks_;
  int rank_ = -1;
  Misbehaviour misbehaviour_ = Misbehaviour::none;
  std::vector<int> sockets_;  // [own][peer]; -1 = none
};

}  // namespace gradstep::test
