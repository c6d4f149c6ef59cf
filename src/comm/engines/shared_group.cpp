// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// A message is announced, and follows, in the ring of its sender and receiver; it goes in chunks, so that the copy in
// and the copy out overlap. A long one is only announced where the system lets the receiver read the sender's memory:
// the receiver fetches it, with one copy instead of two. A rank that finds nothing to do spins for a moment, then says
// that it sleeps, looks once more, and waits on its bell. A rank that has changed a ring checks whether the other side
// sleeps. All these writes and looks are sequentially consistent, so one of the two sees the other's.
#include "comm/engines/shared_group.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <numeric>
#include <thread>

#include "core/error.h"
#include "core/fork_generation.h"

namespace gradstep {

namespace {

// A ring serves both sides best when neither has to wait for the other's whole copy.
constexpr std::int64_t kChunkBytes = std::int64_t{1} << 16;

// From here on one copy, with the calls into the system that it takes, is cheaper than two through the ring.
constexpr std::int64_t kFetchedBytes = std::int64_t{1} << 17;
// What is fetched at once; other messages go on in between.
constexpr std::int64_t kFetchedChunkBytes = std::int64_t{1} << 20;

/// What goes before a message.
struct Announcement {
  std::int64_t bytes;
  std::uint64_t address;  // where it lies in the sender's memory; 0 = it follows in the ring
  std::uint64_t call;     // that it belongs to, and
  std::uint64_t note;     // what else is to be equal: see Said
};

// A few microseconds, about what falling asleep and being woken costs; none where ranks must share processors. Then
// others are let run a few times, which costs less than to sleep and be woken while they have something to do. On a
// busy machine each time may last as long as all that others have to do, which deadlines must not depend on.
constexpr int kSpins = 400;
constexpr int kYields = 50;
constexpr std::int64_t kLongestYieldsMs = 1;

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
  seat.bell.fetch_add(1);
  ::syscall(SYS_futex, &seat.bell, FUTEX_WAKE, 1, nullptr, nullptr, 0);
}

/// To be called after a change that the rank of `seat` may wait for.
void wake_if_sleeping(Seat& seat) {
  if (seat.sleeping.load() != 0) ring_bell(seat);
}

struct Ring {
  std::byte* data;
  std::uint64_t size;  // a power of two

