// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Communicators do not block: what is not done when a call returns, connecting above all, is polled for, so that it
// ends by its deadline and can be aborted meanwhile.
#include "comm/nccl_channel.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "core/error.h"
#include "runtime/device.h"

namespace gradstep::cuda {

namespace {

constexpr std::chrono::microseconds kFirstPause{20};
constexpr std::chrono::microseconds kLongestPause{2000};
/// Of a channel that is given up in the background, for what others may still fetch from it.
constexpr std::chrono::seconds kFinalize{10};

gradstep_status status_of(NcclResult result) {
  switch (result) {
    case NcclResult::remote_error:
      return GRADSTEP_ERR_PEER_LOST;
    case NcclResult::system_error:
      return GRADSTEP_ERR_IO;
    default:
      return GRADSTEP_ERR_DEVICE;
  }
}

/// Ranks fetch from each other, so what is done here may not be done there: a communicator is finalized before it is
/// destroyed, which waits for peers, and is nothing that a host's call waits for.
void give_back(const NcclFunctions& nccl, ncclComm* comm, int device) noexcept {
  try {
    const OnDevice current(device);
    NcclResult state = nccl.finalize(comm);
    const auto end = std::chrono::steady_clock::now() + kFinalize;
    while (state == NcclResult::in_progress && std::chrono::steady_clock::now() < end) {
      std::this_thread::sleep_for(kLongestPause);
      if (nccl.get_async_error(comm, &state) != NcclResult::success) break;
    }
    if (state == NcclResult::success) {
      nccl.destroy(comm);
    } else {
      nccl.abort(comm);
    }
  } catch (...) {  // of a device that is gone there is nothing to give back
  }
}

}  // namespace

NcclChannel::NcclChannel(const NcclId& id, int rank, int ranks, int device, const Deadline& deadline)
    : nccl_(nccl_functions()), device_(device), is_own_(true), rank_(rank), ranks_(ranks) {
  const OnDevice current(device_);
  NcclConfig config;
  const NcclResult result = nccl_.init(&comm_, ranks, id, rank, &config);
  if (result != NcclResult::success && result != NcclResult::in_progress) fail_nccl(result, "ncclCommInitRankConfig");
  try {
    await(result, "ncclCommInitRankConfig", deadline);
  } catch (...) {
    abort();
    throw;
  }
}

NcclChannel::NcclChannel(ncclComm* comm, int device)
    : nccl_(nccl_functions()), device_(device), is_own_(false), comm_(comm) {
  int own = -1;
  const auto ask = [&](NcclResult result, const char* what) {
    if (result != NcclResult::success) fail_nccl(result, what);
  };
  ask(nccl_.device(comm_, &own), "ncclCommCuDevice");
  ask(nccl_.user_rank(comm_, &rank_), "ncclCommUserRank");
  ask(nccl_.count(comm_, &ranks_), "ncclCommCount");
  if (own != device) fail_argument("nccl_comm: is on device {}, expected {}", own, device);
}

NcclChannel::~NcclChannel() {
  if (comm_ == nullptr || !is_own_) return;
  try {
    std::thread([nccl = &nccl_, comm = comm_, device = device_] { give_back(*nccl, comm, device); }).detach();
  } catch (...) {  // the system has no thread
    give_back(nccl_, comm_, device_);
  }
}

void NcclChannel::throw_if_aborted() const {
  if (comm_ == nullptr) fail(GRADSTEP_ERR_ABORTED, "the channel was aborted");
}

void NcclChannel::fail_nccl(NcclResult result, const char* what) const {
  fail(status_of(result), "{}: {} ({})", what, nccl_.error_string(result), static_cast<int>(result));
}

NcclResult NcclChannel::state() {
  const std::lock_guard lock(mutex_);
  throw_if_aborted();
  NcclResult state = NcclResult::success;
  const NcclResult asked = nccl_.get_async_error(comm_, &state);
  return asked == NcclResult::success ? state : asked;
}

void NcclChannel::await(NcclResult result, const char* what, const Deadline& deadline) {
  auto pause = kFirstPause;
  while (result == NcclResult::in_progress) {
    if (deadline.passed()) fail(GRADSTEP_ERR_TIMEOUT, "{}: was not done until the deadline", what);
    std::this_thread::sleep_for(pause);
    pause = std::min(2 * pause, kLongestPause);
    result = state();
  }
  if (result != NcclResult::success) fail_nccl(result, what);
}

void NcclChannel::call(const char* what, const Deadline& deadline, FunctionRef<NcclResult(ncclComm*)> body) {
  const OnDevice current(device_);
  NcclResult result = NcclResult::success;
  {
    const std::lock_guard lock(mutex_);
    throw_if_aborted();
    result = body(comm_);
  }
  await(result, what, deadline);
}

void NcclChannel::check() {
  const NcclResult now = state();
  if (now != NcclResult::success && now != NcclResult::in_progress) fail_nccl(now, "ncclCommGetAsyncError");
}

void NcclChannel::abort() noexcept {
  try {
    const OnDevice current(device_);
    const std::lock_guard lock(mutex_);
    if (comm_ != nullptr) nccl_.abort(comm_);
    comm_ = nullptr;
  } catch (...) {  // of a device that is gone there is nothing to abort
  }
}

}  // namespace gradstep::cuda
