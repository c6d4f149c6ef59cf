// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// A loop in the hands of the host's parallel_for, and the account of what that did: a step that was left out or done
// twice must not pass for one that was made.
#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <new>

#include "core/error.h"
#include "core/fp_environment.h"
#include "core/function_ref.h"

namespace gradstep {

class HostLoop {
 public:
  HostLoop(std::int64_t n, FunctionRef<void(std::int64_t)> body)
      : body_(body), n_(n), words_(static_cast<std::size_t>((n + kBits - 1) / kBits)) {
    if (words_ > kOnStack) more_.reset(new (std::nothrow) Word[words_]());
  }

  /// False if there was no memory to keep account of so many indices.
  bool has_account() const { return words_ <= kOnStack || more_ != nullptr; }

  /// The function that the host gets; `loop` is its body_user. An index runs once; others that are asked for are noted.
  static void run(void* loop, std::int64_t i) { static_cast<HostLoop*>(loop)->run(i); }

  /// How many bodies were run. To be asked when the host's function has returned.
  std::int64_t count() const {
    std::int64_t count = 0;
    for (std::size_t w = 0; w < words_; ++w) count += std::popcount(word(w).load(std::memory_order_relaxed));
    return count;
  }

  /// Throws what the first failing body threw.
  void rethrow() const {
    if (error_) std::rethrow_exception(error_);
  }

  /// Throws CALLBACK unless every index was run, and nothing else was asked for.
  void check_complete() const {
    if (wrong_.load(std::memory_order_relaxed)) {
      const bool is_outside = wrong_index_ < 0 || wrong_index_ >= n_;
      fail(GRADSTEP_ERR_CALLBACK, "the host's parallel_for ran index {} {}, expected each from 0 to {} once",
           wrong_index_, is_outside ? "out of range" : "twice", n_ - 1);
    }
    if (const std::int64_t ran = count(); ran != n_) {
      fail(GRADSTEP_ERR_CALLBACK, "the host's parallel_for ran {} indices, expected {}: every one from 0 to {} once",
           ran, n_, n_ - 1);
    }
  }

 private:
  using Word = std::atomic<std::uint64_t>;
  static constexpr std::int64_t kBits = 64;
  static constexpr std::size_t kOnStack = 16;

  Word& word(std::size_t w) { return more_ ? more_[w] : few_[w]; }
  const Word& word(std::size_t w) const { return more_ ? more_[w] : few_[w]; }

  bool claim(std::int64_t i) {
    if (i < 0 || i >= n_) return false;
    const std::uint64_t bit = std::uint64_t{1} << (i % kBits);
    return (word(static_cast<std::size_t>(i / kBits)).fetch_or(bit, std::memory_order_relaxed) & bit) == 0;
  }

  void run(std::int64_t i) {
    if (!claim(i)) {
      if (!wrong_.exchange(true, std::memory_order_relaxed)) wrong_index_ = i;
      return;
    }
    const FpEnvironment environment;
    try {
      body_(i);
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (!error_) error_ = std::current_exception();
    }
  }

  FunctionRef<void(std::int64_t)> body_;
  const std::int64_t n_;
  const std::size_t words_;
  Word few_[kOnStack] = {};  // bit i = index i was begun
  std::unique_ptr<Word[]> more_;
  std::atomic<bool> wrong_{false};
  std::int64_t wrong_index_ = 0;  // the first that is outside or came twice
  std::mutex mutex_;
  std::exception_ptr error_;
};

}  // namespace gradstep
