// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "core/file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <system_error>

#include "core/error.h"

namespace gradstep {

namespace {

/// One system call moves at most this much.
constexpr std::size_t kMost = std::size_t{1} << 30;

std::string reason() { return std::error_code(errno, std::generic_category()).message(); }

std::string folder_of(const std::string& path) {
  const auto slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

std::string temporary_for(const std::string& path) {
  static std::atomic<unsigned> count{0};  // two threads may save to one path
  return fmt::format("{}.tmp.{}.{}", path, getpid(), count++);
}

}  // namespace

AtomicFile::AtomicFile(std::string path) : path_(std::move(path)), temporary_(temporary_for(path_)) {
  descriptor_ = open(temporary_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (descriptor_ < 0) fail_io("cannot be created", temporary_);
}

AtomicFile::~AtomicFile() {
  if (descriptor_ < 0) return;
  close(descriptor_);
  unlink(temporary_.c_str());
}

void AtomicFile::fail_io(const char* what, const std::string& path) const {
  fail(GRADSTEP_ERR_IO, "path: '{}' {}: {}", path, what, reason());
}

void AtomicFile::write(const void* data, std::size_t size) {
  const auto* bytes = static_cast<const char*>(data);
  while (size > 0) {
    const ssize_t written = ::write(descriptor_, bytes, std::min(size, kMost));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) fail_io("cannot be written", temporary_);
    bytes += written;
    size -= static_cast<std::size_t>(written);
  }
}

void AtomicFile::commit() {
  if (fsync(descriptor_) != 0) fail_io("cannot be flushed to the disk", temporary_);
  if (rename(temporary_.c_str(), path_.c_str()) != 0) fail_io("cannot be replaced", path_);
  close(descriptor_);
  descriptor_ = -1;
  // The new name is safe once its folder is. A file system that cannot flush folders keeps the order of renames itself.
  const int folder = open(folder_of(path_).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return;
  fsync(folder);
  close(folder);
}

FileSource::FileSource(std::string path) : path_(std::move(path)) {
  descriptor_ = open(path_.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor_ < 0) fail(GRADSTEP_ERR_IO, "path: '{}' cannot be opened: {}", path_, reason());
}

FileSource::~FileSource() { close(descriptor_); }

std::size_t FileSource::read(void* data, std::size_t size) {
  for (;;) {
    const ssize_t got = ::read(descriptor_, data, std::min(size, kMost));
    if (got >= 0) return static_cast<std::size_t>(got);
    if (errno != EINTR) fail(GRADSTEP_ERR_IO, "path: '{}' cannot be read: {}", path_, reason());
  }
}

}  // namespace gradstep
