// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Operations in progress: MPI's waits know no time, so these poll.
#pragma once

#include <mpi.h>

#include <atomic>
#include <vector>

#include "core/deadline.h"

namespace gradstep::mpi_plugin {

class Requests {
 public:
  /// Where to put the next one that MPI starts.
  MPI_Request* add();
  /// Adds a message of `bytes` bytes that rank `from` of the channel shall send.
  MPI_Request* add_receive(int from, int bytes);
  /// Waits for all. Throws TIMEOUT at the deadline, ABORTED when `aborted` is set, MISMATCH where a message has another
  /// length than was expected, and PEER_LOST for what else MPI reports. If anything is still under way then, MPI keeps
  /// the buffers and is given up.
  void wait_all(const std::atomic<bool>& aborted, const Deadline& deadline);

 private:
  struct Expected {
    int from = -1;  // -1 = no message is received
    int bytes = 0;
  };

  /// Throws what the statuses say; `code` is what MPI_Testall has returned.
  void check_outcomes(int code) const;

  std::vector<MPI_Request> requests_;
  std::vector<Expected> expected_;  // of each
  std::vector<MPI_Status> statuses_;
};

}  // namespace gradstep::mpi_plugin
