// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/data_plane.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "core/error.h"
#include "core/own_thread.h"

namespace gradstep {

namespace {

/// Pauses between looks at a queue: short at first, for exchanges that are nearly done.
constexpr std::chrono::microseconds kFirstPause{5};
constexpr std::chrono::microseconds kLongestPause{1000};

/// Bytes at the site that a call reads or writes.
struct Span {
  std::byte* data = nullptr;
  std::int64_t bytes = 0;
};

Span span_of(const void* data, std::int64_t bytes) { return {static_cast<std::byte*>(const_cast<void*>(data)), bytes}; }

/// What a rank's call reads.
Span read_by(const Call& call, std::size_t rank) {
  switch (call.kind) {
    case CallKind::all_reduce:
    case CallKind::reduce_scatter:
    case CallKind::reduce_scatter_v:
      return span_of(call.data.data, call.data.bytes());
    case CallKind::all_gather:
    case CallKind::send:
      return span_of(call.send, call.bytes);
    case CallKind::all_gather_v:
      return span_of(call.send, call.counts[rank]);
    case CallKind::all_to_all:
    case CallKind::exchange:
      return span_of(call.send, total_of(call.counts));
    case CallKind::broadcast:
      return span_of(call.send, static_cast<std::size_t>(call.root) == rank ? call.bytes : 0);
    default:
      return {};
  }
}

/// What a rank's call writes. A reduction in place writes into what it reads.
Span written_by(const Call& call, std::size_t rank, std::int32_t world_size) {
  switch (call.kind) {
    case CallKind::all_reduce:
      return span_of(call.data.data, call.data.bytes());
    case CallKind::reduce_scatter:
      return span_of(call.output.data, call.output.bytes());
    case CallKind::reduce_scatter_v: {
      const std::int64_t size = size_of(call.data.dtype);
      const std::int64_t begin = total_of(call.counts.first(rank)) * size;
      return span_of(static_cast<std::byte*>(call.data.data) + begin, call.counts[rank] * size);
    }
    case CallKind::all_gather:
      return span_of(call.receive, call.bytes * world_size);
    case CallKind::all_gather_v:
      return span_of(call.receive, total_of(call.counts));
    case CallKind::all_to_all:
      return span_of(call.receive, call.counts[rank] * world_size);
    case CallKind::exchange:
      return span_of(call.receive, total_of(call.receive_bytes));
    case CallKind::broadcast:
      return span_of(call.receive, static_cast<std::size_t>(call.root) == rank ? 0 : call.bytes);
    case CallKind::recv:
      return span_of(call.receive, call.bytes);
    default:
      return {};
  }
}

bool works_in_place(CallKind kind) { return kind == CallKind::all_reduce || kind == CallKind::reduce_scatter_v; }

}  // namespace

DataPlane::DataPlane(Communicator& comm, const Context& context, const Site& site)
    : comm_(comm),
      site_(site),
      staging_(context.allocator()),
      seen_(site.backend().memory()),
      device_(comm.device_channel(site, context.device_of(site.backend()))) {
  if (device_ == nullptr) return;
  watch_.emplace([engine = &device_->engine()] { engine->check(); },
                 [&connection = comm.connection()] { connection.break_with_current(); });
}

void DataPlane::run(const Call& call, const Deadline& deadline) {
  if (site_.is_host()) {
    comm_.run(call, deadline);
  } else if (is_queued()) {
    run_queued(call, deadline);
  } else {
    run_staged(call, deadline);
  }
}

void DataPlane::run_queued(const Call& call, const Deadline& deadline) {
  site_.queue().check_not_capturing("ranks exchange something");
  // The one before is looked after meanwhile: where it never ends, a full stream may block this one.
  comm_.perform(&device_->engine(), call, deadline, [&] {
    device_->run(call, deadline);
    watch_->expect(site_.queue().record(), deadline);
  });
}

const std::byte* DataPlane::run_staged(Call call, const Deadline& deadline) {
  const Span in = read_by(call, rank());
  const Span out = written_by(call, rank(), comm_.world_size());
  const bool in_place = works_in_place(call.kind);
  std::byte* staged_in = staging_.reserve(in.bytes + (in_place ? 0 : out.bytes));
  std::byte* staged_out = in_place ? staged_in + (out.data - in.data) : staged_in + in.bytes;
  call.data.data = staged_in;
  call.output.data = staged_out;
  call.send = staged_in;
  call.receive = staged_out;
  if (call.kind == CallKind::broadcast) call.receive = staged_in;  // the root's, too
  if (in.bytes > 0) site_.queue().download(staged_in, in.data, static_cast<std::size_t>(in.bytes));
  comm_.run(call, deadline);
  if (out.bytes > 0) site_.queue().upload(out.data, staged_out, static_cast<std::size_t>(out.bytes));
  return staged_out;
}

DataPlane::Seen DataPlane::all_gather_seen(const void* send, void* receive, std::int64_t bytes, std::int64_t seen,
                                           const Deadline& deadline) {
  const Call call = Call::all_gather(send, receive, bytes);
  if (site_.is_host()) {
    comm_.run(call, deadline);
    return {static_cast<const std::byte*>(receive), bytes};
  }
  if (!is_queued()) return {run_staged(call, deadline), bytes};
  run_queued(call, deadline);
  const std::int32_t ranks = comm_.world_size();
  std::byte* together = seen_.reserve(seen * ranks);
  for (std::int32_t r = 0; r < ranks; ++r) {
    site_.queue().copy(together + r * seen, static_cast<const std::byte*>(receive) + r * bytes,
                       static_cast<std::size_t>(seen));
  }
  settle(deadline);
  std::byte* host = staging_.reserve(seen * ranks);
  site_.queue().download(host, together, static_cast<std::size_t>(seen * ranks));
  return {host, seen};
}

// Whatever ends here in an error is a failure of the communicator, which aborts the engine: kernels that wait for peers
// then end, and with them whatever the host waits for.
void DataPlane::settle(const Deadline& deadline) {
  if (!watch_) return;  // nothing is queued
  site_.queue().check_not_capturing("the host waits for an exchange");
  watch_->forget();
  comm_.perform(&device_->engine(), Call{}, deadline, [&] { wait_for_queue(deadline); });
}

void DataPlane::wait_for_queue(const Deadline& deadline) {
  const Engine& engine = device_->engine();
  Connection& connection = comm_.connection();
  const Event end = site_.queue().record();
  auto pause = kFirstPause;
  auto polled = Deadline::Clock::now();
  while (!end.is_reached()) {
    engine.check();
    connection.throw_if_broken();
    if (deadline.passed()) {
      fail(GRADSTEP_ERR_TIMEOUT, "{}: what was queued on the device was not done until the deadline", engine.name());
    }
    if (!on_own_thread && Deadline::Clock::now() - polled >= kInterruptPoll) {
      connection.poll_interrupt();
      polled = Deadline::Clock::now();
    }
    std::this_thread::sleep_for(pause);
    pause = std::min(2 * pause, kLongestPause);
  }
  engine.check();  // what was aborted is done, too
  connection.throw_if_broken();
}

}  // namespace gradstep
