// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "core/file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <system_error>

#include "core/error.h"
#include "core/random_bytes.h"

namespace gradstep {

namespace {

/// One system call moves at most this much.
constexpr std::size_t kMost = std::size_t{1} << 30;

/// As many links in a row as Linux follows.
constexpr int kMostLinks = 40;

constexpr const char* kPath = "path";  // what hosts call the argument

std::string reason() { return std::error_code(errno, std::generic_category()).message(); }

std::string folder_of(const std::string& path) {
  const std::string folder = std::filesystem::path(path).parent_path();
  return folder.empty() ? "." : folder;
}

[[noreturn]] void fail_irregular(const char* argument, const std::string& path, mode_t mode) {
  const char* found = S_ISDIR(mode)    ? "a directory"
                      : S_ISFIFO(mode) ? "a FIFO"
                      : S_ISSOCK(mode) ? "a socket"
                      : S_ISLNK(mode)  ? "a symbolic link"
                                       : "a device";
  fail(GRADSTEP_ERR_IO, "{}: '{}' is {}, expected a regular file", argument, path, found);
}

std::string unguessable_name_for(const std::string& path) {
  std::uint64_t number = 0;
  fill_random(&number, sizeof number);
  return fmt::format("{}.tmp.{:016x}", path, number);
}

// A user who may write to a folder can put a link at a name that others are about to write to. In folders for all
// users, such as /tmp, Linux can be set (fs.protected_symlinks) to follow only the links of the process's own user and
// of the folder's owner. This is that rule, whatever Linux is set to.
void check_trusted(const std::string& link, uid_t owner) {
  struct stat folder{};
  if (stat(folder_of(link).c_str(), &folder) != 0) return;
  const bool for_everybody = (folder.st_mode & S_ISVTX) != 0 && (folder.st_mode & S_IWOTH) != 0;
  if (!for_everybody || owner == geteuid() || owner == folder.st_uid) return;
  fail(GRADSTEP_ERR_IO, "{}: '{}' is a symbolic link of another user (number {}) in a folder for everybody", kPath,
       link, owner);
}

/// The path that is left when links have been followed; it need not exist.
std::string followed(const std::string& path) {
  std::filesystem::path place = path;
  for (int links = 0; links < kMostLinks; ++links) {
    struct stat info{};
    if (lstat(place.c_str(), &info) != 0 || !S_ISLNK(info.st_mode)) return place;
    check_trusted(place, info.st_uid);
    std::error_code failed;
    const auto target = std::filesystem::read_symlink(place, failed);
    if (failed) fail(GRADSTEP_ERR_IO, "{}: '{}' cannot be followed: {}", kPath, place.string(), failed.message());
    place = place.parent_path() / target;
  }
  fail(GRADSTEP_ERR_IO, "{}: '{}' leads through more than {} symbolic links", kPath, path, kMostLinks);
}

}  // namespace

FileDescriptor open_regular(const char* argument, const std::string& path, Links links) {
  // O_NONBLOCK: to open a FIFO is to wait for its writer. Regular files know no difference.
  const int flags = O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC | (links == Links::refuse ? O_NOFOLLOW : 0);
  FileDescriptor file(::open(path.c_str(), flags));
  if (!file.valid()) {
    if (errno == ELOOP && links == Links::refuse) fail_irregular(argument, path, S_IFLNK);
    return file;
  }
  struct stat info{};
  if (fstat(file.get(), &info) != 0) {
    fail(GRADSTEP_ERR_IO, "{}: '{}' cannot be examined: {}", argument, path, reason());
  }
  if (!S_ISREG(info.st_mode)) fail_irregular(argument, path, info.st_mode);
  return file;
}

// O_EXCL: whatever has this name already, a link or a FIFO, is not opened.
NewFile::NewFile(const char* argument, std::string path, mode_t permissions)
    : argument_(argument),
      path_(std::move(path)),
      temporary_(unguessable_name_for(path_)),
      descriptor_(
          ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC, permissions)) {
  if (!descriptor_.valid()) fail_io("cannot be created", temporary_);
}

NewFile::~NewFile() {
  if (!temporary_.empty()) unlink(temporary_.c_str());
}

void NewFile::fail_io(const char* what, const std::string& path) const {
  fail(GRADSTEP_ERR_IO, "{}: '{}' {}: {}", argument_, path, what, reason());
}

// Where the group cannot be kept, another group gets no more than all users. File systems without permissions leave the
// file as it was created.
void NewFile::take_after(const struct stat& old) {
  mode_t permissions = old.st_mode & 0777;
  const bool group_kept = fchown(descriptor_.get(), old.st_uid, old.st_gid) == 0 ||
                          fchown(descriptor_.get(), static_cast<uid_t>(-1), old.st_gid) == 0;
  if (!group_kept) permissions &= 0707 | (permissions & 07) << 3;
  fchmod(descriptor_.get(), permissions);
}

void NewFile::write(const void* data, std::size_t size) {
  const auto* bytes = static_cast<const char*>(data);
  while (size > 0) {
    const ssize_t written = ::write(descriptor_.get(), bytes, std::min(size, kMost));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) fail_io("cannot be written", place());
    bytes += written;
    size -= static_cast<std::size_t>(written);
  }
}

void NewFile::flush() {
  if (fsync(descriptor_.get()) != 0) fail_io("cannot be flushed to the disk", place());
}

void NewFile::replace() {
  appear();
  descriptor_ = FileDescriptor();
}

void NewFile::appear() {
  if (rename(temporary_.c_str(), path_.c_str()) != 0) fail_io("cannot be replaced", path_);
  temporary_.clear();
}

/// Where a saved file goes, and what is there.
struct AtomicFile::Place {
  explicit Place(const std::string& given) : path(followed(given)) {
    struct stat info{};
    if (stat(path.c_str(), &info) != 0) return;  // what is wrong with the folder, its first file will tell
    if (!S_ISREG(info.st_mode)) fail_irregular(kPath, path, info.st_mode);
    old = info;
  }

  std::string path;
  std::optional<struct stat> old;
};

AtomicFile::AtomicFile(const std::string& path) : AtomicFile(Place(path)) {}

// Until the old file's permissions are known to be there, the new one is its maker's alone.
AtomicFile::AtomicFile(const Place& place)
    : folder_(folder_of(place.path)), file_(kPath, place.path, place.old ? 0600 : 0666) {
  if (place.old) file_.take_after(*place.old);
}

void AtomicFile::commit() {
  file_.flush();
  file_.replace();
  // The new name is safe once its folder is. A file system that cannot flush folders keeps the order of renames itself.
  const FileDescriptor folder(::open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder.valid()) fsync(folder.get());
}

FileSource::FileSource(std::string path)
    : path_(std::move(path)), descriptor_(open_regular(kPath, path_, Links::follow)) {
  if (!descriptor_.valid()) fail(GRADSTEP_ERR_IO, "{}: '{}' cannot be opened: {}", kPath, path_, reason());
}

std::size_t FileSource::read(void* data, std::size_t size) {
  for (;;) {
    const ssize_t got = ::read(descriptor_.get(), data, std::min(size, kMost));
    if (got >= 0) return static_cast<std::size_t>(got);
    if (errno != EINTR) fail(GRADSTEP_ERR_IO, "{}: '{}' cannot be read: {}", kPath, path_, reason());
  }
}

}  // namespace gradstep
