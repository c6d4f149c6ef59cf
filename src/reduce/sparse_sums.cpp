// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "reduce/sparse_sums.h"

#include "reduce/sparse_messages.h"

namespace gradstep {

SparseSums::SparseSums(const ExchangeResources& resources, const Array& sum)
    : resources_(resources),
      sum_(sum),
      touched_memory_(resources.site.backend().memory()),
      norm_(resources.site.allocate(sizeof(double), /*zeroed=*/true)) {}

// Should the rest of an exchange fail, the next one does not know where to clear.
void SparseSums::clear() {
  if (all_touched_) {
    queue().zero(sum_.data, static_cast<std::size_t>(sum_.bytes()));
  } else if (touched_.count > 0) {
    backend().put(sum_, touched_, /*add=*/false, queue());
  }
  touched_ = {};
  all_touched_ = true;
}

/// Room for so many indices, behind that of their count.
std::int32_t* SparseSums::reserve_touched(std::int64_t count) {
  constexpr std::int64_t kCountBytes = sizeof(std::int64_t);
  std::byte* memory = touched_memory_.reserve(kCountBytes + SparseMessages::indices_bytes(count));
  plan_.touched_count = reinterpret_cast<std::int64_t*>(memory);
  return reinterpret_cast<std::int32_t*>(memory + kCountBytes);
}

void SparseSums::add_up(std::span<const SparseList> lists, std::int64_t begin, std::int64_t end, double divisor) {
  std::int64_t room = 0;
  for (const SparseList& list : lists) room += list.count;
  clear();
  plan_.destination = sum_;
  plan_.lists = lists;
  plan_.begin = begin;
  plan_.end = end;
  plan_.divisor = divisor;
  plan_.touched = reserve_touched(room);
  backend().sum_sparse(plan_, queue());
  touched_ = {plan_.touched, nullptr, room, plan_.touched_count};
  all_touched_ = end - begin < sum_.size;  // what others add up is still to come
}

void SparseSums::put(std::span<const SparseList> lists) {
  std::int64_t total = 0;
  for (const SparseList& list : lists) total += list.count;
  all_touched_ = true;
  std::int32_t* indices = reserve_touched(total);
  touched_ = {indices, nullptr, total, nullptr};
  for (const SparseList& list : lists) {
    backend().put(sum_, list, /*add=*/false, queue());
    queue().copy(indices, list.indices, static_cast<std::size_t>(SparseMessages::indices_bytes(list.count)));
    indices += list.count;
  }
  all_touched_ = false;
}

std::int64_t SparseSums::touched_count() const {
  return touched_.present != nullptr ? read(queue(), touched_.present) : touched_.count;
}

void SparseSums::measure(std::span<const SparseList> lists) {
  values_work_.clear();
  values_.clear();
  values_.reserve(lists.size());
  for (const SparseList& list : lists) {
    values_work_.append(list.count);
    values_.push_back(compact_array(const_cast<void*>(list.values), list.count, sum_.dtype));
  }
  values_norm_.work = &values_work_;
  values_norm_.arrays = {values_, /*version=*/0};
  backend().measure(values_norm_, norm_.as<double>(), queue());
}

}  // namespace gradstep
