// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Copies between a host's list, which may be another one in the next step, and arrays that stay where they are.
#pragma once

#include <vector>

#include "backend/arrays.h"
#include "core/buffer_list.h"

namespace gradstep {

class BoundCopies {
 public:
  enum class Direction : std::uint8_t { from_host, to_host };

  explicit BoundCopies(Direction direction) : direction_(direction) {}

  /// Copy i is of the list's array i.
  void resize(std::size_t count) {
    items_.resize(count);
    hosts_.resize(count);
    for (std::size_t i = 0; i < count; ++i) hosts_[i] = i;
  }
  /// The array that stays, of the i-th copy.
  void set(std::size_t i, const Array& own) {
    (direction_ == Direction::from_host ? items_[i].destination : items_[i].source) = own;
  }
  /// One more copy, of the list's array `host`.
  void add(std::size_t host, const Array& own) {
    items_.emplace_back();
    hosts_.push_back(host);
    set(items_.size() - 1, own);
  }

  /// Copies of what `work` names, with `host` at the other end.
  const CopyPlan& plan(const WorkList& work, const BufferList& host) {
    if (plan_.work != &work || host.version == 0 || host.version != version_) {
      for (std::size_t i = 0; i < items_.size(); ++i) {
        (direction_ == Direction::from_host ? items_[i].source : items_[i].destination) = host[hosts_[i]];
      }
      version_ = host.version;
      plan_.work = &work;
      plan_.prepared.forget();
    }
    plan_.items = items_;
    return plan_;
  }

 private:
  Direction direction_;
  std::vector<CopyItem> items_;
  std::vector<std::size_t> hosts_;  // by copy: the position in the host's list
  std::uint64_t version_ = 0;       // of the list that items_ show
  CopyPlan plan_;
};

}  // namespace gradstep
