// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// A pidfd tells of the end of that very process. A lock or a socket would not do: a child that the process has forked
// inherits those and keeps them alive.
#include "comm/engines/peer_processes.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <new>
#include <utility>

#include "core/error.h"
#include "core/hash.h"
#include "core/platform/posix/most_descriptors.h"

namespace gradstep {

namespace {

/// Throws where `error` is a shortage.
void fail_if_short(int error) {
  if (error == ENOMEM) throw std::bad_alloc();
  if (error != EMFILE && error != ENFILE) return;
  fail(GRADSTEP_ERR_IO, "the shm engine: {} (the process may have {} descriptors)", std::strerror(error),
       most_descriptors());
}

}  // namespace

std::uint64_t process_space() {
  std::array<char, 64> boot{};
  const FileDescriptor file(::open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC));
  const ssize_t length = file.valid() ? ::read(file.get(), boot.data(), boot.size()) : -1;
  struct stat space{};
  if (length <= 0 || ::stat("/proc/self/ns/pid", &space) != 0) {
    fail_if_short(errno);
    if (errno != ENOENT) fail(GRADSTEP_ERR_IO, "/proc: {}", std::strerror(errno));
    fail(GRADSTEP_ERR_UNSUPPORTED, "the shm engine needs Linux with /proc");
  }
  const std::uint64_t numbers = space.st_ino;
  return hash_bytes(&numbers, sizeof numbers, hash_bytes(boot.data(), static_cast<std::size_t>(length)));
}

PeerProcesses::PeerProcesses(std::span<const std::int32_t> processes, std::int32_t own_rank)
    : processes_(processes.begin(), processes.end()) {
  for (std::size_t rank = 0; rank < processes.size(); ++rank) {
    const bool own = static_cast<std::int32_t>(rank) == own_rank;
    FileDescriptor watched(own ? -1 : static_cast<int>(::syscall(SYS_pidfd_open, processes[rank], 0)));
    if (!own && !watched.valid()) {
      if (errno == ESRCH) fail(GRADSTEP_ERR_PEER_LOST, "rank {} (process {}) has ended", rank, processes[rank]);
      fail_if_short(errno);
      fail(GRADSTEP_ERR_UNSUPPORTED, "rank {} (process {}) cannot be watched: pidfd_open: {}", rank, processes[rank],
           std::strerror(errno));
    }
    watched_.push_back(std::make_shared<const FileDescriptor>(std::move(watched)));
  }
}

PeerProcesses::PeerProcesses(const PeerProcesses& wider, std::span<const std::int32_t> members) {
  for (const std::int32_t member : members) {
    processes_.push_back(wider.processes_[static_cast<std::size_t>(member)]);
    watched_.push_back(wider.watched_[static_cast<std::size_t>(member)]);
  }
}

bool PeerProcesses::ended(std::int32_t rank) const {
  const FileDescriptor& watched = *watched_[static_cast<std::size_t>(rank)];
  pollfd entry{watched.get(), POLLIN, 0};  // poll takes no notice of -1
  return ::poll(&entry, 1, 0) > 0;
}

bool PeerProcesses::read(std::int32_t rank, std::uint64_t address, void* destination, std::int64_t bytes) const {
  const pid_t process = processes_[static_cast<std::size_t>(rank)];
  auto* local = static_cast<std::byte*>(destination);
  while (bytes > 0) {
    const iovec into{local, static_cast<std::size_t>(bytes)};
    const iovec from{reinterpret_cast<void*>(address), static_cast<std::size_t>(bytes)};
    const ssize_t got = ::process_vm_readv(process, &into, 1, &from, 1, 0);
    if (got <= 0) return false;
    local += got;
    address += static_cast<std::uint64_t>(got);
    bytes -= got;
  }
  return true;
}

}  // namespace gradstep
