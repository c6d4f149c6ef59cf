// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "core/file.h"

#include <cstdint>
#include <utility>

#include "core/error.h"
#include "core/platform/file_system.h"
#include "core/random_bytes.h"

namespace gradstep {

namespace {

constexpr const char* kPath = "path";  // what hosts call the argument

[[noreturn]] void fail_irregular(const char* argument, const std::string& path, const char* found) {
  fail(GRADSTEP_ERR_IO, "{}: '{}' is {}, expected a regular file", argument, path, found);
}

std::string unguessable_name_for(const std::string& path) {
  std::uint64_t number = 0;
  fill_random(&number, sizeof number);
  return fmt::format("{}.tmp.{:016x}", path, number);
}

}  // namespace

FileDescriptor open_regular(const char* argument, const std::string& path, Links links) {
  const char* irregular = nullptr;
  FileDescriptor file = platform::open_to_read(path, links == Links::follow, irregular);
  if (irregular != nullptr) fail_irregular(argument, path, irregular);
  return file;
}

NewFile::NewFile(const char* argument, std::string path, std::uint32_t permissions)
    : argument_(argument),
      path_(std::move(path)),
      temporary_(unguessable_name_for(path_)),
      descriptor_(platform::make_file(temporary_, permissions)) {
  if (!descriptor_.valid()) fail_io("cannot be created", temporary_);
}

NewFile::~NewFile() {
  if (temporary_.empty()) return;
  descriptor_ = FileDescriptor();
  platform::remove(temporary_);
}

void NewFile::fail_io(const char* what, const std::string& path) const {
  fail(GRADSTEP_ERR_IO, "{}: '{}' {}: {}", argument_, path, what, platform::reason());
}

void NewFile::take_after(const platform::Found& old) { platform::take_after(descriptor_, old); }

void NewFile::write(const void* data, std::size_t size) {
  const auto* bytes = static_cast<const char*>(data);
  while (size > 0) {
    const auto written = platform::write_some(descriptor_, bytes, size);
    if (!written) fail_io("cannot be written", place());
    bytes += *written;
    size -= *written;
  }
}

void NewFile::flush() {
  if (!platform::flush(descriptor_)) fail_io("cannot be flushed to the disk", place());
}

void NewFile::replace() {
  appear();
  descriptor_ = FileDescriptor();
}

void NewFile::appear() {
  if (!platform::rename(temporary_, path_)) fail_io("cannot be replaced", path_);
  temporary_.clear();
}

/// Where a saved file goes, and what is there.
struct AtomicFile::Place {
  // What is wrong with the folder, its first file will tell.
  explicit Place(const std::string& given)
      : path(platform::followed(kPath, given)), old(platform::find(path, /*follow_link=*/true)) {
    if (old && old->irregular != nullptr) fail_irregular(kPath, path, old->irregular);
  }

  std::string path;
  std::optional<platform::Found> old;
};

AtomicFile::AtomicFile(const std::string& path) : AtomicFile(Place(path)) {}

// Until the old file's permissions are known to be there, the new one is its maker's alone.
AtomicFile::AtomicFile(const Place& place)
    : folder_(platform::folder_of(place.path)), file_(kPath, place.path, place.old ? 0600 : 0666) {
  if (place.old) file_.take_after(*place.old);
}

// Once the file is at its path, nothing fails any more.
void AtomicFile::commit() {
  file_.flush();
  file_.replace();
  platform::flush_folder(folder_);
}

FileSource::FileSource(std::string path)
    : path_(std::move(path)), descriptor_(open_regular(kPath, path_, Links::follow)) {
  if (!descriptor_.valid()) fail(GRADSTEP_ERR_IO, "{}: '{}' cannot be opened: {}", kPath, path_, platform::reason());
}

std::size_t FileSource::read(void* data, std::size_t size) {
  const auto got = platform::read_some(descriptor_, data, size);
  if (!got) fail(GRADSTEP_ERR_IO, "{}: '{}' cannot be read: {}", kPath, path_, platform::reason());
  return *got;
}

}  // namespace gradstep
