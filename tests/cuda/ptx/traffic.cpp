// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "cuda/ptx/traffic.h"

#include <algorithm>

namespace gradstep::ptx {

namespace {

/// A thread has less than 2^10, a kernel less than 2^20 lines, and less than 2^32 times are kept apart.
std::uint64_t key(std::uint32_t line, int who, std::uint32_t time) {
  return std::uint64_t{line} << 44 | static_cast<std::uint64_t>(who) << 32 | time;
}

}  // namespace

void Traffic::note(int thread, const Instruction& instruction, std::uint64_t address, std::size_t bytes) {
  const std::uint32_t time = counts_[key(instruction.line, thread, 0)]++;
  Request& request = requests_[key(instruction.line, thread / kWarp, time)];
  request.line = instruction.line;
  request.pieces.emplace_back(address, static_cast<std::uint32_t>(bytes));
}

void Traffic::add_to(Amounts& amounts) const {
  for (const auto& [unused, request] : requests_) {
    auto pieces = request.pieces;
    std::sort(pieces.begin(), pieces.end());
    Amount& amount = amounts[request.line];
    ++amount.requests;
    std::uint64_t end = 0;         // of what has been counted
    std::uint64_t end_sector = 0;  // and the first sector behind it
    for (const auto& [address, bytes] : pieces) {
      const std::uint64_t own_end = address + bytes;
      if (own_end > end) amount.bytes += static_cast<std::int64_t>(own_end - std::max(address, end));
      const std::uint64_t first = std::max(address / std::uint64_t{kSector}, end_sector);
      const std::uint64_t behind = (own_end - 1) / std::uint64_t{kSector} + 1;
      if (behind > first) amount.sectors += static_cast<std::int64_t>(behind - first);
      end = std::max(end, own_end);
      end_sector = std::max(end_sector, behind);
    }
  }
}

}  // namespace gradstep::ptx