  std::int64_t half() const { return static_cast<std::int64_t>(size / 2); }

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
      crowded_(static_cast<std::int32_t>(std::thread::hardware_concurrency()) < world_size),
      fork_generation_(fork_generation()),
      outgoing_(static_cast<std::size_t>(world_size)),
      incoming_(static_cast<std::size_t>(world_size)),
      offered_(static_cast<std::size_t>(world_size)) {}

SharedGroup::~SharedGroup() {
  // A forked child does not sit on its parent's seat.
  if (fork_generation_ == fork_generation()) leave_as(Seat::left);
}

// The first reason to leave is the one that the peers shall see, also where it was another rank's: calls that differ.
void SharedGroup::leave_as(Seat::State state) noexcept {
  for (std::int32_t r = 0; r < world_size_ && state == Seat::aborted; ++r) {
    if (seat(r).state.load() == Seat::disagreed) state = Seat::disagreed;
  }
  std::uint32_t sitting = Seat::present;
  if (!seat(rank_).state.compare_exchange_strong(sitting, state)) return;
  for (std::int32_t r = 0; r < world_size_; ++r) ring_bell(seat(r));
}

void SharedGroup::abort() noexcept { leave_as(Seat::aborted); }

void SharedGroup::take_seat(FunctionRef<void()> poll, const Deadline& deadline) {
  const auto missing = [&](std::int32_t r) { return seat(r).state.load() == Seat::absent; };
  seat(rank_).landmark.store(reinterpret_cast<std::uint64_t>(&rank_));
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
  offer_to_fetch();
}

// Tries it on the number that every rank keeps. Containers may forbid it; messages then go through the rings.
void SharedGroup::offer_to_fetch() {
  for (std::int32_t r = 0; r < world_size_; ++r) {
    std::int32_t found = -1;
    if (r == rank_ || !processes_->read(r, seat(r).landmark.load(), &found, sizeof found) || found != r) continue;
    segment_.indices(r, rank_).fetches.store(1);
  }
}

void SharedGroup::start_sending(std::int32_t to, const void* data, std::int64_t bytes) {
  if (bytes == 0) return;
  // The ring would take the message; but no rank would ever take it out.
  if (seat(to).state.load() != Seat::present) fail_for(to);
  Transfer message;
  message.data = const_cast<std::byte*>(static_cast<const std::byte*>(data));
  message.left = message.bytes = bytes;
  outgoing_[static_cast<std::size_t>(to)] = message;
}

void SharedGroup::start_receiving(std::int32_t from, void* data, std::int64_t bytes) {
  if (bytes == 0) return;
  Transfer message;
  message.data = static_cast<std::byte*>(data);
  message.left = message.bytes = bytes;
  incoming_[static_cast<std::size_t>(from)] = message;
}

bool SharedGroup::push(std::int32_t to) {
  Transfer& message = outgoing_[static_cast<std::size_t>(to)];
  RingIndices& indices = segment_.indices(rank_, to);
  if (!message.announced) return announce(message, to);
  if (message.ticket != 0) {
    if (indices.fetched.load() < message.ticket) return false;
    message = {};
    return true;
  }
  const Ring ring{segment_.ring(rank_, to), segment_.ring_bytes()};
  const std::uint64_t written = indices.written.load();
  const auto room = static_cast<std::int64_t>(ring.size - (written - indices.taken.load()));
  if (room == 0) return false;
  const std::int64_t bytes = std::min({room, message.left, kChunkBytes});
  ring.put(written, message.data, bytes);
  indices.written.store(written + static_cast<std::uint64_t>(bytes));
  message.data += bytes;
  message.left -= bytes;
  // A taker that is woken for little falls asleep again soon: it shall find all there is, or half a ring.
  if (message.left == 0 || room - bytes <= ring.half()) wake_if_sleeping(seat(to));
  if (message.left == 0) message = {};
  return true;
}

bool SharedGroup::announce(Transfer& message, std::int32_t to) {
  const Ring ring{segment_.ring(rank_, to), segment_.ring_bytes()};
  RingIndices& indices = segment_.indices(rank_, to);
  const std::uint64_t written = indices.written.load();
  if (ring.size - (written - indices.taken.load()) < sizeof(Announcement)) return false;
  Announcement announcement{message.bytes, 0, said_->call, said_->note};
  if (message.bytes >= kFetchedBytes && indices.fetches.load() != 0) {
    announcement.address = reinterpret_cast<std::uint64_t>(message.data);
    message.ticket = ++offered_[static_cast<std::size_t>(to)];
  }
  ring.put(written, &announcement, sizeof announcement);
  indices.written.store(written + sizeof announcement);
  message.announced = true;
  if (message.ticket != 0) wake_if_sleeping(seat(to));
  return true;
}

bool SharedGroup::pull(std::int32_t from) {
  Transfer& message = incoming_[static_cast<std::size_t>(from)];
  if (!message.announced) return hear_of(message, from);
  if (message.source != 0) {
    fetch(message, from);
    return true;
  }
  const Ring ring{segment_.ring(from, rank_), segment_.ring_bytes()};
  RingIndices& indices = segment_.indices(from, rank_);
  const std::uint64_t taken = indices.taken.load();
  const auto there = static_cast<std::int64_t>(indices.written.load() - taken);
  if (there == 0) return false;
  const std::int64_t bytes = std::min({there, message.left, kChunkBytes});
  ring.get(taken, message.data, bytes);
  indices.taken.store(taken + static_cast<std::uint64_t>(bytes));
  if (there - bytes <= ring.half()) wake_if_sleeping(seat(from));
  message.data += bytes;
  message.left -= bytes;
  if (message.left == 0) message = {};
  return true;
}

bool SharedGroup::hear_of(Transfer& message, std::int32_t from) {
  const Ring ring{segment_.ring(from, rank_), segment_.ring_bytes()};
  RingIndices& indices = segment_.indices(from, rank_);
  const std::uint64_t taken = indices.taken.load();
  if (indices.written.load() - taken < sizeof(Announcement)) return false;
  Announcement announcement{};
  ring.get(taken, &announcement, sizeof announcement);
  indices.taken.store(taken + sizeof announcement);
  if (announcement.call != said_->call) {
    leave_as(Seat::disagreed);
    fail(GRADSTEP_ERR_MISMATCH, "{}", text_of_difference(from, announcement.call, rank_, said_->call));
  }
  if (announcement.bytes != message.bytes) {
    leave_as(Seat::disagreed);
    fail(GRADSTEP_ERR_MISMATCH, "rank {} sends {} bytes, rank {} expects {}", from, announcement.bytes, rank_,
         message.bytes);
  }
  said_->hear(announcement.note);
  message.source = announcement.address;
  message.announced = true;
  return true;
}

// A sender that gives up leaves its seat before its buffer has another owner. So what was read is the message if the
// sender still sits there after the last byte.
void SharedGroup::fetch(Transfer& message, std::int32_t from) {
  const std::int64_t bytes = std::min(message.left, kFetchedChunkBytes);
  const bool read = processes_->read(from, message.source, message.data, bytes);
  const int error = errno;
  if (seat(from).state.load() != Seat::present) fail_for(from);
  if (!read) {
    // A process that is being killed loses its memory a moment before its end can be seen.
    const gradstep_status status = error == EPERM ? GRADSTEP_ERR_IO : GRADSTEP_ERR_PEER_LOST;
    fail(status, "the memory of rank {} cannot be read: {}", from, std::strerror(error));
  }
  message.source += static_cast<std::uint64_t>(bytes);
  message.data += bytes;
  message.left -= bytes;
  if (message.left > 0) return;
  message = {};
  segment_.indices(from, rank_).fetched.fetch_add(1);
  wake_if_sleeping(seat(from));
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
  const auto under_way = [&](std::int32_t r) {
    const auto place = static_cast<std::size_t>(r);
    return outgoing_[place].under_way() || incoming_[place].under_way();
  };
  try {
    wait([&] { return move_all(); }, under_way, [] {}, deadline);
  } catch (...) {
    leave_as(Seat::aborted);  // what peers read of this rank's buffers from now on counts no more
    throw;
  }
}

SharedGroup::Progress SharedGroup::spin(FunctionRef<Progress()> step) const {
  const int spins = crowded_ ? 0 : kSpins;
  for (int turn = 0; turn < spins; ++turn) {
    if (const Progress progress = step(); progress != Progress::none) return progress;
    relax();
  }
  const Deadline enough = Deadline::after_ms(kLongestYieldsMs);
  for (int turn = 0;; ++turn) {
    const Progress progress = step();
    if (progress != Progress::none || turn == kYields || enough.passed()) return progress;
    std::this_thread::yield();
  }
}

void SharedGroup::wait(FunctionRef<Progress()> step, FunctionRef<bool(std::int32_t)> needs, FunctionRef<void()> poll,
                       const Deadline& deadline) {
  for (;;) {
    if (is_aborted()) fail(GRADSTEP_ERR_ABORTED, "this rank aborted");
    Progress progress = spin(step);
    if (progress == Progress::none) progress = sleep(step, needs, poll, deadline);
    if (progress == Progress::done) return;
    if (deadline.passed()) fail_late(needs);
  }
}

SharedGroup::Progress SharedGroup::sleep(FunctionRef<Progress()> step, FunctionRef<bool(std::int32_t)> needs,
                                         FunctionRef<void()> poll, const Deadline& deadline) {
  Seat& own = seat(rank_);
  const std::uint32_t heard = own.bell.load();
  own.sleeping.store(1);
  // What a rank did before it was lost counts, so look for lost ones first and at their work after that.
  const std::int32_t lost = lost_rank(needs);
  const Progress progress = step();
  if (progress == Progress::none && lost < 0 && !is_aborted()) {
    futex_wait(own.bell, heard, std::min(kLifePoll, std::chrono::milliseconds(deadline.remaining_ms())));
  }
  own.sleeping.store(0);
  if (progress != Progress::none) return progress;
  if (is_aborted()) fail(GRADSTEP_ERR_ABORTED, "this rank aborted");
  if (lost >= 0) fail_for(lost);
  if (own.bell.load() == heard) {
    look_for_dead(needs);
    poll();
  }
  return Progress::none;
}

std::int32_t SharedGroup::lost_rank(FunctionRef<bool(std::int32_t)> needs) const {
  for (std::int32_t r = 0; r < world_size_; ++r) {
    if (r != rank_ && needs(r) && seat(r).state.load() > Seat::present) return r;
  }
  return -1;
}

void SharedGroup::look_for_dead(FunctionRef<bool(std::int32_t)> needs) {
  for (std::int32_t r = 0; r < world_size_; ++r) {
    if (r == rank_ || !needs(r) || !processes_->ended(r)) continue;
    std::uint32_t last = seat(r).state.load();
    if (last <= Seat::present) seat(r).state.compare_exchange_strong(last, Seat::dead);
  }
}

void SharedGroup::fail_late(FunctionRef<bool(std::int32_t)> needs) const {
  std::int32_t late = 0;
  while (late + 1 < world_size_ && !needs(late)) ++late;
  fail(GRADSTEP_ERR_TIMEOUT, "rank {} did not come until the deadline: it is slow or stopped", late);
}

void SharedGroup::fail_for(std::int32_t lost) const {
  switch (seat(lost).state.load()) {
    case Seat::left:
      fail(GRADSTEP_ERR_PEER_LOST, "rank {} has left", lost);
    case Seat::aborted:
      fail(GRADSTEP_ERR_PEER_LOST, "rank {} aborted", lost);
    case Seat::disagreed:
      fail(GRADSTEP_ERR_MISMATCH, "rank {} found that ranks make different calls, or with other bytes", lost);
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

std::unique_ptr<SharedGroup> SharedGroup::dup(const Deadline& deadline) {
  std::vector<std::int32_t> everyone(static_cast<std::size_t>(world_size_));
  std::iota(everyone.begin(), everyone.end(), 0);
  return split(everyone, deadline);
}

// The first member makes the segment and says over this group where it is.
std::unique_ptr<SharedGroup> SharedGroup::split(std::span<const std::int32_t> members, const Deadline& deadline) {
  const auto ranks = static_cast<std::int32_t>(members.size());
  const auto place = static_cast<std::int32_t>(std::find(members.begin(), members.end(), rank_) - members.begin());
  SegmentAddress address{};
  if (place != 0) recv(&address, sizeof address, members.front(), deadline);
  SharedSegment segment = place == 0 ? SharedSegment::create(ranks) : SharedSegment::open(address, ranks);
  if (place == 0) {
    address = segment.address();
    for (const std::int32_t peer : members.subspan(1)) start_sending(peer, &address, sizeof address);
    finish_transfers(deadline);
  }
  auto group = std::make_unique<SharedGroup>(std::move(segment), place, ranks,
                                             std::make_shared<const PeerProcesses>(*processes_, members));
  // A rank that cannot come says so here, not there.
  const auto missing = [&](std::int32_t r) {
    const auto found = std::find(members.begin(), members.end(), r);
    return found != members.end() &&
           group->seat(static_cast<std::int32_t>(found - members.begin())).state.load() == Seat::absent;
  };
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
