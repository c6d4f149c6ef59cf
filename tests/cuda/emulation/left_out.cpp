// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "cuda/emulation/left_out.h"

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <vector>

#include "cuda/emulation/compiled.h"

namespace gradstep::emulation {

namespace {

/// Launches of a kernel in which something is left out: the first, and some of those that follow.
constexpr int kFirst = 12;
constexpr int kStride = 5;

struct Site {
  const ptx::Instruction* instruction = nullptr;
  int launches = 0;  ///< without it
  bool is_found = false;
};

struct Sites {
  int launches = 0;
  std::vector<Site> sites;
};

using Kernels = std::map<const ptx::Function*, Sites>;

constexpr const char* kLeftOut = "GRADSTEP_EMULATED_PTX_LEFT_OUT";

/// A line for each: kernel, line of its PTX, launches, whether it was found.
void write(const Kernels& kernels) {
  std::ofstream file = report(kLeftOut);
  for (const auto& [function, own] : kernels) {
    for (const Site& site : own.sites) {
      file << type_of(*function) << '\t' << site.instruction->line << '\t'
           << (site.instruction->execute == ptx::find_instruction("membar.gl") ? "fence" : "barrier") << '\t'
           << site.launches << '\t' << site.is_found << '\n';
    }
  }
}

// Leaked: the device is used by static destructors.
Sites& sites_of(const ptx::Function& kernel) {
  static Kernels* const all = [] {
    static auto* made = new Kernels;
    std::atexit([] { write(*made); });
    return made;
  }();
  const auto [place, is_new] = all->try_emplace(&kernel);
  if (is_new) {
    for (const ptx::Instruction& instruction : kernel.instructions) {
      if (instruction.execute == ptx::find_instruction("bar.sync") ||
          instruction.execute == ptx::find_instruction("membar.gl")) {
        place->second.sites.push_back({&instruction});
      }
    }
  }
  return place->second;
}

class Snapshot {
 public:
  explicit Snapshot(const std::map<void*, std::size_t>& memory) : memory_(memory) {
    for (const auto& [data, bytes] : memory) {
      const auto* first = static_cast<const std::byte*>(data);
      bytes_.insert(bytes_.end(), first, first + bytes);
    }
  }
  void restore() const {
    const std::byte* from = bytes_.data();
    for (const auto& [data, bytes] : memory_) {
      std::memcpy(data, from, bytes);
      from += bytes;
    }
  }
  bool is_present() const {
    const std::byte* from = bytes_.data();
    for (const auto& [data, bytes] : memory_) {
      if (std::memcmp(data, from, bytes) != 0) return false;
      from += bytes;
    }
    return true;
  }

 private:
  const std::map<void*, std::size_t>& memory_;
  std::vector<std::byte> bytes_;
};

/// Does no test find that it is missing?
bool passes_without(const ptx::Instruction& instruction, ptx::Launch launch, const Snapshot& expected) {
  launch.left_out = &instruction;
  try {
    ptx::run(launch);
  } catch (const ptx::Error&) {
    return false;
  }
  return expected.is_present();
}

}  // namespace

bool leaves_out() {
  static const bool does = std::getenv(kLeftOut) != nullptr;
  return does;
}

void run_and_leave_out(const ptx::Launch& launch, const std::map<void*, std::size_t>& memory) {
  Sites& own = sites_of(*launch.kernel);
  const int number = ++own.launches;
  if (own.sites.empty() || (number > kFirst && number % kStride != 0)) return ptx::run(launch);
  const Snapshot before(memory);
  ptx::run(launch);
  const Snapshot after(memory);
  for (Site& site : own.sites) {
    if (site.is_found) continue;
    before.restore();
    ++site.launches;
    site.is_found = !passes_without(*site.instruction, launch, after);
  }
  after.restore();
}

}  // namespace gradstep::emulation
