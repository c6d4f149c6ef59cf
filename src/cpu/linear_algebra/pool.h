// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Scratch of tasks, kept from step to step: there is as much as threads have run at once.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

namespace gradstep::cpu {

template <class Scratch>
class Pool {
 public:
  /// For the length of a task.
  class Lent {
   public:
    explicit Lent(Pool& owner) : owner_(owner) {
      const std::lock_guard lock(owner_.mutex_);
      if (owner_.free_.empty()) {
        owner_.free_.reserve(owner_.count_ + 1);  // giving back cannot fail
        scratch_ = std::make_unique<Scratch>();
        ++owner_.count_;
      } else {
        scratch_ = std::move(owner_.free_.back());
        owner_.free_.pop_back();
      }
    }
    ~Lent() {
      const std::lock_guard lock(owner_.mutex_);
      owner_.free_.push_back(std::move(scratch_));
    }
    Lent(const Lent&) = delete;
    Lent& operator=(const Lent&) = delete;

    Scratch& operator*() const { return *scratch_; }
    Scratch* operator->() const { return scratch_.get(); }

   private:
    Pool& owner_;
    std::unique_ptr<Scratch> scratch_;
  };

  /// As much as `count` tasks at once need. While nothing is lent.
  void grow(std::size_t count) {
    while (count_ < count) {
      free_.reserve(count_ + 1);
      free_.push_back(std::make_unique<Scratch>());
      ++count_;
    }
  }
  /// What is there, while nothing is lent; what is lent next comes last.
  std::span<const std::unique_ptr<Scratch>> all() const { return free_; }

 private:
  std::mutex mutex_;
  std::size_t count_ = 0;
  std::vector<std::unique_ptr<Scratch>> free_;
};

}  // namespace gradstep::cpu
