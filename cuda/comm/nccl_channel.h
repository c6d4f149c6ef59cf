// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// A communicator of NCCL's. Its calls put work into a stream and return; check() reports what fails there.
#pragma once

#include <atomic>
#include <mutex>

#include "core/deadline.h"
#include "core/function_ref.h"
#include "libraries/nccl.h"

namespace gradstep::cuda {

class NcclChannel {
 public:
  /// Connects; throws TIMEOUT where a peer does not come, with nothing left behind.
  NcclChannel(const NcclId& id, int rank, int ranks, int device, const Deadline& deadline);
  /// Uses the host's communicator, which stays the host's unless it is aborted.
  NcclChannel(ncclComm* comm, int device);
  ~NcclChannel();
  NcclChannel(const NcclChannel&) = delete;
  NcclChannel& operator=(const NcclChannel&) = delete;

  int rank() const { return rank_; }
  int ranks() const { return ranks_; }
  int device() const { return device_; }

  /// body(the communicator) makes one call of NCCL's, or a group of them; returns when it is in the stream.
  void call(const char* what, const Deadline& deadline, FunctionRef<NcclResult(ncclComm*)> body);
  /// Throws if the channel is of no more use: aborted, or a call that was queued has failed, which another thread that
  /// is in a call gets instead. Never waits.
  void check();
  /// What is queued returns unfinished. Any thread, also during a call, and one that is blocked in the driver.
  void abort() noexcept;

 private:
  /// Under the mutex: NCCL takes no two calls on one communicator at a time, but for ncclCommAbort().
  NcclResult state();
  void await(NcclResult result, const char* what, const Deadline& deadline);
  /// Throws ABORTED if it was aborted.
  ncclComm* usable() const;
  [[noreturn]] void fail_nccl(NcclResult result, const char* what) const;

  const NcclFunctions& nccl_;
  int device_;
  bool is_own_;
  int rank_ = 0;
  int ranks_ = 0;
  std::timed_mutex mutex_;                 // of calls on comm_
  std::atomic<ncclComm*> comm_ = nullptr;  // NULL = aborted
};

}  // namespace gradstep::cuda
