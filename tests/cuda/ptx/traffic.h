// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// What a kernel's accesses of device memory ask of a GPU. The lanes of a warp that come to an instruction for the k-th
// time make one request, which moves whole sectors of 32 bytes, as "CUDA C++ Best Practices" has it: the fewer for the
// bytes that are needed, the better. Caches are not thought of.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <unordered_map>
#include <vector>

#include "cuda/ptx/program.h"

namespace gradstep::ptx {

/// What a request moves at least, in bytes.
inline constexpr std::int64_t kSector = 32;

/// By requests of one instruction.
struct Amount {
  std::int64_t requests = 0;
  std::int64_t sectors = 0;
  std::int64_t bytes = 0;  ///< different ones that lanes need
};

using Amounts = std::map<std::uint32_t, Amount>;  // by line of the PTX

/// The traffic of one block.
class Traffic {
 public:
  void start() {
    counts_.clear();
    requests_.clear();
  }
  void note(int thread, const Instruction& instruction, std::uint64_t address, std::size_t bytes);
  void add_to(Amounts& amounts) const;

 private:
  /// An instruction of a warp, for the k-th time.
  struct Request {
    std::uint32_t line = 0;
    std::vector<std::pair<std::uint64_t, std::uint32_t>> pieces;  // address, bytes
  };
  std::unordered_map<std::uint64_t, std::uint32_t> counts_;  // by thread and instruction
  std::unordered_map<std::uint64_t, Request> requests_;      // by warp, instruction and time
};

}  // namespace gradstep::ptx
