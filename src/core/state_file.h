// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Saved state in the layout of safetensors: the writer, and the strict reader of what was written. state_part.h has
// what a handle takes from a file.
//
//   u64 length of the header | header, JSON padded with blanks to 8 bytes | tensors | "gradstep.checksum", U64[1]
//
// The checksum is XXH3 (64 bits) of every byte before it. Numbers are little-endian.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "core/array.h"
#include "core/byte_stream.h"
#include "core/memory.h"
#include "core/schema.h"

namespace gradstep {

/// One tensor on its way into a file.
struct SavedTensor {
  std::string key;
  DType dtype = DType::f32;
  std::vector<std::int64_t> shape;
  const void* data = nullptr;
  /// Where it is not at hand as a whole: writes all of its bytes there. Called on every rank, in the order of the file,
  /// also after one has failed.
  std::function<void(void* whole)> gather;
};

/// What one handle contributes. Keys are its own; a file of several handles puts a prefix before them.
struct SavedPart {
  std::map<std::string, std::string> metadata;
  std::vector<SavedTensor> tensors;

  void set(const std::string& key, std::int64_t value) { metadata[key] = std::to_string(value); }
  void set(const std::string& key, double value);  // shortest digits that give it back
  void set(const std::string& key, std::string value) { metadata[key] = std::move(value); }
};

/// "F32": what a dtype is called in a file.
const char* stored_name(DType dtype);

/// Writes `parts`, which stay until then with the memory that they show. What can fail on one rank alone and would
/// leave the others in the middle of gathering, for want of memory or room, fails when it is made.
class StateWriter {
 public:
  StateWriter(const std::string& kind, const std::map<std::string, SavedPart>& parts);

  /// Collective where a tensor's gather is. `sink` NULL: this rank only takes part in that. The first failure, of the
  /// sink or in gathering, is thrown after everything was gathered.
  void write(ByteSink* sink);

 private:
  const std::map<std::string, SavedPart>& parts_;
  std::string header_;
  std::vector<std::byte> whole_;  // one gathered tensor at a time
};

/// Both at once.
void write_state_file(ByteSink* sink, const std::string& kind, const std::map<std::string, SavedPart>& parts);

struct StateHeader;

/// A whole file in memory that passed every check of its form.
class StateFile {
 public:
  struct Tensor {
    DType dtype = DType::f32;
    std::vector<std::int64_t> shape;
    const std::byte* data = nullptr;  ///< not aligned
    std::int64_t bytes = 0;
  };

  /// Reads as far as its header says, which is checked first. Throws CORRUPT (its form or its checksum), UNSUPPORTED (a
  /// later format).
  StateFile(ByteSource& source, bool allow_unchecked);

  /// Throws MISMATCH unless the file holds this kind of handle.
  void check_kind(const std::string& kind) const;

  const std::map<std::string, std::string>& metadata() const { return metadata_; }
  const std::map<std::string, Tensor>& tensors() const { return tensors_; }

 private:
  void add_tensors(StateHeader& header, const std::byte* data);
  void check_format() const;

  std::vector<std::byte> bytes_;
  std::map<std::string, std::string> metadata_;
  std::map<std::string, Tensor> tensors_;
};

}  // namespace gradstep
