// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Some elements of an array: messages of sparse exchanges, and their sums.
#include <vector>

#include "device/view.h"
#include "operations.h"
#include "runtime/launch.h"
#include "runtime/table.h"

namespace gradstep::cuda {

namespace {

using Counter = unsigned long long;

/// How many of the first `count` indices are below `bound`.
GRADSTEP_DEVICE std::int64_t lower_bound(const Block& block, const std::int32_t* indices, std::int64_t count,
                                         std::int64_t bound) {
  std::int64_t first = 0;
  while (count > 0) {
    const std::int64_t half = count / 2;
    if (block.load(indices + first + half) < bound) {
      first += half + 1;
      count -= half + 1;
    } else {
      count = half;
    }
  }
  return first;
}

GRADSTEP_DEVICE std::int64_t length_of(const Block& block, const SparseList& list) {
  return list.present != nullptr ? block.load(list.present) : list.count;
}

/// A thread has a piece.
struct CountPieces {
  static constexpr const char* kName = "count_pieces";
  static constexpr int kThreads = 128;

  SparseList list;
  std::int64_t elements;
  std::int64_t pieces;
  std::int64_t* counts;

  GRADSTEP_DEVICE void operator()(Block& block) const {
    const std::int64_t q = element_of(block);
    if (q >= pieces) return;
    const std::int64_t length = length_of(block, list);
    const std::int64_t begin = lower_bound(block, list.indices, length, elements * q / pieces);
    const std::int64_t end = lower_bound(block, list.indices, length, elements * (q + 1) / pieces);
    block.store(counts + q, end - begin);
  }
};

/// A thread has an element of the list.
template <class T>
struct Take {
  static constexpr const char* kName = "take";
  static constexpr int kThreads = 256;

  const T* data;
  SparseList list;
  T* values;

  GRADSTEP_DEVICE void operator()(Block& block) const {
    const std::int64_t j = element_of(block);
    if (j >= length_of(block, list)) return;
    block.store(values + j, block.load(data + block.load(list.indices + j)));
  }
};

template <class T>
struct Put {
  static constexpr const char* kName = "put";
  static constexpr int kThreads = 256;

  T* data;
  SparseList list;
  bool adds;

  GRADSTEP_DEVICE void operator()(Block& block) const {
    const std::int64_t j = element_of(block);
    if (j >= length_of(block, list)) return;
    T* to = data + block.load(list.indices + j);
    T value{0};
    if (list.values != nullptr) value = block.load(static_cast<const T*>(list.values) + j);
    block.store(to, adds && list.values != nullptr ? block.load(to) + value : value);
  }
};

struct List {
  const std::int32_t* indices = nullptr;
  const void* values = nullptr;
  std::int64_t count = 0;
  std::int64_t first = 0;  ///< entry of all lists together
};

/// A thread has an entry. If its index occurs in no list before, it adds up all lists' values for it, in their order.
template <class T>
struct SumSparse {
  static constexpr const char* kName = "sum_sparse";
  static constexpr int kThreads = 256;

  const List* lists;
  std::int64_t count;
  std::int64_t entries;
  T* destination;
  T divisor;
  std::int32_t* touched;
  Counter* touched_count;

  GRADSTEP_DEVICE void operator()(Block& block) const {
    const std::int64_t entry = element_of(block);
    if (entry >= entries) return;
    std::int64_t r = 0;
    while (r + 1 < count && block.checked(lists + r + 1)->first <= entry) ++r;
    const List own = block.load(lists + r);
    const std::int32_t index = block.load(own.indices + entry - own.first);
    for (std::int64_t before = 0; before < r; ++before) {
      if (find(block, block.load(lists + before), index) >= 0) return;
    }
    T sum = block.load(static_cast<const T*>(own.values) + entry - own.first);
    for (std::int64_t after = r + 1; after < count; ++after) {
      const List list = block.load(lists + after);
      const std::int64_t j = find(block, list, index);
      if (j >= 0) sum = sum + block.load(static_cast<const T*>(list.values) + j);
    }
    if (divisor != T{1}) sum = sum / divisor;
    block.store(destination + index, sum);
    block.store(touched + block.atomic_add(touched_count, Counter{1}), index);
  }

  /// The place of the index in the list, or -1.
  GRADSTEP_DEVICE static std::int64_t find(const Block& block, const List& list, std::int32_t index) {
    const std::int64_t j = lower_bound(block, list.indices, list.count, index);
    return j < list.count && block.load(list.indices + j) == index ? j : -1;
  }
};

struct SumForm {
  Table table;
  std::vector<List> lists;
};

template <class T>
void sum_typed(const SparseSum& job, const List* lists, std::int64_t entries, CudaQueue& queue) {
  launch_each(
      queue, entries,
      SumSparse<T>{lists, static_cast<std::int64_t>(job.lists.size()), entries, static_cast<T*>(job.destination.data),
                   static_cast<T>(job.divisor), job.touched, reinterpret_cast<Counter*>(job.touched_count)});
}

}  // namespace

void count_pieces(const SparseList& list, std::int64_t elements, std::int64_t pieces, std::int64_t* counts,
                  CudaQueue& queue) {
  launch_each(queue, pieces, CountPieces{list, elements, pieces, counts});
}

void take(const Array& data, const SparseList& list, void* values, CudaQueue& queue) {
  if (data.dtype == DType::f64) {
    launch_each(queue, list.count, Take<double>{static_cast<double*>(data.data), list, static_cast<double*>(values)});
  } else {
    launch_each(queue, list.count, Take<float>{static_cast<float*>(data.data), list, static_cast<float*>(values)});
  }
}

void put(const Array& data, const SparseList& list, bool add, CudaQueue& queue) {
  if (data.dtype == DType::f64) {
    launch_each(queue, list.count, Put<double>{static_cast<double*>(data.data), list, add});
  } else {
    launch_each(queue, list.count, Put<float>{static_cast<float*>(data.data), list, add});
  }
}

void sum_sparse(const SparseSum& job, CudaQueue& queue) {
  auto& form = job.prepared.get<SumForm>();
  form.lists.clear();
  std::int64_t entries = 0;
  for (const SparseList& list : job.lists) {
    form.lists.push_back({list.indices, list.values, list.count, entries});
    entries += list.count;
  }
  form.table.begin(queue);
  const auto lists = form.table.add(form.lists);
  form.table.send();
  queue.zero(job.touched_count, sizeof *job.touched_count);
  if (job.destination.dtype == DType::f64) {
    sum_typed<double>(job, form.table.at(lists), entries, queue);
  } else {
    sum_typed<float>(job, form.table.at(lists), entries, queue);
  }
}

}  // namespace gradstep::cuda
