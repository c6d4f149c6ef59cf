// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Memory that ranks on one host share: a seat for each rank, and a ring of bytes for each ordered pair.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/file_descriptor.h"

namespace gradstep {

/// What a rank lets the others know about itself.
struct alignas(64) Seat {
  enum State : std::uint32_t { absent, present, left, aborted, disagreed, dead };

  std::atomic<std::uint32_t> state;
  std::atomic<std::uint32_t> bell;      // a futex: grows when something happens that the sleeping rank may wait for
  std::atomic<std::uint32_t> sleeping;  // 1: changes that this rank may wait for ring its bell
  std::atomic<std::uint64_t> landmark;  // where in the memory of its process the rank keeps its number
};

/// The indices of a ring: bytes written and taken since the beginning. One writer and one taker, each on a cache line
/// of its own.
struct RingIndices {
  alignas(64) std::atomic<std::uint64_t> written;
  alignas(64) std::atomic<std::uint64_t> taken;
  std::atomic<std::uint64_t> fetched;  // messages that the taker has read where they lay, without the ring
  std::atomic<std::uint32_t> fetches;  // 1: the taker can read the writer's memory
};

/// Where another process of this host finds a segment, as long as its maker keeps it open.
struct SegmentAddress {
  std::int32_t process;
  std::int32_t descriptor;
  std::array<std::uint64_t, 2> key;  // random: tells the segment from whatever the descriptor may mean by now
};

/// A mapped segment. It has no name in any file system, and goes away with the last process that has it.
class SharedSegment {
 public:
  /// Throws OUT_OF_MEMORY or IO.
  static SharedSegment create(std::int32_t world_size);
  /// Throws PEER_LOST if it is not there any more, IO if it cannot be opened.
  static SharedSegment open(const SegmentAddress& address, std::int32_t world_size);

  SharedSegment(SharedSegment&& other) noexcept;
  SharedSegment& operator=(SharedSegment&&) = delete;
  ~SharedSegment();

  /// The address of a segment that this process has made and not yet closed.
  SegmentAddress address() const;
  /// It cannot be opened from now on; processes that have it keep it.
  void close() { descriptor_ = FileDescriptor(); }

  Seat& seat(std::int32_t rank) const;
  RingIndices& indices(std::int32_t from, std::int32_t to) const;
  std::byte* ring(std::int32_t from, std::int32_t to) const;
  /// The size of a ring; a power of two.
  std::uint64_t ring_bytes() const { return ring_bytes_; }

 private:
  SharedSegment(FileDescriptor descriptor, std::int32_t world_size);
  std::int64_t pair(std::int32_t from, std::int32_t to) const { return std::int64_t{from} * world_size_ + to; }

  FileDescriptor descriptor_;
  std::int32_t world_size_;
  std::uint64_t ring_bytes_;
  std::byte* base_ = nullptr;
};

}  // namespace gradstep
