// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// What one handle takes from a saved state.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "core/schema.h"
#include "core/state_file.h"

namespace gradstep {

/// The part of a file that belongs to one handle, and what that handle has taken from it.
class LoadedPart {
 public:
  LoadedPart(const StateFile& file, std::string prefix) : file_(file), prefix_(std::move(prefix)) {}

  // Throw CORRUPT for an entry that is missing or no such number.
  const std::string& text(const std::string& key) const;
  std::int64_t integer(const std::string& key, std::int64_t minimum = 0) const;
  double number(const std::string& key) const;

  bool has_text(const std::string& key) const { return file_.metadata().count(prefix_ + key) > 0; }

  bool has(const std::string& key) const { return file_.tensors().count(prefix_ + key) > 0; }
  /// Throws MISMATCH unless the tensor exists with this dtype and shape.
  const StateFile::Tensor& tensor(const std::string& key, DType dtype, const std::vector<std::int64_t>& shape);
  /// tensor(), and CORRUPT if a number in it is not finite.
  const StateFile::Tensor& finite_tensor(const std::string& key, DType dtype, const std::vector<std::int64_t>& shape);
  /// Throws MISMATCH if the file holds a tensor that was not asked for.
  void check_all_taken() const;

 private:
  const StateFile& file_;
  std::string prefix_;
  std::set<std::string> taken_;
};

/// Whose shapes a file has, where parameters are parts of wholes.
enum class SavedShapes : std::uint8_t { of_parts, of_wholes };

/// Names and shapes of the parameters that a part belongs to, whether or not it has a tensor for them. `check` throws
/// MISMATCH with the first difference; their order does not count.
void save_parameters(SavedPart& part, const Schema& schema, SavedShapes shapes = SavedShapes::of_parts);
void check_parameters(const LoadedPart& part, const Schema& schema, SavedShapes shapes = SavedShapes::of_parts);

}  // namespace gradstep
