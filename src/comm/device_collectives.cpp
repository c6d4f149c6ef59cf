// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/device_collectives.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "comm/engine_communicator.h"
#include "core/own_thread.h"

namespace gradstep {

namespace {

/// Pauses between looks at a queue: short at first, for exchanges that are nearly done.
constexpr std::chrono::microseconds kFirstPause{5};
constexpr std::chrono::microseconds kLongestPause{1000};

}  // namespace

DeviceCollectives::DeviceCollectives(EngineCommunicator& comm, const Site& site)
    : comm_(comm),
      site_(site),
      reductions_(comm.device_engine_, site, comm.settings_.reduction_order, comm.sent_,
                  [](FunctionRef<void()> work) { work(); }),
      watch_([&engine = *comm.device_engine_] { engine.check(); }, [&comm] { comm.break_with_current(); }) {}

void DeviceCollectives::perform(std::int64_t gradstep_comm_statistics::* counter, const Deadline& deadline,
                                FunctionRef<void()> body) {
  site_.queue().check_not_capturing("ranks exchange something");
  // The one before is looked after meanwhile: where it never ends, a full stream may block this one.
  comm_.perform_on(*comm_.device_engine_, counter, deadline, [&] {
    body();
    watch_.expect(site_.queue().record(), deadline);
  });
}

void DeviceCollectives::all_reduce(const Array& data, std::int32_t op, double divisor, const Deadline& deadline) {
  perform(&gradstep_comm_statistics::all_reduces, deadline,
          [&] { reductions_.all_reduce(data, op, divisor, deadline); });
}

void DeviceCollectives::reduce_scatter(const Array& input, const Array& output, std::int32_t op,
                                       const Deadline& deadline) {
  perform(&gradstep_comm_statistics::reduce_scatters, deadline,
          [&] { reductions_.reduce_scatter(input, output, op, deadline); });
}

void DeviceCollectives::reduce_scatter_v(const Array& data, std::span<const std::int64_t> counts, std::int32_t op,
                                         double divisor, const Deadline& deadline) {
  perform(&gradstep_comm_statistics::reduce_scatters, deadline,
          [&] { reductions_.reduce_scatter_v(data, counts, op, divisor, deadline); });
}

void DeviceCollectives::all_gather(const void* send, void* receive, std::int64_t bytes, const Deadline& deadline) {
  perform(&gradstep_comm_statistics::all_gathers, deadline,
          [&] { reductions_.collectives().all_gather(send, receive, bytes, deadline); });
}

void DeviceCollectives::all_gather_v(const void* send, void* receive, std::span<const std::int64_t> bytes,
                                     const Deadline& deadline) {
  perform(&gradstep_comm_statistics::all_gathers, deadline,
          [&] { reductions_.collectives().all_gather_v(send, receive, bytes, deadline); });
}

void DeviceCollectives::all_to_all(const void* send, void* receive, std::span<const std::int64_t> bytes,
                                   const Deadline& deadline) {
  perform(&gradstep_comm_statistics::exchanges, deadline,
          [&] { reductions_.collectives().all_to_all(send, receive, bytes, deadline); });
}

void DeviceCollectives::exchange(std::span<const Communicator::Outgoing> outgoing,
                                 std::span<const Communicator::Incoming> incoming, const Deadline& deadline) {
  perform(&gradstep_comm_statistics::exchanges, deadline, [&] {
    if (comm_.world_size() == 1) return;
    reductions_.collectives().exchange([&](std::int32_t to) { return outgoing[static_cast<std::size_t>(to)]; },
                                       [&](std::int32_t from) { return incoming[static_cast<std::size_t>(from)]; },
                                       deadline);
  });
}

void DeviceCollectives::broadcast(void* data, std::int64_t bytes, std::int32_t root, const Deadline& deadline) {
  perform(&gradstep_comm_statistics::broadcasts, deadline,
          [&] { reductions_.collectives().broadcast(data, bytes, root, deadline); });
}

void DeviceCollectives::send(const void* data, std::int64_t bytes, std::int32_t to, const Deadline& deadline) {
  perform(&gradstep_comm_statistics::sends, deadline, [&] {
    if (bytes > 0) reductions_.collectives().send(data, bytes, to, deadline);
  });
}

void DeviceCollectives::recv(void* data, std::int64_t bytes, std::int32_t from, const Deadline& deadline) {
  perform(&gradstep_comm_statistics::receives, deadline, [&] {
    if (bytes > 0) reductions_.collectives().recv(data, bytes, from, deadline);
  });
}

// Whatever ends here in an error is a failure of the communicator, which aborts the engine: kernels that wait for peers
// then end, and with them whatever the host waits for.
void DeviceCollectives::settle(const Deadline& deadline) {
  site_.queue().check_not_capturing("the host waits for an exchange");
  watch_.forget();
  comm_.perform_on(*comm_.device_engine_, nullptr, deadline, [&] {
    const Engine& engine = *comm_.device_engine_;
    const Event end = site_.queue().record();
    auto pause = kFirstPause;
    auto polled = Deadline::Clock::now();
    while (!end.is_reached()) {
      engine.check();
      comm_.throw_if_broken();
      if (deadline.passed()) {
        fail(GRADSTEP_ERR_TIMEOUT, "{}: what was queued on the device was not done until the deadline", engine.name());
      }
      if (!on_own_thread && Deadline::Clock::now() - polled >= kInterruptPoll) {
        comm_.poll_interrupt();
        polled = Deadline::Clock::now();
      }
      std::this_thread::sleep_for(pause);
      pause = std::min(2 * pause, kLongestPause);
    }
    engine.check();  // what was aborted is done, too
    comm_.throw_if_broken();
  });
}

}  // namespace gradstep
