// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/plugins/mpi/request.h"

#include <thread>

#include "comm/plugins/failure.h"
#include "comm/plugins/mpi/library.h"

namespace gradstep::mpi_plugin {

using namespace plugin;

namespace {

// MPI moves bytes only while it is called. After this many polls without news the processor goes to others first, and
// later for a while: peers may need it to come here at all.
constexpr int kEagerPolls = 2000;
constexpr int kYieldingPolls = 4000;
constexpr std::chrono::microseconds kPause{50};

}  // namespace

MPI_Request* Requests::add() {
  requests_.push_back(MPI_REQUEST_NULL);
  return &requests_.back();
}

void Requests::wait_all(const std::atomic<bool>& aborted, const Deadline& deadline) {
  for (int polls = 0;; ++polls) {
    int done = 0;
    check(MPI_Testall(static_cast<int>(requests_.size()), requests_.data(), &done, MPI_STATUSES_IGNORE), "MPI_Testall");
    if (done != 0) break;
    if (aborted || deadline.passed()) {
      give_up_library();
      if (aborted) fail(GRADSTEP_ERR_ABORTED, "this rank aborted");
      fail(GRADSTEP_ERR_TIMEOUT, "the other ranks did not come until the deadline");
    }
    if (polls > kYieldingPolls) {
      std::this_thread::sleep_for(kPause);
    } else if (polls > kEagerPolls) {
      std::this_thread::yield();
    }
  }
  requests_.clear();
}

}  // namespace gradstep::mpi_plugin
