// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Selecting by magnitude and summing what was selected, the large loops over all threads. Results depend on the data
// alone.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "backend/context.h"
#include "cpu/loops.h"

namespace gradstep::cpu {

class Selector;

/// What selections work with, for as many as run side by side: it stays, so that a steady one allocates nothing.
class SelectionScratch {
 public:
  SelectionScratch();
  ~SelectionScratch();
  SelectionScratch(const SelectionScratch&) = delete;
  SelectionScratch& operator=(const SelectionScratch&) = delete;

  std::unique_ptr<Selector> take();
  void give_back(std::unique_ptr<Selector> selector);

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<Selector>> free_;
};

void select_largest(Context& context, const Loops& loops, SelectionScratch& scratch, const SelectPlan& plan,
                    const Selection& to);
void count_reaching(Context& context, const Loops& loops, const SelectPlan& plan, std::int64_t pieces,
                    std::int64_t* counts);
void select_reaching(Context& context, const Loops& loops, const SelectPlan& plan, const Selection& to);

void count_pieces(const SparseList& list, std::int64_t elements, std::int64_t pieces, std::int64_t* counts);
void take(const Array& data, const SparseList& list, void* values);
void put(const Array& data, const SparseList& list, bool add);

void sum_sparse(Context& context, const Loops& loops, const SparseSum& job);

}  // namespace gradstep::cpu
