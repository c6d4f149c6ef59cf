// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "records.h"

#include <algorithm>
#include <fstream>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string_view>

namespace gradstep_bits {

namespace {

constexpr std::string_view kCompiler = "compiler ";

}  // namespace

Records::Records(const std::string& path) {
  std::ifstream stream(path);
  if (!stream) throw std::runtime_error(path + ": cannot be read");
  for (std::string line; std::getline(stream, line);) {
    if (line.empty() || line[0] == '#') continue;
    if (line.starts_with(kCompiler)) {
      compiler_ = line.substr(kCompiler.size());
      continue;
    }
    std::istringstream words(line);
    std::string hash;
    std::string name;
    std::string instruction_set;
    words >> hash >> name >> instruction_set;
    if (hash.size() != 16 || name.empty()) throw std::runtime_error(path + ": no record: " + line);
    if (!hashes_[name].emplace(instruction_set, hash).second) throw std::runtime_error(path + ": twice: " + line);
  }
}

std::string Records::find(const std::string& name, const std::string& instruction_set) const {
  const auto found = hashes_.find(name);
  if (found == hashes_.end()) return "";
  const auto& hashes = found->second;
  const auto own = hashes.find(hashes.count("") != 0 ? "" : instruction_set);
  return own == hashes.end() ? "" : own->second;
}

std::vector<std::string> Records::names_without(const std::vector<Case>& cases) const {
  std::set<std::string> known;
  for (const Case& described : cases) known.insert(described.name);
  std::vector<std::string> names;
  for (const auto& [name, hashes] : hashes_) {
    if (known.count(name) == 0) names.push_back(name);
  }
  return names;
}

void Records::add(const Case& described, const std::string& instruction_set, const std::string& hash) {
  auto& hashes = hashes_[described.name];
  for (const auto& [other, recorded] : hashes) {
    if (recorded != hash && !described.may_differ_by_rounding()) {
      throw std::runtime_error(described.name + ": " + instruction_set + " has " + hash + ", " + other + " has " +
                               recorded + ", and docs/numerics.md says that they agree");
    }
  }
  hashes[instruction_set] = hash;
}

void Records::write(const std::string& path) const {
  std::ofstream stream(path);
  stream << "# What the cases compute: hash, case, and the instruction set where that changes bits. Made by\n"
            "# bits --record; README.md says when.\n"
         << kCompiler << compiler_ << "\n";
  for (const auto& [name, hashes] : hashes_) {
    const bool agree = std::all_of(hashes.begin(), hashes.end(),
                                   [&](const auto& entry) { return entry.second == hashes.begin()->second; });
    if (agree) {
      stream << hashes.begin()->second << " " << name << "\n";
      continue;
    }
    for (const auto& [instruction_set, hash] : hashes) stream << hash << " " << name << " " << instruction_set << "\n";
  }
  stream.flush();
  if (!stream) throw std::runtime_error(path + ": cannot be written");
}

}  // namespace gradstep_bits
