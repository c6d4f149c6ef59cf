// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Links are not followed: what is at a link's name is replaced. Permissions are those that the folder passes on.
#include "core/platform/file_system.h"

#include <fcntl.h>
#include <io.h>
#include <windows.h>

#include <algorithm>

#include "core/platform/windows/wide.h"

namespace gradstep::platform {

namespace {

/// One call moves at most this much.
constexpr std::size_t kMost = std::size_t{1} << 30;

/// An open file may be renamed and replaced, as on other systems.
constexpr DWORD kShared = FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE;

HANDLE handle_of(const FileDescriptor& file) { return reinterpret_cast<HANDLE>(_get_osfhandle(file.get())); }

FileDescriptor open_handle(const std::string& path, DWORD access, DWORD disposition, int flags) {
  const HANDLE handle =
      CreateFileW(wide(path).c_str(), access, kShared, nullptr, disposition, FILE_ATTRIBUTE_NORMAL, nullptr);
  if (handle == INVALID_HANDLE_VALUE) return FileDescriptor();
  return FileDescriptor(_open_osfhandle(reinterpret_cast<intptr_t>(handle), flags | _O_BINARY | _O_NOINHERIT));
}

}  // namespace

std::string reason() { return last_error_text(); }

std::optional<Found> find(const std::string& path, bool) {
  const DWORD attributes = GetFileAttributesW(wide(path).c_str());
  if (attributes == INVALID_FILE_ATTRIBUTES) return std::nullopt;
  Found found;
  found.is_link = (attributes & FILE_ATTRIBUTE_REPARSE_POINT) != 0;
  if ((attributes & FILE_ATTRIBUTE_DIRECTORY) != 0) found.irregular = "a directory";
  if ((attributes & FILE_ATTRIBUTE_DEVICE) != 0) found.irregular = "a device";
  return found;
}

FileDescriptor open_to_read(const std::string& path, bool follow_link, const char*& irregular) {
  const auto found = find(path, follow_link);
  irregular = found ? found->irregular : nullptr;
  if (irregular != nullptr) return FileDescriptor();
  FileDescriptor file = open_handle(path, GENERIC_READ, OPEN_EXISTING, _O_RDONLY);
  if (!file.valid() || GetFileType(handle_of(file)) == FILE_TYPE_DISK) return file;
  irregular = "a device";
  return FileDescriptor();
}

FileDescriptor make_file(const std::string& path, std::uint32_t) {
  return open_handle(path, GENERIC_WRITE, CREATE_NEW, _O_WRONLY);
}

std::optional<std::size_t> read_some(const FileDescriptor& file, void* data, std::size_t size) {
  DWORD got = 0;
  if (ReadFile(handle_of(file), data, static_cast<DWORD>(std::min(size, kMost)), &got, nullptr) == 0)
    return std::nullopt;
  return got;
}

std::optional<std::size_t> write_some(const FileDescriptor& file, const void* data, std::size_t size) {
  DWORD written = 0;
  const auto most = static_cast<DWORD>(std::min(size, kMost));
  if (WriteFile(handle_of(file), data, most, &written, nullptr) == 0 || written == 0) return std::nullopt;
  return written;
}

void take_after(const FileDescriptor&, const Found&) {}

bool flush(const FileDescriptor& file) { return FlushFileBuffers(handle_of(file)) != 0; }

bool rename(const std::string& from, const std::string& to) {
  return MoveFileExW(wide(from).c_str(), wide(to).c_str(), MOVEFILE_REPLACE_EXISTING | MOVEFILE_WRITE_THROUGH) != 0;
}

void remove(const std::string& path) { DeleteFileW(wide(path).c_str()); }

std::string followed(const char*, const std::string& path) { return path; }

void flush_folder_of(const std::string&) {}

}  // namespace gradstep::platform
