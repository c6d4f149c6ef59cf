// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// A message is its length, then its bytes, in the ring of its sender and receiver; long ones go in chunks, so that the
// copy in and the copy out overlap. A rank that finds nothing to do spins for a moment, then says that it sleeps, looks
// once more, and waits on its bell; whoever changes a ring looks after that whether the other side sleeps. Both put a
// full fence between their write and their look, so one of the two sees the other's.
#include "comm/shared_group.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <ctime>
#include <thread>

#include "core/error.h"
#include "core/fork_generation.h"

namespace gradstep {

namespace {

// A ring serves both sides best when neither has to wait for the other's whole copy.
constexpr std::int64_t kChunkBytes = std::int64_t{1} << 16;
constexpr std::int64_t kLengthBytes = sizeof(std::int64_t);

// A few microseconds, about what falling asleep and being woken costs; none if ranks must share processors.
constexpr int kSpins = 400;

// How long a sleeper goes without looking whether the ranks that it waits for still live.
constexpr std::chrono::milliseconds kLifePoll{20};

void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

void futex_wait(std::atomic<std::uint32_t>& word, std::uint32_t value, std::chrono::milliseconds at_most) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(at_most);
  const std::chrono::nanoseconds rest = at_most - seconds;
  const timespec timeout{static_cast<time_t>(seconds.count()), static_cast<long>(rest.count())};
  ::syscall(SYS_futex, &word, FUTEX_WAIT, value, &timeout, nullptr, 0);
}

void ring_bell(Seat& seat) {
  seat.bell.fetch_add(1, std::memory_order_seq_cst);
  ::syscall(SYS_futex, &seat.bell, FUTEX_WAKE, 1, nullptr, nullptr, 0);
}

/// To be called after a change that the rank of `seat` may wait for.
void wake_if_sleeping(Seat& seat) {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (seat.sleeping.load(std::memory_order_relaxed) != 0) ring_bell(seat);
}

struct Ring {
  std::byte* data;
  std::uint64_t size;  // a power of two

  /// Calls copy(piece, offset, bytes) for the one or two pieces of the ring behind [position, position + bytes).
  template <class Copy>
  void for_pieces(std::uint64_t position, std::int64_t bytes, Copy&& copy) const {
    const std::uint64_t begin = position & (size - 1);
    const auto first = std::min(bytes, static_cast<std::int64_t>(size - begin));
    copy(data + begin, 0, first);
    if (first < bytes) copy(data, first, bytes - first);
  }
  void put(std::uint64_t position, const void* source, std::int64_t bytes) const {
    for_pieces(position, bytes, [&](std::byte* piece, std::int64_t offset, std::int64_t length) {
      std::memcpy(piece, static_cast<const std::byte*>(source) + offset, static_cast<std::size_t>(length));
    });
  }
  void get(std::uint64_t position, void* destination, std::int64_t bytes) const {
    for_pieces(position, bytes, [&](const std::byte* piece, std::int64_t offset, std::int64_t length) {
      std::memcpy(static_cast<std::byte*>(destination) + offset, piece, static_cast<std::size_t>(length));
    });
  }
};

}  // namespace

SharedGroup::SharedGroup(SharedSegment segment, std::int32_t rank, std::int32_t world_size,
                         std::shared_ptr<const PeerProcesses> processes)
    : segment_(std::move(segment)),
      rank_(rank),
      world_size_(world_size),
      processes_(std::move(processes)),
      spins_(static_cast<std::int32_t>(std::thread::hardware_concurrency()) >= world_size ? kSpins : 0),
      fork_generation_(fork_generation()),
      outgoing_(static_cast<std::size_t>(world_size)),
      incoming_(static_cast<std::size_t>(world_size)) {}

SharedGroup::~SharedGroup() {
  // A forked child does not sit on its parent's seat.
  if (fork_generation_ == fork_generation()) leave_as(Seat::left);
}

// The first reason to leave is the one that the peers shall see.
void SharedGroup::leave_as(Seat::State state) noexcept {
  std::uint32_t sitting = Seat::present;
  if (!seat(rank_).state.compare_exchange_strong(sitting, state)) return;
  for (std::int32_t r = 0; r < world_size_; ++r) ring_bell(seat(r));
}

void SharedGroup::abort() noexcept { leave_as(Seat::aborted); }

void SharedGroup::take_seat(FunctionRef<void()> poll, const Deadline& deadline) {
  const auto missing = [&](std::int32_t r) { return seat(r).state.load(std::memory_order_acquire) == Seat::absent; };
  seat(rank_).state.store(Seat::present);
  for (std::int32_t r = 0; r < world_size_; ++r) wake_if_sleeping(seat(r));
  std::int32_t seated = 0;
  wait(
      [&] {
        while (seated < world_size_ && !missing(seated)) ++seated;
        return seated == world_size_ ? Progress::done : Progress::none;
      },
      missing, poll, deadline);
  segment_.close();
}

