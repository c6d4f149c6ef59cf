// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// The memory is a memfd, which needs no name, no room in /dev/shm and no removal. Another rank opens it through its
// maker's /proc/<process>/fd, so that no socket is needed to pass it on.
#include "comm/engines/shared_segment.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>

#include "core/error.h"
#include "core/platform/posix/most_descriptors.h"
#include "core/random_bytes.h"

namespace gradstep {

namespace {

static_assert(std::atomic<std::uint32_t>::is_always_lock_free && std::atomic<std::uint64_t>::is_always_lock_free,
              "atomics must work between processes");

struct alignas(64) Header {
  std::array<std::uint64_t, 2> key;
};

// The rings of one sender together; each ring's copy in and copy out then meet in the processor's caches.
constexpr std::uint64_t kBytesPerSender = std::uint64_t{1} << 20;
constexpr std::uint64_t kSmallestRing = std::uint64_t{1} << 14;
constexpr std::uint64_t kLargestRing = std::uint64_t{1} << 19;

std::uint64_t ring_bytes_for(std::int32_t world_size) {
  const auto peers = static_cast<std::uint64_t>(std::max(1, world_size - 1));
  return std::clamp(std::bit_floor(kBytesPerSender / peers), kSmallestRing, kLargestRing);
}

struct Layout {
  std::size_t indices;
  std::size_t rings;
  std::size_t total;
};

Layout layout_of(std::int32_t world_size, std::uint64_t ring_bytes) {
  const auto ranks = static_cast<std::size_t>(world_size);
  Layout layout{};
  layout.indices = sizeof(Header) + ranks * sizeof(Seat);
  layout.rings = layout.indices + ranks * ranks * sizeof(RingIndices);
  layout.total = layout.rings + ranks * ranks * ring_bytes;
  return layout;
}

Header& header(std::byte* base) { return *reinterpret_cast<Header*>(base); }

}  // namespace

SharedSegment::SharedSegment(FileDescriptor descriptor, std::int32_t world_size)
    : descriptor_(std::move(descriptor)), world_size_(world_size), ring_bytes_(ring_bytes_for(world_size)) {
  const std::size_t total = layout_of(world_size_, ring_bytes_).total;
  void* base = ::mmap(nullptr, total, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor_.get(), 0);
  if (base == MAP_FAILED) {
    fail(GRADSTEP_ERR_OUT_OF_MEMORY, "{} bytes of shared memory cannot be mapped: {}", total, std::strerror(errno));
  }
  base_ = static_cast<std::byte*>(base);
}

// New pages are zeros, which is what every atomic starts from.
SharedSegment SharedSegment::create(std::int32_t world_size) {
  FileDescriptor memory(::memfd_create("gradstep", MFD_CLOEXEC));
  if (!memory.valid()) {
    fail(GRADSTEP_ERR_IO, "memfd_create: {} (the process may have {} descriptors)", std::strerror(errno),
         most_descriptors());
  }
  const std::size_t total = layout_of(world_size, ring_bytes_for(world_size)).total;
  if (::ftruncate(memory.get(), static_cast<off_t>(total)) != 0) {
    fail(GRADSTEP_ERR_OUT_OF_MEMORY, "{} bytes of shared memory: {}", total, std::strerror(errno));
  }
  SharedSegment segment(std::move(memory), world_size);
  auto& key = header(segment.base_).key;
  fill_random(key.data(), sizeof key);
  return segment;
}

SharedSegment SharedSegment::open(const SegmentAddress& address, std::int32_t world_size) {
  const std::string path = fmt::format("/proc/{}/fd/{}", address.process, address.descriptor);
  FileDescriptor memory(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  if (!memory.valid()) {
    const gradstep_status status = errno == ENOENT ? GRADSTEP_ERR_PEER_LOST : GRADSTEP_ERR_IO;
    fail(status, "the shared memory of process {} cannot be opened: {}: {} (this process may have {} descriptors)",
         address.process, path, std::strerror(errno), most_descriptors());
  }
  const off_t size = ::lseek(memory.get(), 0, SEEK_END);
  if (size != static_cast<off_t>(layout_of(world_size, ring_bytes_for(world_size)).total)) {
    fail(GRADSTEP_ERR_PEER_LOST, "{} is not the shared memory that process {} offered", path, address.process);
  }
  SharedSegment segment(std::move(memory), world_size);
  if (header(segment.base_).key != address.key) {
    fail(GRADSTEP_ERR_PEER_LOST, "{} is not the shared memory that process {} offered", path, address.process);
  }
  segment.close();
  return segment;
}

SharedSegment::SharedSegment(SharedSegment&& other) noexcept
    : descriptor_(std::move(other.descriptor_)),
      world_size_(other.world_size_),
      ring_bytes_(other.ring_bytes_),
      base_(std::exchange(other.base_, nullptr)) {}

SharedSegment::~SharedSegment() {
  if (base_ != nullptr) ::munmap(base_, layout_of(world_size_, ring_bytes_).total);
}

SegmentAddress SharedSegment::address() const { return {::getpid(), descriptor_.get(), header(base_).key}; }

Seat& SharedSegment::seat(std::int32_t rank) const { return reinterpret_cast<Seat*>(base_ + sizeof(Header))[rank]; }

RingIndices& SharedSegment::indices(std::int32_t from, std::int32_t to) const {
  const std::size_t begin = layout_of(world_size_, ring_bytes_).indices;
  return reinterpret_cast<RingIndices*>(base_ + begin)[pair(from, to)];
}

std::byte* SharedSegment::ring(std::int32_t from, std::int32_t to) const {
  return base_ + layout_of(world_size_, ring_bytes_).rings + static_cast<std::uint64_t>(pair(from, to)) * ring_bytes_;
}

}  // namespace gradstep
