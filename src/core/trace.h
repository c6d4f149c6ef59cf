// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// What this process does, and when: phases of all threads, as Trace Event JSON in a file, and as NVTX ranges. A phase
// costs one look at a flag while tracing is off.
#pragma once

#include <atomic>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <type_traits>

namespace gradstep {

namespace trace {

/// Phases are wanted. Set by start().
inline std::atomic<bool> is_on{false};

/// A number that a phase says of itself. Names are literals.
struct Number {
  const char* name;
  std::int64_t value;
};

/// A new file at `path`; empty = NVTX ranges alone. Throws INVALID_STATE (it is on), IO, or BACKEND_UNAVAILABLE (no
/// path, and no NVTX library is loaded).
void start(const std::string& path);
/// Completes the file; nothing if it is off. Throws IO.
void stop();
/// Who writes: the rank in the largest communicator so far. Remembered where it is off.
void set_rank(std::int32_t rank, std::int32_t world_size);

/// False where no memory is left, or in a forked child: then there is nothing to end().
bool begin(const char* category, const char* name, std::span<const Number> numbers) noexcept;
void end() noexcept;

}  // namespace trace

/// From its creation to its end on one thread; phases nest. Names are literals.
class Phase {
 public:
  explicit Phase(const char* name, std::initializer_list<trace::Number> numbers = {}) noexcept
      : Phase("phase", name, [&] { return std::span(numbers.begin(), numbers.size()); }) {}
  /// numbers() is asked only where phases are wanted.
  template <class Numbers>
    requires std::is_invocable_v<Numbers>
  Phase(const char* category, const char* name, Numbers&& numbers) noexcept
      : is_wanted_(trace::is_on.load(std::memory_order_relaxed)) {
    if (is_wanted_) [[unlikely]] {
      is_wanted_ = trace::begin(category, name, numbers());
    }
  }
  ~Phase() {
    if (is_wanted_) [[unlikely]] {
      trace::end();
    }
  }
  Phase(const Phase&) = delete;
  Phase& operator=(const Phase&) = delete;

 private:
  bool is_wanted_;
};

}  // namespace gradstep
