// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Whether two accesses of a launch to the same byte, by different threads and not both reads or both atomic, are ordered
// by CUDA's memory model: by a barrier of their block; or by a fence and an atomic operation of the one and an atomic
// operation on the same address and a fence of the other, and barriers before and behind these. What is not ordered is a
// race, whoever happened to be first: this finds a barrier or a fence that is missing without waiting for bad luck.
//
// Shuffles and votes order no memory in that model. Here what lanes have read lies before what their warp writes after
// an exchange, because a warp's accesses are issued in order; what they have written is not known to others by it.
//
// Time is counted in each block by its barriers. (Lamport, "Time, clocks, and the ordering of events in a distributed
// system", 1978; epochs as in Flanagan and Freund, "FastTrack", 2009.)
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

namespace gradstep::ptx {

enum class Access : std::uint8_t { read, write, atomic };

/// A moment of a thread.
struct Moment {
  std::int64_t block = -1;
  int thread = 0;
  std::uint32_t epoch = 0;     ///< barriers of its block
  std::uint32_t exchange = 0;  ///< shuffles and votes of its warp
};

/// What a thread knows of other blocks: of each, that everything before a barrier, and what one thread did after it, lies
/// before what it does itself.
class Knowledge {
 public:
  bool has(const Moment& moment) const;
  void add(const Moment& moment);
  void add(const Knowledge& other);
  bool is_empty() const { return blocks_.empty(); }

 private:
  std::unordered_map<std::int64_t, std::vector<Moment>> blocks_;  // the latest, one of each thread
};

/// What one byte has seen.
struct History {
  Moment write;
  bool is_atomic = false;  ///< the write
  std::vector<Moment> reads;  ///< after it
};

/// What is global.
class HappensBefore {
 public:
  /// False if the access races with what other threads have done.
  bool note(std::uintptr_t address, std::size_t bytes, Access how, const Moment& own, const Knowledge& of_thread,
            const Knowledge& of_block);
  /// What whoever comes later to the atomic variable is told, and what is told by those before.
  Knowledge& of_variable(std::uintptr_t address) { return variables_[address]; }

 private:
  std::unordered_map<std::uintptr_t, std::array<History, 8>> words_;  // by address / 8
  std::unordered_map<std::uintptr_t, Knowledge> variables_;
};

/// What a block shares.
class SharedOrder {
 public:
  void start(std::size_t bytes) { bytes_.assign(bytes, {}); }
  bool note(std::size_t address, std::size_t bytes, Access how, const Moment& own);

 private:
  std::vector<History> bytes_;
};

}  // namespace gradstep::ptx
