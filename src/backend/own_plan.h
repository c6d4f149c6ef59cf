// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// A plan together with the lists that it shows, to be run again and again.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "backend/work_list.h"

namespace gradstep {

template <class Plan, class Item>
class OwnPlan {
 public:
  /// `size` elements are worked on.
  void add(Item item, std::int64_t size) {
    items_.push_back(std::move(item));
    work_.append(size);
  }
  /// Items of one size, whose chunks take turns.
  void add_in_turns(std::span<const Item> items, std::int64_t size) {
    items_.insert(items_.end(), items.begin(), items.end());
    work_.append_in_turns(size, static_cast<std::int32_t>(items.size()));
  }
  /// Keeps its memory.
  void clear() {
    items_.clear();
    work_.clear();
    forget();
  }
  /// What items point to has changed.
  void forget() { plan_.prepared.forget(); }

  std::span<const Item> items() const { return items_; }
  Plan& plan() {
    plan_.work = &work_;
    plan_.items = items_;
    return plan_;
  }

 private:
  std::vector<Item> items_;
  WorkList work_;
  Plan plan_;
};

}  // namespace gradstep
