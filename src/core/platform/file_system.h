// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Files by their paths, which are UTF-8. Where a call fails, reason() says why in the system's words.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "core/file_descriptor.h"

namespace gradstep::platform {

/// Why the calling thread's last call of this header failed.
std::string reason();

/// What a path leads to.
struct Found {
  const char* irregular = nullptr;  ///< "a directory", and so on; NULL = a regular file
  bool is_link = false;
  std::uint32_t permissions = 0;  ///< these and all below where the system has them
  std::uint32_t owner = 0;
  std::uint32_t group = 0;
};

/// nullopt = nothing is there, or it cannot be seen. A link at the path's end is followed, or found.
std::optional<Found> find(const std::string& path, bool follow_link);

/// Opens a regular file for reading. Invalid: it cannot be opened; `irregular` is what it is, if that is why. It waits
/// for nothing, such as the writer of a FIFO.
FileDescriptor open_to_read(const std::string& path, bool follow_link, const char*& irregular);

/// Makes a file that is not there yet, for writing. `permissions` as those of open().
FileDescriptor make_file(const std::string& path, std::uint32_t permissions);

/// Bytes read, 0 at the end of the file; nullopt = it failed.
std::optional<std::size_t> read_some(const FileDescriptor& file, void* data, std::size_t size);
/// Bytes written; nullopt = it failed.
std::optional<std::size_t> write_some(const FileDescriptor& file, const void* data, std::size_t size);

/// The file takes over permissions, owner and group, as far as the system lets it.
void take_after(const FileDescriptor& file, const Found& old);
bool flush(const FileDescriptor& file);

/// In one step; what was at `to` is replaced. The file may be open. On Windows what was at `to` may be open, with leave
/// to delete it, only where the file system has renames of POSIX, as NTFS.
bool rename(const std::string& from, const std::string& to);
void remove(const std::string& path);

/// The path that is left when links have been followed; it need not exist. Throws IO, whose text begins with
/// `argument`, for links that cannot be followed or that a stranger may have put there. On Windows it is `path`: a link
/// there is replaced.
std::string followed(const char* argument, const std::string& path);
/// The folder of the file, for flush_folder().
std::string folder_of(const std::string& path);
/// The folder's names are safe from then on, where the system does not care for that itself.
void flush_folder(const std::string& folder) noexcept;

}  // namespace gradstep::platform
