// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// A tensor of an optimizer's state, in whatever encoding.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "backend/context.h"
#include "backend/site.h"
#include "backend/stored_numbers.h"
#include "optim/state/stored_state.h"

namespace gradstep {

/// How the numbers of a tensor are kept.
enum class Encoding : std::uint8_t {
  f32,
  f64,
  bf16,
  blocks,         ///< kernels/block_code.h: 8 bits, a factor for each block of elements
  columns_int8,   ///< kernels/column_code.h
  columns_int16,  ///< likewise; square matrices keep their diagonal apart
};

/// What a tensor is, wherever its numbers lie.
struct TensorForm {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  Encoding encoding = Encoding::f32;
  bool has_signs = false;    ///< `blocks` only
  bool is_diagonal = false;  ///< `initial` is on the diagonal, and 0 elsewhere
  double initial = 0;        ///< of every number
  /// Not 0: plain numbers begin in [-1, 1), each by this key and its place.
  std::uint64_t random_key = 0;

  std::int64_t size() const { return rows * columns; }
  /// Bytes of `elements` of its numbers, factors included.
  std::int64_t bytes(std::int64_t elements) const;
  std::int64_t bytes() const { return bytes(size()); }
};

class StateTensor {
 public:
  StateTensor() = default;
  /// Without memory, which allocate_tensors() gives it. Columns in codes are kept whole.
  StateTensor(const TensorForm& form, Slice slice) : form_(form), slice_(slice), batch_(1) {}

  bool exists() const { return batch_ > 0; }
  /// False: it has no memory yet, or another rank has it.
  bool is_here() const { return memory_.use_count() > 0; }
  const TensorForm& form() const { return form_; }
  /// The elements that this rank has.
  Slice slice() const { return slice_; }
  /// In integer codes, which no view shows.
  bool is_coded() const { return form_.encoding >= Encoding::blocks; }

  /// An order in which tensors of one buffer are equal.
  static bool memory_is_before(const StateTensor& a, const StateTensor& b) { return a.memory_.owner_before(b.memory_); }
  /// Bytes of its memory which no number fills.
  std::size_t padding() const;

  /// The numbers as they are kept.
  Array numbers() const;
  float* factors() const;
  /// The matrix of a whole tensor that is not in blocks; no numbers if it is not here.
  StoredMatrix matrix() const;

  /// Plain f32 numbers in and out of codes.
  void encode(const Site& site, const float* from) const;
  void decode(const Site& site, float* to) const;
  /// Writes what it begins with. May take memory of the host's for it.
  void write_initial(const Context& context, const Site& site) const;

  /// Adds its arrays under `name`. `shape` is that of the whole tensor in files; empty = the parameter's.
  void append_stored(std::size_t parameter, const std::string& name, std::span<const std::int64_t> shape,
                     std::int32_t owner, std::vector<StoredState>& stored) const;

 private:
  friend void allocate_tensors(const Site& site, std::span<StateTensor* const> tensors, bool side_by_side);
  struct Layout;

  /// NULL = it has none.
  void* stored_numbers() const { return slice_.size > 0 ? memory_.get() : nullptr; }
  float* diagonal() const;
  CodedNumbers codes() const;

  TensorForm form_;
  Slice slice_;
  // Where its numbers begin, or would if it had some. Keeps the buffer.
  std::shared_ptr<std::byte> memory_;
  // Which one it is of how many that lie side by side (Layout). None = it does not exist.
  std::uint32_t place_ = 0;
  std::uint32_t batch_ = 0;
};

/// Gives tensors memory of zeros, which small ones share. `side_by_side`: those of one form lie at one distance, in the
/// order of the list and each at a multiple of 16 bytes, so that a device can take them in one batch.
void allocate_tensors(const Site& site, std::span<StateTensor* const> tensors, bool side_by_side);

}  // namespace gradstep
