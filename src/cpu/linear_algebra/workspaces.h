// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Scratch of the tasks of a step. It is kept from step to step, and there is as much as threads run at once; more than
// a plan has foreseen (a host's own threads) bring theirs when they come.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "core/aligned_vector.h"
#include "cpu/linear_algebra/roots.h"

namespace gradstep::cpu {

struct Workspace {
  AlignedVector<float> first;
  AlignedVector<float> second;
  AlignedVector<float> third;
  AlignedVector<float> packed;  // of products
  RootSolver<double> roots;
  RootSolver<float> narrow_roots;

  static float* resized(AlignedVector<float>& scratch, std::int64_t count) {
    if (scratch.size() < static_cast<std::size_t>(count)) scratch.resize(static_cast<std::size_t>(count));
    return scratch.data();
  }
  std::size_t bytes() const {
    return (first.capacity() + second.capacity() + third.capacity() + packed.capacity()) * sizeof(float) +
           roots.bytes() + narrow_roots.bytes();
  }
};

class Workspaces {
 public:
  /// A workspace for the length of a task.
  class Lent {
   public:
    explicit Lent(Workspaces& owner) : owner_(owner) {
      const std::lock_guard lock(owner_.mutex_);
      if (owner_.free_.empty()) {
        owner_.free_.reserve(owner_.count_ + 1);  // giving back cannot fail
        workspace_ = std::make_unique<Workspace>();
        ++owner_.count_;
      } else {
        workspace_ = std::move(owner_.free_.back());
        owner_.free_.pop_back();
      }
    }
    ~Lent() {
      const std::lock_guard lock(owner_.mutex_);
      owner_.free_.push_back(std::move(workspace_));
    }
    Lent(const Lent&) = delete;
    Lent& operator=(const Lent&) = delete;

    Workspace& operator*() const { return *workspace_; }
    Workspace* operator->() const { return workspace_.get(); }

   private:
    Workspaces& owner_;
    std::unique_ptr<Workspace> workspace_;
  };

  /// Room for `count` tasks at once that need so many numbers each. While nothing is lent.
  void reserve(std::size_t count, std::int64_t first, std::int64_t second, std::int64_t third, std::int64_t packed) {
    while (count_ < count) {
      free_.reserve(count_ + 1);
      free_.push_back(std::make_unique<Workspace>());
      ++count_;
    }
    for (const auto& workspace : free_) {
      Workspace::resized(workspace->first, first);
      Workspace::resized(workspace->second, second);
      Workspace::resized(workspace->third, third);
      Workspace::resized(workspace->packed, packed);
    }
  }
  /// prepare(workspace) for those that `count` tasks at once get: the last ones. While nothing is lent.
  template <class Prepare>
  void prepare(std::size_t count, Prepare prepare) {
    reserve(count, 0, 0, 0, 0);
    for (const auto& workspace : std::span(free_).last(count)) prepare(*workspace);
  }
  /// While nothing is lent.
  std::size_t bytes() const {
    std::size_t total = 0;
    for (const auto& workspace : free_) total += workspace->bytes();
    return total;
  }

 private:
  std::mutex mutex_;
  std::size_t count_ = 0;
  std::vector<std::unique_ptr<Workspace>> free_;
};

}  // namespace gradstep::cpu