void SharedGroup::start_sending(std::int32_t to, const void* data, std::int64_t bytes) {
  if (bytes == 0) return;
  // The ring would take the message; but nobody would ever take it out.
  if (seat(to).state.load(std::memory_order_acquire) != Seat::present) fail_for(to);
  outgoing_[static_cast<std::size_t>(to)] = {const_cast<std::byte*>(static_cast<const std::byte*>(data)), bytes, bytes,
                                             false};
}

void SharedGroup::start_receiving(std::int32_t from, void* data, std::int64_t bytes) {
  if (bytes == 0) return;
  incoming_[static_cast<std::size_t>(from)] = {static_cast<std::byte*>(data), bytes, bytes, false};
}

bool SharedGroup::push(std::int32_t to) {
  Transfer& message = outgoing_[static_cast<std::size_t>(to)];
  const Ring ring{segment_.ring(rank_, to), segment_.ring_bytes()};
  RingIndices& indices = segment_.indices(rank_, to);
  std::uint64_t written = indices.written.load(std::memory_order_relaxed);
  auto room = static_cast<std::int64_t>(ring.size - (written - indices.taken.load(std::memory_order_acquire)));
  if (!message.announced) {
    if (room < kLengthBytes) return false;
    ring.put(written, &message.bytes, kLengthBytes);
    written += kLengthBytes;
    room -= kLengthBytes;
    message.announced = true;
  } else if (room == 0) {
    return false;
  }
  const std::int64_t bytes = std::min({room, message.left, kChunkBytes});
  ring.put(written, message.data, bytes);
  indices.written.store(written + static_cast<std::uint64_t>(bytes), std::memory_order_release);
  wake_if_sleeping(seat(to));
  message.data += bytes;
  message.left -= bytes;
  if (message.left == 0) message = {};
  return true;
}

bool SharedGroup::pull(std::int32_t from) {
  Transfer& message = incoming_[static_cast<std::size_t>(from)];
  const Ring ring{segment_.ring(from, rank_), segment_.ring_bytes()};
  RingIndices& indices = segment_.indices(from, rank_);
  std::uint64_t taken = indices.taken.load(std::memory_order_relaxed);
  auto there = static_cast<std::int64_t>(indices.written.load(std::memory_order_acquire) - taken);
  if (!message.announced) {
    if (there < kLengthBytes) return false;
    std::int64_t announced = 0;
    ring.get(taken, &announced, kLengthBytes);
    if (announced != message.bytes) {
      leave_as(Seat::disagreed);
      fail(GRADSTEP_ERR_MISMATCH, "rank {} sends {} bytes, rank {} expects {}", from, announced, rank_, message.bytes);
    }
    taken += kLengthBytes;
    there -= kLengthBytes;
    message.announced = true;
  } else if (there == 0) {
    return false;
  }
  const std::int64_t bytes = std::min({there, message.left, kChunkBytes});
  ring.get(taken, message.data, bytes);
  indices.taken.store(taken + static_cast<std::uint64_t>(bytes), std::memory_order_release);
  wake_if_sleeping(seat(from));
  message.data += bytes;
  message.left -= bytes;
  if (message.left == 0) message = {};
  return true;
}

// Everyone begins with the next rank, so that no two senders crowd one receiver.
SharedGroup::Progress SharedGroup::move_all() {
  bool moved = false;
  bool pending = false;
  for (std::int32_t step = 1; step < world_size_; ++step) {
    const std::int32_t to = (rank_ + step) % world_size_;
    const std::int32_t from = (rank_ - step + world_size_) % world_size_;
    const Transfer& sent = outgoing_[static_cast<std::size_t>(to)];
    const Transfer& received = incoming_[static_cast<std::size_t>(from)];
    if (sent.under_way()) moved = push(to) || moved;
    if (received.under_way()) moved = pull(from) || moved;
    pending = pending || sent.under_way() || received.under_way();
  }
  if (!pending) return Progress::done;
  return moved ? Progress::some : Progress::none;
}

void SharedGroup::finish_transfers(const Deadline& deadline) {
  wait([&] { return move_all(); },
       [&](std::int32_t r) {
         const auto place = static_cast<std::size_t>(r);
         return outgoing_[place].under_way() || incoming_[place].under_way();
       },
       [] {}, deadline);
}

SharedGroup::Progress SharedGroup::spin(FunctionRef<Progress()> step) const {
  for (int spins = spins_;; --spins) {
    const Progress progress = step();
    if (progress != Progress::none || spins <= 0) return progress;
    relax();
  }
}

