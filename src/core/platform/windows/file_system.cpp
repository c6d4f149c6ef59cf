// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// A link is followed to be read, and replaced when its name is written to. Permissions are those that the folder passes
// on.
#include "core/platform/file_system.h"

#include <fcntl.h>
#include <io.h>
#include <windows.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>
#include <vector>

#include "core/platform/windows/wide.h"

namespace gradstep::platform {

namespace {

/// One call moves at most this much.
constexpr std::size_t kMost = std::size_t{1} << 30;

/// An open file may be renamed and, by rename(), replaced.
constexpr DWORD kShared = FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE;

HANDLE handle_of(const FileDescriptor& file) { return reinterpret_cast<HANDLE>(_get_osfhandle(file.get())); }

/// What is there already, be it a directory.
HANDLE open_existing(const std::wstring& path, DWORD access, bool follow_link, DWORD flags = 0) {
  flags |= FILE_FLAG_BACKUP_SEMANTICS | (follow_link ? 0 : FILE_FLAG_OPEN_REPARSE_POINT);
  return CreateFileW(path.c_str(), access, kShared, nullptr, OPEN_EXISTING, flags, nullptr);
}

/// Takes the handle over. Invalid: it was, or the C library has no descriptor left.
FileDescriptor descriptor_of(HANDLE handle, int flags) {
  if (handle == INVALID_HANDLE_VALUE) return FileDescriptor();
  FileDescriptor file(_open_osfhandle(reinterpret_cast<intptr_t>(handle), flags | _O_BINARY | _O_NOINHERIT));
  if (!file.valid()) {
    CloseHandle(handle);
    SetLastError(ERROR_TOO_MANY_OPEN_FILES);
  }
  return file;
}

/// Devices have no attributes.
Found found_at(HANDLE handle) {
  FILE_ATTRIBUTE_TAG_INFO info{};
  if (GetFileInformationByHandleEx(handle, FileAttributeTagInfo, &info, sizeof info) == 0) info = {};
  Found found;
  found.is_link =
      (info.FileAttributes & FILE_ATTRIBUTE_REPARSE_POINT) != 0 && IsReparseTagNameSurrogate(info.ReparseTag);
  found.irregular = found.is_link                                           ? "a symbolic link"
                    : (info.FileAttributes & FILE_ATTRIBUTE_DIRECTORY) != 0 ? "a directory"
                    : GetFileType(handle) != FILE_TYPE_DISK                 ? "a device"
                                                                            : nullptr;
  return found;
}

/// FileRenameInfoEx and FILE_RENAME_FLAG_IGNORE_READONLY_ATTRIBUTE, which the headers of mingw-w64 lack.
constexpr auto kRenameInfoEx = static_cast<FILE_INFO_BY_HANDLE_CLASS>(22);
constexpr DWORD kIgnoreReadOnly = 0x40;

/// Replaces also a file that is open or read-only, where the file system can (NTFS).
bool rename_as_posix(const std::wstring& from, const std::wstring& to) {
  std::vector<std::byte> bytes(sizeof(FILE_RENAME_INFO) + to.size() * sizeof(wchar_t));
  auto* info = new (bytes.data()) FILE_RENAME_INFO{};
  info->Flags = FILE_RENAME_FLAG_REPLACE_IF_EXISTS | FILE_RENAME_FLAG_POSIX_SEMANTICS | kIgnoreReadOnly;
  info->FileNameLength = static_cast<DWORD>(to.size() * sizeof(wchar_t));
  std::memcpy(info->FileName, to.data(), info->FileNameLength);
  const HANDLE file = open_existing(from, DELETE | SYNCHRONIZE, false, FILE_FLAG_WRITE_THROUGH);
  if (file == INVALID_HANDLE_VALUE) return false;
  const auto size = static_cast<DWORD>(bytes.size());
  const bool is_renamed = SetFileInformationByHandle(file, kRenameInfoEx, info, size) != 0;
  CloseHandle(file);
  return is_renamed;
}

}  // namespace

std::string reason() { return last_error_text(); }

std::optional<Found> find(const std::string& path, bool follow_link) {
  const HANDLE handle = open_existing(wide(path), FILE_READ_ATTRIBUTES, follow_link);
  if (handle == INVALID_HANDLE_VALUE) return std::nullopt;
  const Found found = found_at(handle);
  CloseHandle(handle);
  return found;
}

FileDescriptor open_to_read(const std::string& path, bool follow_link, const char*& irregular) {
  irregular = nullptr;
  FileDescriptor file = descriptor_of(open_existing(wide(path), GENERIC_READ, follow_link), _O_RDONLY);
  if (file.valid()) irregular = found_at(handle_of(file)).irregular;
  return irregular == nullptr ? std::move(file) : FileDescriptor();
}

FileDescriptor make_file(const std::string& path, std::uint32_t) {
  const std::wstring name = wide(path);
  const HANDLE handle =
      CreateFileW(name.c_str(), GENERIC_WRITE, kShared, nullptr, CREATE_NEW, FILE_ATTRIBUTE_NORMAL, nullptr);
  FileDescriptor file = descriptor_of(handle, _O_WRONLY);
  if (!file.valid() && handle != INVALID_HANDLE_VALUE) {
    DeleteFileW(name.c_str());
    SetLastError(ERROR_TOO_MANY_OPEN_FILES);
  }
  return file;
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
  constexpr DWORD kFlags = MOVEFILE_REPLACE_EXISTING | MOVEFILE_WRITE_THROUGH;
  const std::wstring old_name = wide(from);
  const std::wstring new_name = wide(to);
  return rename_as_posix(old_name, new_name) || MoveFileExW(old_name.c_str(), new_name.c_str(), kFlags) != 0;
}

void remove(const std::string& path) { DeleteFileW(wide(path).c_str()); }

std::string followed(const char*, const std::string& path) { return path; }

std::string folder_of(const std::string&) { return ""; }

void flush_folder(const std::string&) noexcept {}

}  // namespace gradstep::platform
