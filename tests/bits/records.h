// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// The file of recorded hashes: "compiler <name>", then a line "<hash> <case>" for each case, or one for each
// instruction set, "<hash> <case> <instruction set>", where they differ.
#pragma once

#include <array>
#include <map>
#include <string>
#include <vector>

#include "case.h"

namespace gradstep_bits {

constexpr std::array<const char*, 3> kInstructionSets = {"baseline", "avx2", "avx512"};

class Records {
 public:
  Records() = default;
  explicit Records(const std::string& path);

  const std::string& compiler() const { return compiler_; }
  void set_compiler(const std::string& compiler) { compiler_ = compiler; }
  /// "" where there is none.
  std::string find(const std::string& name, const std::string& instruction_set) const;
  /// Names that no case has.
  std::vector<std::string> names_without(const std::vector<Case>& cases) const;
  /// Throws where instruction sets must agree and do not.
  void add(const Case& described, const std::string& instruction_set, const std::string& hash);
  void write(const std::string& path) const;

 private:
  std::string compiler_;
  std::map<std::string, std::map<std::string, std::string>> hashes_;  // by case and instruction set; "" = all
};

}  // namespace gradstep_bits
