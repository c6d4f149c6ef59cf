// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Files whose errors name the path and the system's reason (status IO).
#pragma once

#include <string>

#include "core/byte_stream.h"

namespace gradstep {

/// A file that appears whole or not at all: written beside `path`, flushed to the disk, then renamed. Until commit(),
/// and if there is none, `path` is what it was.
class AtomicFile final : public ByteSink {
 public:
  explicit AtomicFile(std::string path);
  ~AtomicFile() override;
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(const void* data, std::size_t size) override;
  void commit() override;

 private:
  [[noreturn]] void fail_io(const char* what, const std::string& path) const;

  std::string path_;
  std::string temporary_;
  int descriptor_ = -1;
};

class FileSource final : public ByteSource {
 public:
  explicit FileSource(std::string path);
  ~FileSource() override;
  FileSource(const FileSource&) = delete;
  FileSource& operator=(const FileSource&) = delete;

  std::size_t read(void* data, std::size_t size) override;

 private:
  std::string path_;
  int descriptor_ = -1;
};

}  // namespace gradstep
