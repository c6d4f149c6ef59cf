// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "case.h"

#include <algorithm>
#include <fstream>
#include <set>
#include <stdexcept>

#include "options.h"

namespace gradstep_bits {

namespace {

using nlohmann::json;

Case read_case(const json& file, const std::string& prefix, const json& described) {
  Case result;
  result.name = prefix + "/" + described.at("name").get<std::string>();
  result.spec = file.value("defaults", json::object());
  result.spec.merge_patch(described);
  try {
    check_keys(result.spec, "the case",
               {"name", "why", "model", "gradients", "ranks", "optimizer", "accumulator", "reducer", "updater",
                "sharding", "calls"});
    const auto model = result.spec.at("model").get<std::string>();
    if (!file.at("models").contains(model)) throw std::runtime_error("model '" + model + "' is not in the file");
    result.model = file.at("models").at(model);
    for (const json& tensor : result.model) {
      check_keys(tensor, "a tensor of the model", {"shape", "dtype", "group", "layout", "may_be_unused"});
    }
  } catch (const std::exception& error) {
    throw std::runtime_error(result.name + ": " + error.what());
  }
  return result;
}

}  // namespace

bool Case::may_differ_by_rounding() const {
  if (!spec.contains("optimizer")) return false;
  const json& optimizer = spec.at("optimizer");
  const auto rule = optimizer.at("rule");
  return rule == "muon" || (rule == "shampoo" && optimizer.value("precondition", 1) != 0);
}

std::vector<Case> read_cases(const std::filesystem::path& folder) {
  std::vector<Case> cases;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".json") continue;
    try {
      std::ifstream stream(entry.path());
      const json file = json::parse(stream);
      check_keys(file, "the file", {"about", "models", "defaults", "cases"});
      for (const json& described : file.at("cases")) {
        cases.push_back(read_case(file, entry.path().stem().string(), described));
      }
    } catch (const std::exception& error) {
      throw std::runtime_error(entry.path().filename().string() + ": " + error.what());
    }
  }
  std::sort(cases.begin(), cases.end(), [](const Case& a, const Case& b) { return a.name < b.name; });
  for (std::size_t k = 1; k < cases.size(); ++k) {
    if (cases[k].name == cases[k - 1].name)
      throw std::runtime_error(cases[k].name + ": there are two cases of this name");
  }
  return cases;
}

}  // namespace gradstep_bits
