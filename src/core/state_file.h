// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Saved state in the layout of safetensors: the writer, and the strict reader of what was written. state_part.h has
// what a handle takes from a file.
//
//   u64 length of the header | header, JSON padded with blanks to 8 bytes | tensors | "gradstep.checksum", U64[1]
//
// The checksum is XXH3 (64 bits) of every byte before it. Numbers are little-endian.
//
// Where the header would be longer than readers of the layout take, the file is packed (format 2): its tensors are
// "gradstep.header" (U8), which is that header without the checksum, and "gradstep.tensors" (U8), all of what it lists,
// with offsets from the beginning of these.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "core/array.h"
#include "core/byte_stream.h"
#include "core/checksum.h"
#include "core/memory.h"
#include "core/schema.h"

namespace gradstep {

/// What readers of the layout agree to refuse beyond: bytes of a header.
inline constexpr std::size_t kLongestHeader = 100'000'000;

/// One tensor on its way into a file.
struct SavedTensor {
  std::string key;
  DType dtype = DType::f32;
  std::vector<std::int64_t> shape;
  const void* data = nullptr;
  /// Where it is not at hand as a whole: writes all of its bytes there. Called on every rank, in the order of the file,
  /// also after one has failed.
  std::function<void(void* whole)> gather;
  /// A load refuses it with NaN or infinity, so a save does.
  bool is_finite = false;
};

/// True for numbers that are no floats. `data` need not be aligned.
bool all_finite(DType dtype, const std::byte* data, std::int64_t bytes);

/// What one handle contributes. Keys are its own; a file of several handles puts a prefix before them.
struct SavedPart {
  std::map<std::string, std::string> metadata;
  std::vector<SavedTensor> tensors;

  void set(const std::string& key, std::int64_t value) { metadata[key] = std::to_string(value); }
  void set(const std::string& key, double value);  // shortest digits that give it back
  void set(const std::string& key, std::string value) { metadata[key] = std::move(value); }
};

/// "F32": what a dtype is called in a file. The other way it throws CORRUPT, with the key, for other names.
const char* stored_name(DType dtype);
DType stored_dtype(const std::string& key, const std::string& name);

/// Writes `parts`, which stay until then with the memory that they show. What can fail on one rank alone and would
/// leave the others in the middle of gathering, for want of memory or room, fails when it is made. Throws NUMERIC for
/// numbers that no load takes: when it is made, or, where they are gathered first, on all ranks before the sink
/// commits.
class StateWriter {
 public:
  StateWriter(const std::string& kind, const std::map<std::string, SavedPart>& parts,
              std::size_t longest_header = kLongestHeader);

  /// Once. Collective where a tensor's gather is. `sink` NULL: this rank only takes part in that. The first failure, of
  /// the sink or in gathering, is thrown after everything was gathered.
  void write(ByteSink* sink);

 private:
  const std::map<std::string, SavedPart>& parts_;
  std::string header_;
  std::string packed_;            // the header of a packed file's tensors
  std::vector<std::byte> whole_;  // one gathered tensor at a time
  Checksum checksum_;
};

/// Both at once.
void write_state_file(ByteSink* sink, const std::string& kind, const std::map<std::string, SavedPart>& parts);

struct StateHeader;
class StateReader;

/// Bytes of tensors, by key, for readers that have use for a part of them.
struct TensorPart {
  std::int64_t first = 0;
  std::int64_t bytes = 0;
};
using TensorParts = std::map<std::string, TensorPart>;

/// A file in memory that passed every check of its form.
class StateFile {
 public:
  struct Tensor {
    DType dtype = DType::f32;
    std::vector<std::int64_t> shape;
    const std::byte* data = nullptr;  ///< of what is kept; not aligned
    std::int64_t first = 0;           ///< byte of the tensor that is kept
    std::int64_t bytes = 0;           ///< that are kept
  };

  /// Reads as far as its header says, which is checked first. No more is kept of tensors that `parts` names; all bytes
  /// are in the checksum. Throws CORRUPT (its form or its checksum), UNSUPPORTED (a later format).
  StateFile(ByteSource& source, bool allow_unchecked, const TensorParts& parts = {});

  /// Throws MISMATCH unless the file holds this kind of handle.
  void check_kind(const std::string& kind) const;

  const std::map<std::string, std::string>& metadata() const { return metadata_; }
  const std::map<std::string, Tensor>& tensors() const { return tensors_; }

 private:
  /// Where a tensor's bytes begin in bytes_, which may still move.
  struct Place {
    Tensor* tensor;
    std::size_t offset;
  };
  StateHeader read_header(StateReader& reader, std::uint64_t length);
  std::vector<Place> read_tensors(StateReader& reader, StateHeader& header, const TensorParts& parts);
  void check_format() const;

  std::vector<std::byte> bytes_;
  std::map<std::string, std::string> metadata_;
  std::map<std::string, Tensor> tensors_;
};

}  // namespace gradstep
