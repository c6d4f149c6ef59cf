// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// usage: bits [--cases FOLDER] [--threads N] [--filter GLOB]... MODE
//
//   --compare FILE   every case must have the hash that FILE has for it (the default, with the repository's own file);
//                    says how each file of cases ended, when it has
//   --record FILE    writes FILE anew, with the hashes of all instruction sets
//   --trace          prints what each call of the cases computed, for a difference to be located
//   --list           prints names
//   --filter GLOB    cases whose name matches it, or another one that is given
//   --seed S, --seeds N   (bits_detached, bits_cuda) case k has seed S + k mod N, and runs once
//   --every N             of the cases that are compared, only each Nth
//   --rounded-every N     (bits_cuda) of the cases that run without a comparison there, only each Nth
//
// One hash is what all threads, instruction sets and compilers must come to; docs/shampoo.md says where the latter two
// may differ. There the file has a hash for each instruction set, and other compilers' builds are not compared.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <fstream>
#include <iostream>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "device.h"
#include "digest.h"
#include "options.h"
#include "records.h"
#include "run.h"
#include "tests/unit/scoped_environment.h"

namespace gradstep_bits {
namespace {

struct Arguments {
  std::string cases = GRADSTEP_BITS_DIRECTORY "/cases";
  std::string mode = "compare";
  std::string file = GRADSTEP_BITS_DIRECTORY "/recorded.txt";
  std::vector<std::string> filters;  // none: all
  int threads = 1;
  unsigned long seed = 1;
  unsigned long seeds = 1;  // case k has seed + k mod seeds
  unsigned long every = 1;
  unsigned long rounded_every = 1;
};

Arguments read_arguments(const std::vector<std::string>& words) {
  Arguments arguments;
  for (std::size_t k = 0; k < words.size(); ++k) {
    const std::string& word = words[k];
    const auto value = [&]() -> const std::string& {
      if (k + 1 == words.size()) throw std::runtime_error(word + ": needs a value");
      return words[++k];
    };
    if (word == "--cases") {
      arguments.cases = value();
    } else if (word == "--seed") {
      arguments.seed = std::stoul(value());
    } else if (word == "--seeds") {
      arguments.seeds = std::max(1UL, std::stoul(value()));
    } else if (word == "--every") {
      arguments.every = std::max(1UL, std::stoul(value()));
    } else if (word == "--rounded-every") {
      arguments.rounded_every = std::max(1UL, std::stoul(value()));
    } else if (word == "--threads") {
      arguments.threads = std::stoi(value());
    } else if (word == "--filter") {
      arguments.filters.push_back(value());
    } else if (word == "--compare" || word == "--record") {
      arguments.mode = word.substr(2);
      arguments.file = value();
    } else if (word == "--trace" || word == "--list") {
      arguments.mode = word.substr(2);
    } else {
      throw std::runtime_error(word + ": unknown; main.cpp begins with the usage");
    }
  }
  return arguments;
}

/// In a pattern * is any characters, and ? is one.
bool matches(std::string_view name, std::string_view pattern) {
  if (pattern.empty()) return name.empty();
  if (pattern.front() == '*') {
    return matches(name, pattern.substr(1)) || (!name.empty() && matches(name.substr(1), pattern));
  }
  return !name.empty() && (pattern.front() == '?' || pattern.front() == name.front()) &&
         matches(name.substr(1), pattern.substr(1));
}

bool matches(const std::string& name, const std::vector<std::string>& filters) {
  const auto is_match = [&](const std::string& filter) { return matches(name, std::string_view(filter)); };
  return filters.empty() || std::any_of(filters.begin(), filters.end(), is_match);
}

std::vector<Case> chosen(const std::vector<Case>& cases, const Arguments& arguments) {
  std::vector<Case> some;
  unsigned long compared = 0;
  unsigned long rounded = 0;
  for (const Case& described : cases) {
    if (!matches(described.name, arguments.filters)) continue;
    const bool is_rounded = part_of_device(described) == Part::rounded;
    if (is_rounded && rounded++ % arguments.rounded_every != 0) continue;
    if (!is_rounded && compared++ % arguments.every != 0) continue;
    some.push_back(described);
  }
  if (cases.empty()) throw std::runtime_error("no cases in " + arguments.cases);
  for (const std::string& filter : arguments.filters) {
    const auto is_match = [&](const Case& described) { return matches(described.name, {filter}); };
    if (std::none_of(cases.begin(), cases.end(), is_match)) throw std::runtime_error("no case matches " + filter);
  }
  return some;
}

/// What the library says about itself.
std::string build_info(const char* key) {
  std::size_t size = 0;
  check(gradstep_build_info(nullptr, 0, &size));
  std::string text(size, '\0');
  check(gradstep_build_info(text.data(), size, &size));
  return nlohmann::json::parse(text.c_str()).at(key).get<std::string>();
}

Outcome run_named(const Case& described, const Arguments& arguments, bool trace = false) {
  try {
    return run_case(described, arguments.threads, trace);
  } catch (const std::exception& error) {
    throw std::runtime_error(described.name + ": " + error.what());
  }
}

/// Cases of one file, which follow each other. What is killed has said how those before ended.
class Family {
 public:
  void enter(const Case& described, int failures) {
    const std::string name = described.name.substr(0, described.name.find('/'));
    if (name != name_) {
      end(failures);
      *this = Family(name, failures);
    }
    ++cases_;
  }
  void end(int failures) const {
    if (cases_ == 0) return;
    std::cout << name_ << ": " << cases_ << " have ended, " << failures - failures_before_ << " failures" << std::endl;
  }

