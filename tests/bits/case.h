// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Configurations as files describe them. README.md has the format.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace gradstep_bits {

struct Case {
  std::string name;  ///< "<file>/<name in it>"
  nlohmann::json spec;
  nlohmann::json model;  ///< the tensors of spec's model

  int ranks() const { return spec.value("ranks", 1); }
  /// Whether instruction sets and compilers may differ by rounding, as docs/shampoo.md says.
  bool may_differ_by_rounding() const;
};

/// All cases of all files of a folder, by name. Throws naming file and case.
std::vector<Case> read_cases(const std::filesystem::path& folder);

}  // namespace gradstep_bits
