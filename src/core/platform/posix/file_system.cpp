// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "core/platform/file_system.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>

#include "core/error.h"

namespace gradstep::platform {

namespace {

/// One system call moves at most this much.
constexpr std::size_t kMost = std::size_t{1} << 30;

/// As many links in a row as Linux follows.
constexpr int kMostLinks = 40;

const char* irregular_kind(mode_t mode) {
  return S_ISREG(mode)    ? nullptr
         : S_ISDIR(mode)  ? "a directory"
         : S_ISFIFO(mode) ? "a FIFO"
         : S_ISSOCK(mode) ? "a socket"
         : S_ISLNK(mode)  ? "a symbolic link"
                          : "a device";
}

// A user who may write to a folder can put a link at a name that others are about to write to. In folders for all
// users, such as /tmp, Linux can be set (fs.protected_symlinks) to follow only the links of the process's own user and
// of the folder's owner. This is that rule, whatever Linux is set to.
void check_trusted(const char* argument, const std::string& link, uid_t owner) {
  struct stat folder{};
  if (stat(folder_of(link).c_str(), &folder) != 0) return;
  const bool for_everybody = (folder.st_mode & S_ISVTX) != 0 && (folder.st_mode & S_IWOTH) != 0;
  if (!for_everybody || owner == geteuid() || owner == folder.st_uid) return;
  fail(GRADSTEP_ERR_IO, "{}: '{}' is a symbolic link of another user (number {}) in a folder for everybody", argument,
       link, owner);
}

}  // namespace

std::string reason() { return std::error_code(errno, std::generic_category()).message(); }

std::optional<Found> find(const std::string& path, bool follow_link) {
  struct stat info{};
  if ((follow_link ? stat : lstat)(path.c_str(), &info) != 0) return std::nullopt;
  return Found{irregular_kind(info.st_mode), S_ISLNK(info.st_mode), info.st_mode & 0777U, info.st_uid, info.st_gid};
}

FileDescriptor open_to_read(const std::string& path, bool follow_link, const char*& irregular) {
  // O_NONBLOCK: to open a FIFO is to wait for its writer. Regular files know no difference.
  const int flags = O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC | (follow_link ? 0 : O_NOFOLLOW);
  FileDescriptor file(::open(path.c_str(), flags));
  if (!file.valid()) {
    irregular = errno == ELOOP && !follow_link ? irregular_kind(S_IFLNK) : nullptr;
    return file;
  }
  struct stat info{};
  if (fstat(file.get(), &info) != 0) {
    const int why = errno;
    file = FileDescriptor();
    errno = why;
    return file;
  }
  irregular = irregular_kind(info.st_mode);
  return irregular == nullptr ? std::move(file) : FileDescriptor();
}

// O_EXCL: whatever has this name already, a link or a FIFO, is not opened.
FileDescriptor make_file(const std::string& path, std::uint32_t permissions) {
  constexpr int kFlags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC;
  return FileDescriptor(::open(path.c_str(), kFlags, static_cast<mode_t>(permissions)));
}

std::optional<std::size_t> read_some(const FileDescriptor& file, void* data, std::size_t size) {
  for (;;) {
    const ssize_t got = ::read(file.get(), data, std::min(size, kMost));
    if (got >= 0) return static_cast<std::size_t>(got);
    if (errno != EINTR) return std::nullopt;
  }
}

std::optional<std::size_t> write_some(const FileDescriptor& file, const void* data, std::size_t size) {
  for (;;) {
    const ssize_t written = ::write(file.get(), data, std::min(size, kMost));
    if (written > 0) return static_cast<std::size_t>(written);
    if (written == 0 || errno != EINTR) return std::nullopt;
  }
}

// Where the group cannot be kept, another group gets no more than all users. File systems without permissions leave the
// file as it was created.
void take_after(const FileDescriptor& file, const Found& old) {
  auto permissions = static_cast<mode_t>(old.permissions);
  const bool group_kept =
      fchown(file.get(), old.owner, old.group) == 0 || fchown(file.get(), static_cast<uid_t>(-1), old.group) == 0;
  if (!group_kept) permissions &= static_cast<mode_t>(0707 | (permissions & 07) << 3);
  fchmod(file.get(), permissions);
}

bool flush(const FileDescriptor& file) {
#if defined(F_FULLFSYNC)  // macOS, whose fsync leaves the bytes in the drive's own memory
  if (fcntl(file.get(), F_FULLFSYNC) == 0) return true;
#endif
  return fsync(file.get()) == 0;
}

bool rename(const std::string& from, const std::string& to) { return ::rename(from.c_str(), to.c_str()) == 0; }

void remove(const std::string& path) { ::unlink(path.c_str()); }

std::string followed(const char* argument, const std::string& path) {
  std::filesystem::path place = path;
  for (int links = 0; links < kMostLinks; ++links) {
    const auto found = find(place, false);
    if (!found || !found->is_link) return place;
    check_trusted(argument, place, found->owner);
    std::error_code failed;
    const auto target = std::filesystem::read_symlink(place, failed);
    if (failed) fail(GRADSTEP_ERR_IO, "{}: '{}' cannot be followed: {}", argument, place.string(), failed.message());
    place = place.parent_path() / target;
  }
  fail(GRADSTEP_ERR_IO, "{}: '{}' leads through more than {} symbolic links", argument, path, kMostLinks);
}

std::string folder_of(const std::string& path) {
  const std::string folder = std::filesystem::path(path).parent_path();
  return folder.empty() ? "." : folder;
}

// The new name is safe once its folder is. A file system that cannot flush folders keeps the order of renames itself.
void flush_folder(const std::string& folder) noexcept {
  const FileDescriptor opened(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (opened.valid()) flush(opened);
}

}  // namespace gradstep::platform
