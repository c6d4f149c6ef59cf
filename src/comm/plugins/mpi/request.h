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
  /// Waits for all. Throws TIMEOUT at the deadline and ABORTED when `aborted` is set; MPI then still owns the buffers,
  /// and is given up.
  void wait_all(const std::atomic<bool>& aborted, const Deadline& deadline);

 private:
  std::vector<MPI_Request> requests_;
};

}  // namespace gradstep::mpi_plugin
