// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// A matrix of Shampoo's state: f32 numbers, or integer codes with one factor for each column.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "backend/context.h"
#include "optim/optimizer.h"

namespace gradstep {

enum class Coding : std::uint8_t {
  none,   ///< f32
  int8,   ///< codes -127 .. 127
  int16,  ///< codes -32767 .. 32767; the diagonal is kept apart in f32
};

class StateMatrix {
 public:
  StateMatrix() = default;
  /// All zeros.
  StateMatrix(const Context& context, std::int64_t rows, std::int64_t columns, Coding coding);

  static std::int64_t bytes_of(std::int64_t rows, std::int64_t columns, Coding coding);

  bool exists() const { return exists_; }
  /// False: another rank has it.
  bool is_here() const { return here_; }
  /// Frees the numbers; shape and coding stay known.
  void release();
  bool is_coded() const { return coding_ != Coding::none; }
  std::int64_t size() const { return rows_ * columns_; }

  /// The numbers themselves if they are not coded, else decoded into `scratch` (size() floats).
  float* read(float* scratch) const;
  /// Stores numbers; those that read() returned uncoded are stored already.
  void write(const float* numbers);

  /// Adds its buffers under `name`, shaped (rows, columns) if `shape` is empty; owner -1 = every rank has it.
  void append_stored(std::size_t parameter, const std::string& name, std::vector<std::int64_t> shape,
                     std::int32_t owner, std::vector<StoredState>& stored) const;

 private:
  bool exists_ = false;
  bool here_ = true;
  std::int64_t rows_ = 0;
  std::int64_t columns_ = 0;
  Coding coding_ = Coding::none;
  Buffer numbers_;   // f32 or codes
  Buffer buckets_;   // f32 by column: the value of code 1
  Buffer diagonal_;  // f32, int16 only
};

}  // namespace gradstep