  Family() = default;

 private:
  Family(std::string name, int failures) : name_(std::move(name)), failures_before_(failures) {}

  std::string name_;
  int cases_ = 0;
  int failures_before_ = 0;
};

int compare(const std::vector<Case>& cases, const Arguments& arguments) {
  const Records records(arguments.file);
  const std::string set = build_info("instruction_set");
  const std::string recorded_set = set == "neon" ? "avx2" : set;  // Shampoo's products are fused in both
  const bool same_compiler = records.compiler() == build_info("compiler");
  int failures = 0;
  int uncompared = 0;
  int rounded = 0;
  const auto report = [&](const std::string& text) {
    std::cout << "FAILED " << text << std::endl;
    ++failures;
  };
  for (const std::string& name : records.names_without(cases)) report(name + ": recorded, and there is no such case");
  const std::vector<Case> some = chosen(cases, arguments);
  unsigned long k = 0;
  Family family;
  for (const Case& described : some) {
    family.enter(described, failures);
    set_device_seed(arguments.seed + k++ % arguments.seeds);
    const Part part = part_of_device(described);
    try {
      const std::string found = hex(run_named(described, arguments).hash);
      const std::string expected = records.find(described.name, recorded_set);
      if (part == Part::rounded) {
        ++rounded;
      } else if (!same_compiler && described.may_differ_by_rounding()) {
        ++uncompared;
      } else if (expected.empty()) {
        report(described.name + ": there is no record; found " + found);
      } else if (expected != found) {
        report(described.name + ": expected " + expected + ", found " + found);
      }
    } catch (const std::exception& error) {
      report(error.what());
    }
  }
  family.end(failures);
  std::cout << some.size() << " cases, " << device_name() << ", " << set << ", " << arguments.threads
            << " threads: " << failures << " failures" << std::endl;
  if (rounded > 0) {
    std::cout << rounded << " of them ran without a comparison, because the device rounds in other places" << std::endl;
  }
  if (uncompared > 0) {
    std::cout << uncompared << " of them ran without a comparison: their records are of " << records.compiler()
              << ", this is " << build_info("compiler") << std::endl;
  }
  return failures == 0 ? 0 : 1;
}

void record(const std::vector<Case>& cases, const Arguments& arguments) {
  Records records;
  records.set_compiler(build_info("compiler"));
  for (const char* set : kInstructionSets) {
    const gradstep::test::ScopedEnvironment environment("GRADSTEP_INSTRUCTION_SET", set);  // no thread is there yet
    if (build_info("instruction_set") != set) throw std::runtime_error(std::string("this processor has no ") + set);
    for (const Case& described : cases) records.add(described, set, hex(run_named(described, arguments).hash));
  }
  records.write(arguments.file);
}

int run(const std::vector<std::string>& words) {
  const Arguments arguments = read_arguments(words);
  const std::vector<Case> cases = read_cases(arguments.cases);
  if (arguments.mode == "compare") return compare(cases, arguments);
  if (arguments.mode == "record") {
    record(cases, arguments);
    return 0;
  }
  for (const Case& described : chosen(cases, arguments)) {
    std::cout << described.name << "\n";
    if (arguments.mode == "list") continue;
    for (const std::string& line : run_named(described, arguments, true).trace) std::cout << "  " << line << "\n";
  }
  return 0;
}

}  // namespace
}  // namespace gradstep_bits

int main(int argc, char** argv) {
  try {
    return gradstep_bits::run({argv + 1, argv + argc});
  } catch (const std::exception& error) {
    std::cerr << "bits: " << error.what() << std::endl;
    return 2;
  }
}
