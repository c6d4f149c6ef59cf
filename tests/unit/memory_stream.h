// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Saved state in memory.
#pragma once

#include <algorithm>
#include <cstring>
#include <map>
#include <string>

#include "core/state_part.h"

namespace gradstep::test {

class Memory final : public ByteSink, public ByteSource {
 public:
  std::string bytes;
  std::size_t at = 0;
  bool committed = false;

  Memory() = default;
  explicit Memory(std::string text) : bytes(std::move(text)) {}
  void write(const void* data, std::size_t size) override { bytes.append(static_cast<const char*>(data), size); }
  void commit() override { committed = true; }
  std::size_t read(void* data, std::size_t size) override {
    // Short reads, as pipes give them.
    const std::size_t got = std::min({size, bytes.size() - at, std::size_t{1000}});
    std::memcpy(data, bytes.data() + at, got);
    at += got;
    return got;
  }
};

inline std::string saved_bytes(const std::string& kind, const std::map<std::string, SavedPart>& parts) {
  Memory memory;
  write_state_file(&memory, kind, parts);
  return memory.bytes;
}

inline StateFile read_bytes(const std::string& bytes) {
  Memory memory(bytes);
  return StateFile(memory, false);
}

}  // namespace gradstep::test
