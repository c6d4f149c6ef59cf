// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/plugins/mpi/request.h"

#include <algorithm>
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

MPI_Request* Requests::add() { return add_receive(-1, 0); }

MPI_Request* Requests::add_receive(int from, int bytes) {
  expected_.push_back({from, bytes});
  requests_.push_back(MPI_REQUEST_NULL);
  return &requests_.back();
}

void Requests::check_outcomes(int code) const {
  for (std::size_t i = 0; i < statuses_.size(); ++i) {
    const int failed = code == MPI_ERR_IN_STATUS ? statuses_[i].MPI_ERROR : MPI_SUCCESS;
    if (failed == MPI_ERR_PENDING) continue;
    int kind = MPI_SUCCESS;
    MPI_Error_class(failed, &kind);
    if (kind == MPI_ERR_TRUNCATE) {
      fail(GRADSTEP_ERR_MISMATCH, "rank {} sends more than the {} bytes that this rank expects", expected_[i].from,
           expected_[i].bytes);
    }
    check(failed, "a call under way");
    if (expected_[i].from < 0) continue;
    int bytes = 0;
    MPI_Get_count(&statuses_[i], MPI_BYTE, &bytes);
    if (bytes != expected_[i].bytes) {
      fail(GRADSTEP_ERR_MISMATCH, "rank {} sends {} bytes, this rank expects {}", expected_[i].from, bytes,
           expected_[i].bytes);
    }
  }
  if (code != MPI_ERR_IN_STATUS) check(code, "MPI_Testall");
}

void Requests::wait_all(const std::atomic<bool>& aborted, const Deadline& deadline) {
  statuses_.resize(requests_.size());
  for (int polls = 0;; ++polls) {
    int done = 0;
    const int code = MPI_Testall(static_cast<int>(requests_.size()), requests_.data(), &done, statuses_.data());
    if (code != MPI_SUCCESS || done != 0) {
      const bool pending = std::any_of(requests_.begin(), requests_.end(),
                                       [](MPI_Request request) { return request != MPI_REQUEST_NULL; });
      if (pending) give_up_library();
      check_outcomes(code);
      break;
    }
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
  expected_.clear();
}

}  // namespace gradstep::mpi_plugin
