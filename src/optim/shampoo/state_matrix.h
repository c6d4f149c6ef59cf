// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// A matrix of Shampoo's state: f32 numbers, or integer codes with one factor for each column.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "backend/site.h"
#include "optim/optimizer.h"

namespace gradstep {

using kernels::Coding;

class StateMatrix {
 public:
  StateMatrix() = default;
  /// Without memory, which allocate_matrices gives it.
  StateMatrix(std::int64_t rows, std::int64_t columns, Coding coding);

  static std::int64_t bytes_of(std::int64_t rows, std::int64_t columns, Coding coding);

  bool exists() const { return exists_; }
  /// False: it has no memory yet, or another rank has it.
  bool is_here() const { return memory_ != nullptr; }
  /// Lets its memory go; shape and coding stay known.
  void release();
  bool is_coded() const { return view_.is_coded(); }
  std::int64_t size() const { return view_.size(); }

  /// Where it lies; no numbers if it is not here.
  const StoredMatrix& view() const { return view_; }

  /// Adds its buffers under `name`, shaped (rows, columns) if `shape` is empty; owner -1 = every rank has it.
  void append_stored(std::size_t parameter, const std::string& name, std::vector<std::int64_t> shape,
                     std::int32_t owner, std::vector<StoredState>& stored) const;

 private:
  friend void allocate_matrices(const Site& site, std::span<StateMatrix* const> matrices);

  bool exists_ = false;
  StoredMatrix view_;
  std::shared_ptr<const Buffer> memory_;
};

/// Gives matrices memory of zeros. Those of one shape and coding lie side by side, in the order of the list and each at
/// a multiple of 64 bytes, so that a device can take them in one batch.
void allocate_matrices(const Site& site, std::span<StateMatrix* const> matrices);

}  // namespace gradstep
