// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Communicators do not block: what is not done when a call returns, connecting above all, is polled for, so that it
// ends by its deadline and can be aborted meanwhile.
#include "comm/nccl_channel.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <map>
#include <mutex>
#include <thread>

#include "core/error.h"
#include "runtime/capture.h"

namespace gradstep::cuda {

namespace {

constexpr std::chrono::microseconds kFirstPause{20};
constexpr std::chrono::microseconds kLongestPause{2000};
/// How long a channel that is given up stays for what others may still fetch from it, and how long its end may take.
constexpr std::chrono::seconds kFinalize{10};
constexpr std::chrono::seconds kAbort{2};
/// What an abort leaves to a call to return by itself.
constexpr std::chrono::milliseconds kCallPatience{100};
/// How often a call that waits for its turn looks whether it was aborted.
constexpr std::chrono::milliseconds kLookAround{20};

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
void finalize(const NcclFunctions& nccl, ncclComm* comm, int device) noexcept {
  give_back(device, [&] {
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
  });
}

/// Work for the communicators of one device may not be given to NCCL by two threads at once (its user guide, Thread
/// Safety). A call that returns in progress gives it in the background: its turn is over when it is done.
std::timed_mutex& giving_work_to(int device) {
  static std::mutex mutex;
  static auto& all = *new std::map<int, std::timed_mutex>;  // leaked: a thread may be late
  const std::lock_guard lock(mutex);
  return all[device];
}

/// The threads that finalize. The process does not end before they have: CUDA and NCCL would go away under them, and
/// peers could not fetch what is still to be fetched.
class Finalizers {
 public:
  // Leaked: a thread may be late.
  static Finalizers& instance() {
    static auto* all = new Finalizers;
    return *all;
  }

  void start(const NcclFunctions& nccl, ncclComm* comm, int device) noexcept {
    try {
      const std::lock_guard lock(mutex_);
      std::thread([this, &nccl, comm, device] {
        finalize(nccl, comm, device);
        const std::lock_guard end(mutex_);
        --running_;
        done_.notify_all();
      }).detach();
      ++running_;
    } catch (...) {  // the system has no thread
      finalize(nccl, comm, device);
    }
  }

 private:
  // At exit before what was there when the first channel was: CUDA and NCCL.
  Finalizers() {
    std::atexit([] { instance().wait(); });
  }

  void wait() {
    if (getpid() != process_) return;  // a forked child has none of the threads
    std::unique_lock lock(mutex_);
    done_.wait_for(lock, kFinalize + kAbort, [this] { return running_ == 0; });
  }

  const pid_t process_ = getpid();
  std::mutex mutex_;
  std::condition_variable done_;
  int running_ = 0;
};

}  // namespace

NcclChannel::NcclChannel(const NcclId& id, int rank, int ranks, int device, const Deadline& deadline)
    : nccl_(nccl_functions()), device_(device), is_own_(true), rank_(rank), ranks_(ranks) {
  const BesideCapture beside(device_);
  Finalizers::instance();
  NcclConfig config;
  ncclComm* comm = nullptr;
  const NcclResult result = nccl_.init(&comm, ranks, id, rank, &config);
  comm_ = comm;
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
  if (comm_ != nullptr && is_own_) Finalizers::instance().start(nccl_, comm_, device_);
}

ncclComm* NcclChannel::usable() const {
  ncclComm* comm = comm_;
  if (comm == nullptr) fail(GRADSTEP_ERR_ABORTED, "the channel was aborted");
  return comm;
}

void NcclChannel::fail_nccl(NcclResult result, const char* what) const {
  fail(status_of(result), "{}: {} ({})", what, nccl_.error_string(result), static_cast<int>(result));
}

NcclResult NcclChannel::state() {
  NcclResult state = NcclResult::success;
  const NcclResult asked = nccl_.get_async_error(usable(), &state);
  return asked == NcclResult::success ? state : asked;
}

void NcclChannel::await(NcclResult result, const char* what, const Deadline& deadline) {
  auto pause = kFirstPause;
  while (result == NcclResult::in_progress) {
    if (deadline.passed()) fail(GRADSTEP_ERR_TIMEOUT, "{}: was not done until the deadline", what);
    std::this_thread::sleep_for(pause);
    pause = std::min(2 * pause, kLongestPause);
    const std::lock_guard lock(mutex_);
    result = state();
  }
  if (result != NcclResult::success) fail_nccl(result, what);
}

void NcclChannel::call(const char* what, const Deadline& deadline, FunctionRef<NcclResult(ncclComm*)> body) {
  const BesideCapture beside(device_);
  std::unique_lock turn(giving_work_to(device_), std::defer_lock);
  while (!turn.try_lock_until(std::min(deadline.time(), std::chrono::steady_clock::now() + kLookAround))) {
    usable();  // an abort cannot wake a thread that waits for another communicator
    if (deadline.passed()) fail(GRADSTEP_ERR_TIMEOUT, "{}: another communicator's call has the device", what);
  }
  NcclResult result = NcclResult::success;
  {
    const std::lock_guard lock(mutex_);
    result = body(usable());
    usable();  // what an abort has ended returns errors of NCCL's, or none
  }
  try {
    await(result, what, deadline);
  } catch (...) {
    abort();  // nothing else ends what NCCL still does in the background; the next turn begins behind it
    throw;
  }
}

// A thread that has the mutex looks after the communicator itself, and may be blocked.
void NcclChannel::check() {
  usable();
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock()) return;
  const NcclResult now = state();
  if (now != NcclResult::success && now != NcclResult::in_progress) fail_nccl(now, "ncclCommGetAsyncError");
}

// A call that does not return is blocked by work before it that never ends: nothing but the abort ends that.
void NcclChannel::abort() noexcept {
  give_back(device_, [&] {
    const std::unique_lock lock(mutex_, kCallPatience);
    if (ncclComm* comm = comm_.exchange(nullptr); comm != nullptr) nccl_.abort(comm);
  });
}

}  // namespace gradstep::cuda