void SharedGroup::wait(FunctionRef<Progress()> step, FunctionRef<bool(std::int32_t)> needs, FunctionRef<void()> poll,
                       const Deadline& deadline) {
  Seat& own = seat(rank_);
  for (;;) {
    if (is_aborted()) fail(GRADSTEP_ERR_ABORTED, "this rank aborted");
    Progress progress = spin(step);
    if (progress != Progress::done && deadline.passed()) fail_late(needs);
    if (progress == Progress::none) {
      const std::uint32_t heard = own.bell.load(std::memory_order_acquire);
      own.sleeping.store(1, std::memory_order_relaxed);
      std::atomic_thread_fence(std::memory_order_seq_cst);
      // What a rank did before it was lost counts, so look for lost ones first and at their work after that.
      const std::int32_t lost = lost_rank(needs);
      progress = step();
      if (progress == Progress::none && lost < 0 && !is_aborted()) {
        futex_wait(own.bell, heard, std::min(kLifePoll, std::chrono::milliseconds(deadline.remaining_ms())));
      }
      own.sleeping.store(0, std::memory_order_relaxed);
      if (progress == Progress::none) {
        if (is_aborted()) fail(GRADSTEP_ERR_ABORTED, "this rank aborted");
        if (lost >= 0) fail_for(lost);
        if (own.bell.load(std::memory_order_acquire) == heard) {
          look_for_dead(needs);
          poll();
        }
      }
    }
    if (progress == Progress::done) return;
  }
}

std::int32_t SharedGroup::lost_rank(FunctionRef<bool(std::int32_t)> needs) const {
  for (std::int32_t r = 0; r < world_size_; ++r) {
    if (r != rank_ && needs(r) && seat(r).state.load(std::memory_order_acquire) > Seat::present) return r;
  }
  return -1;
}

void SharedGroup::look_for_dead(FunctionRef<bool(std::int32_t)> needs) {
  for (std::int32_t r = 0; r < world_size_; ++r) {
    if (r == rank_ || !needs(r) || !processes_->ended(r)) continue;
    std::uint32_t last = seat(r).state.load(std::memory_order_acquire);
    if (last <= Seat::present) seat(r).state.compare_exchange_strong(last, Seat::dead);
  }
}

void SharedGroup::fail_late(FunctionRef<bool(std::int32_t)> needs) const {
  std::int32_t late = 0;
  while (late + 1 < world_size_ && !needs(late)) ++late;
  fail(GRADSTEP_ERR_TIMEOUT, "rank {} did not come until the deadline: it is slow or stopped", late);
}

void SharedGroup::fail_for(std::int32_t lost) const {
  switch (seat(lost).state.load(std::memory_order_acquire)) {
    case Seat::left:
      fail(GRADSTEP_ERR_PEER_LOST, "rank {} has left", lost);
    case Seat::aborted:
      fail(GRADSTEP_ERR_PEER_LOST, "rank {} aborted", lost);
    case Seat::disagreed:
      fail(GRADSTEP_ERR_MISMATCH, "rank {} expects other bytes than it was sent", lost);
    default:
      fail(GRADSTEP_ERR_PEER_LOST, "the process of rank {} has ended", lost);
  }
}

void SharedGroup::exchange(const void* const* send, const std::int64_t* send_bytes, void* const* receive,
                           const std::int64_t* receive_bytes, const Deadline& deadline) {
  for (std::int32_t peer = 0; peer < world_size_; ++peer) {
    if (peer == rank_) continue;
    start_sending(peer, send[peer], send_bytes[peer]);
    start_receiving(peer, receive[peer], receive_bytes[peer]);
  }
  finish_transfers(deadline);
}

void SharedGroup::send(const void* data, std::int64_t bytes, std::int32_t to, const Deadline& deadline) {
  start_sending(to, data, bytes);
  finish_transfers(deadline);
}

void SharedGroup::recv(void* data, std::int64_t bytes, std::int32_t from, const Deadline& deadline) {
  start_receiving(from, data, bytes);
  finish_transfers(deadline);
}

void SharedGroup::send_recv(const void* send, std::int64_t send_bytes, std::int32_t to, void* receive,
                            std::int64_t receive_bytes, std::int32_t from, const Deadline& deadline) {
  start_sending(to, send, send_bytes);
  start_receiving(from, receive, receive_bytes);
  finish_transfers(deadline);
}

// Rank 0 makes the segment and says over this group where it is.
std::unique_ptr<SharedGroup> SharedGroup::dup(const Deadline& deadline) {
  SegmentAddress address{};
  if (rank_ != 0) recv(&address, sizeof address, 0, deadline);
  SharedSegment segment = rank_ == 0 ? SharedSegment::create(world_size_) : SharedSegment::open(address, world_size_);
  if (rank_ == 0) {
    address = segment.address();
    for (std::int32_t peer = 1; peer < world_size_; ++peer) start_sending(peer, &address, sizeof address);
    finish_transfers(deadline);
  }
  auto group = std::make_unique<SharedGroup>(std::move(segment), rank_, world_size_, processes_);
  // A rank that cannot come says so here, not there.
  const auto missing = [&](std::int32_t r) { return group->seat(r).state.load() == Seat::absent; };
  group->take_seat(
      [&] {
        if (is_aborted()) fail(GRADSTEP_ERR_ABORTED, "this rank aborted");
        const std::int32_t lost = lost_rank(missing);
        if (lost >= 0 && missing(lost)) fail_for(lost);
      },
      deadline);
  return group;
}

}  // namespace gradstep
