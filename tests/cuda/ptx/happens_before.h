// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Whether two accesses of a launch to the same byte, by different threads and not both reads or both atomic, are
// ordered by CUDA's memory model: by a barrier of their block; or by a fence and an atomic operation of the one and an
// atomic operation on the same address and a fence of the other, and barriers before and behind these. Unordered
// accesses are a race, in whatever order they ran: this finds a barrier or a fence that is missing without waiting for
// bad luck. (Writes that leave what is there are not shown to it: several threads may raise the same flag.)
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
#include <memory>
#include <unordered_map>
#include <vector>

namespace gradstep::ptx {

enum class Access : std::uint8_t { read, write, atomic };

/// A moment of a thread.
struct Moment {
  std::int32_t block = -1;
  std::int32_t thread = 0;
  std::uint32_t epoch = 0;     ///< barriers of its block
  std::uint32_t exchange = 0;  ///< shuffles and votes of its warp
};

/// What a thread knows of other blocks: of each, that everything before a barrier, and what one thread did after it,
/// lies before what it does itself.
class Knowledge {
 public:
  bool has(const Moment& moment) const;
  void add(const Moment& moment);
  void add(const Knowledge& other);

 private:
  std::unordered_map<std::int32_t, std::vector<Moment>> blocks_;  // the latest, one of each thread
};

/// What bytes have seen that are accessed together.
struct History {
  /// How many readers are remembered. A writer without an order has none with the first of them either, as a rule.
  static constexpr std::size_t kReaders = 4;

  Moment write;
  bool is_atomic = false;  ///< the write
  std::uint8_t readers = 0;
  std::array<Moment, kReaders> reads;  ///< since then
};

/// The histories of memory from 0 to `bytes`, by words of four bytes, and by bytes where these are accessed alone.
class Histories {
 public:
  /// note(history) of all that [first, first + bytes) has; false as soon as one is.
  template <class Note>
  bool each(std::size_t first, std::size_t bytes, Note note);
  void start(std::size_t bytes) { words_ = std::vector<Word>((bytes + kWord - 1) / kWord); }

 private:
  static constexpr std::size_t kWord = 4;
  struct Word {
    History whole;
    std::unique_ptr<std::array<History, kWord>> parts;
  };
  std::vector<Word> words_;
};

/// What is global.
class HappensBefore {
 public:
  /// False if the access races with what other threads have done.
  bool note(std::uintptr_t address, std::size_t bytes, Access how, const Moment& own, const Knowledge& of_thread,
            const Knowledge& of_block);
  /// What later accesses of the atomic variable learn, and what earlier ones have published.
  Knowledge& of_variable(std::uintptr_t address) { return variables_[address]; }

 private:
  static constexpr std::uintptr_t kPage = 512;
  Histories& page(std::uintptr_t address);

  std::unordered_map<std::uintptr_t, Histories> pages_;  // by address / kPage
  struct Found {
    std::uintptr_t number = 0;
    Histories* page = nullptr;
  };
  std::array<Found, 64> found_;  // pages of late
  std::unordered_map<std::uintptr_t, Knowledge> variables_;
};

/// What a block shares.
class SharedOrder {
 public:
  void start(std::size_t bytes) { histories_.start(bytes); }
  bool note(std::size_t address, std::size_t bytes, Access how, const Moment& own);

 private:
  Histories histories_;
};

}  // namespace gradstep::ptx
