// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Files whose errors name the argument, the path and the system's reason (status IO). Others may write to the folders
// that they are in: nothing prepared there is followed, waited for or written over, unless a function says so.
#pragma once

#include <cstdint>
#include <string>

#include "core/byte_stream.h"
#include "core/file_descriptor.h"
#include "core/platform/file_system.h"

namespace gradstep {

enum class Links { follow, refuse };

/// A regular file to be read; invalid, and the system says why, if it cannot be opened. Anything else that has this
/// name, a FIFO for example, is an error at once.
FileDescriptor open_regular(const char* argument, const std::string& path, Links links);

/// A file that is not there yet: it is written beside its path, "<path>.tmp.<16 random digits>", and gone with its
/// object if replace() was not called.
class NewFile {
 public:
  /// `permissions` as those of open(): the process's umask is taken off.
  NewFile(const char* argument, std::string path, std::uint32_t permissions);
  ~NewFile();
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  /// Takes over the permissions of the file that this one will replace, and, where the system allows it, its owner and
  /// group.
  void take_after(const platform::Found& old);
  void write(const void* data, std::size_t size);
  /// To the disk.
  void flush();
  /// Moves it to its path in one step. A link there is replaced, not followed.
  void replace();
  /// replace() before all is written: more may follow.
  void appear();

 private:
  [[noreturn]] void fail_io(const char* what, const std::string& path) const;
  const std::string& place() const { return temporary_.empty() ? path_ : temporary_; }

  const char* argument_;
  std::string path_;
  std::string temporary_;  // empty = it is at path_
  FileDescriptor descriptor_;
};

/// A saved file that appears whole or not at all: until commit(), and if there is none, `path` is what it was. Where
/// `path` is a symbolic link, what it points to is replaced, and the link stays. An old file's permissions pass on.
class AtomicFile final : public ByteSink {
 public:
  explicit AtomicFile(const std::string& path);

  void write(const void* data, std::size_t size) override { file_.write(data, size); }
  void commit() override;

 private:
  struct Place;
  explicit AtomicFile(const Place& place);

  std::string folder_;
  NewFile file_;
};

class FileSource final : public ByteSource {
 public:
  explicit FileSource(std::string path);

  std::size_t read(void* data, std::size_t size) override;

 private:
  std::string path_;
  FileDescriptor descriptor_;
};

}  // namespace gradstep
