// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "cuda/emulation/compiled.h"

#include <cxxabi.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <regex>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace gradstep::emulation {

namespace {

[[noreturn]] void complain(const std::string& what) {
  std::fprintf(stderr, "emulation: %s\n", what.c_str());
  std::abort();
}

std::string demangled(const std::string& name) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> text(abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status),
                                                    std::free);
  return status == 0 ? text.get() : name;
}

/// With the name that other compilers have for a file's unnamed namespace: nvcc's is a number and so many characters.
std::string with_unnamed_namespaces(std::string entry) {
  static const std::regex unnamed("[0-9]+(?=_GLOBAL__N__)");
  std::string name;
  for (std::smatch found; std::regex_search(entry, found, unnamed);) {
    name += found.prefix().str() + "12_GLOBAL__N_1";
    entry = found.suffix().str().substr(std::stoul(found.str()));
  }
  return name + entry;
}

struct Kernels {
  std::vector<std::unique_ptr<ptx::Program>> programs;
  std::map<std::string, CompiledKernel> by_type;
};

constexpr const char* kCoverage = "GRADSTEP_EMULATED_PTX_COVERAGE";
constexpr const char* kTraffic = "GRADSTEP_EMULATED_PTX_TRAFFIC";

/// A line for each kernel: its type, and a sign for each instruction, 1 where a thread has come to it.
void write_coverage(const Kernels& kernels) {
  std::ofstream file = report(kCoverage);
  for (const auto& [type, compiled] : kernels.by_type) {
    file << type << '\t';
    // But for the last, which is what stands behind its end.
    const auto& instructions = compiled.kernel->instructions;
    std::for_each(instructions.begin(), instructions.end() - 1,
                  [&](const ptx::Instruction& instruction) { file << (instruction.has_run ? 1 : 0); });
    file << '\n';
  }
}

Kernels read_all(const std::filesystem::path& folder) {
  Kernels all;
  for (const auto& file : std::filesystem::directory_iterator(folder)) {
    if (file.path().extension() != ".ptx") continue;
    std::ifstream stream(file.path());
    std::stringstream text;
    text << stream.rdbuf();
    try {
      all.programs.push_back(std::make_unique<ptx::Program>(ptx::parse(text.str(), file.path().string())));
    } catch (const ptx::Error& error) {
      complain(error.what());
    }
    const ptx::Program& program = *all.programs.back();
    for (const ptx::Function* kernel : program.kernels) {
      const std::string type = type_of(*kernel);
      if (!all.by_type.emplace(type, CompiledKernel{&program, kernel}).second) complain("two kernels run " + type);
    }
  }
  return all;
}

const char* folder() { return std::getenv("GRADSTEP_EMULATED_PTX"); }

// Leaked: the device is used by static destructors.
const Kernels& kernels() {
  static const Kernels* const all = [] {
    if (std::getenv(kCoverage) != nullptr) std::atexit([] { write_coverage(kernels()); });
    return new Kernels(read_all(folder()));
  }();
  return *all;
}

using Traffic = std::map<const ptx::Function*, ptx::Amounts>;

/// A line for each instruction that accesses device memory: kernel's type, line, requests, sectors, bytes.
void write_traffic(const Traffic& traffic) {
  std::ofstream file = report(kTraffic);
  for (const auto& [kernel, amounts] : traffic) {
    for (const auto& [line, amount] : amounts) {
      file << type_of(*kernel) << '\t' << line << '\t' << amount.requests << '\t' << amount.sectors << '\t'
           << amount.bytes << '\n';
    }
  }
}

}  // namespace

// run_kernel's argument (cuda/runtime/launch.h).
std::string type_of(const ptx::Function& kernel) {
  const std::string name = demangled(with_unnamed_namespaces(kernel.name));
  const std::size_t begin = name.rfind(">(");
  if (begin == std::string::npos) complain("what does " + name + " run?");
  return name.substr(begin + 2, name.size() - begin - 3);
}

std::ofstream report(const char* variable) {
  return std::ofstream(std::filesystem::path(std::getenv(variable)) / (std::to_string(getpid()) + ".txt"));
}

bool has_compiled_kernels() {
  static const bool has = folder() != nullptr;
  return has;
}

CompiledKernel find_compiled_kernel(const std::type_info& type) {
  const std::string name = demangled(type.name());
  const auto found = kernels().by_type.find(name);
  if (found == kernels().by_type.end()) complain("no kernel in " + std::string(folder()) + " runs " + name);
  return found->second;
}

ptx::Amounts* traffic_of(const ptx::Function& kernel) {
  static Traffic* const all = [] {
    static auto* made = std::getenv(kTraffic) != nullptr ? new Traffic : nullptr;
    if (made != nullptr) std::atexit([] { write_traffic(*made); });
    return made;
  }();
  return all != nullptr ? &(*all)[&kernel] : nullptr;
}

}  // namespace gradstep::emulation
