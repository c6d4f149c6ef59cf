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
};

/// A block has a range of the destination and adds up what the lists have there, one list after the other, in shared
/// memory: so every entry is read once, beside its neighbours.
template <class T>
struct SumSparse {
  static constexpr const char* kName = "sum_sparse";
  static constexpr int kThreads = 256;
  static constexpr std::size_t kElements = 32 * 1024 / sizeof(T);
  static constexpr auto kRange = static_cast<std::int64_t>(kElements);
  static constexpr std::int64_t kLists = kThreads / 2;  ///< whose parts are looked for at once
  struct Shared {
    T sums[kElements];
    std::int64_t bounds[2 * kLists];
    Counter first_touched;
    unsigned touched;
    std::uint8_t has_sum[kElements];
  };

  const List* lists;
  std::int64_t count;
  std::int64_t begin;
  T* destination;
  T divisor;
  std::int32_t* touched;
  Counter* touched_count;

  GRADSTEP_DEVICE void operator()(Block& block) const {
    auto& shared = block.shared<Shared>();
    const std::int64_t first = begin + block.index() * kRange;
    for (std::int64_t i = block.thread(); i < kRange; i += kThreads) shared.has_sum[i] = 0;
    for (std::int64_t group = 0; group < count; group += kLists) {
      find_parts(block, first, group, shared);
      for (std::int64_t r = 0; r < kLists && group + r < count; ++r) {
        const List list = block.load(lists + group + r);
        for (std::int64_t j = shared.bounds[2 * r] + block.thread(); j < shared.bounds[2 * r + 1]; j += kThreads) {
          const std::int64_t place = block.load(list.indices + j) - first;
          const T value = block.load(static_cast<const T*>(list.values) + j);
          shared.sums[place] = shared.has_sum[place] != 0 ? shared.sums[place] + value : value;
          shared.has_sum[place] = 1;
        }
        block.sync();
      }
    }
    write(block, first, shared);
  }

  /// Two threads have a list: where its part begins, and where it ends. A barrier.
  GRADSTEP_DEVICE void find_parts(Block& block, std::int64_t first, std::int64_t group, Shared& shared) const {
    const std::int64_t r = group + block.thread() / 2;
    if (r < count) {
      const List& list = *block.checked(lists + r);
      shared.bounds[block.thread()] =
          lower_bound(block, list.indices, list.count, block.thread() % 2 == 0 ? first : first + kRange);
    }
    block.sync();
  }

  /// Warps take 32 elements after each other; each has a part of the block's place among the touched ones.
  GRADSTEP_DEVICE void write(Block& block, std::int64_t first, Shared& shared) const {
    const int lane = block.thread() % kWarp;
    unsigned own = 0;
    for (std::int64_t i = block.thread(); i < kRange; i += kThreads) own += shared.has_sum[i];
    own = warp_sum(block, own);
    if (block.thread() == 0) shared.touched = 0;
    block.sync();
    unsigned before = 0;
    if (lane == 0) before = block.atomic_add_shared(&shared.touched, own);
    block.sync();
    if (block.thread() == 0) shared.first_touched = block.atomic_add(touched_count, Counter{shared.touched});
    block.sync();
    std::int32_t* to = touched + (shared.first_touched + block.shuffle(before, 0));
    for (std::int64_t i = block.thread(); i < kRange; i += kThreads) {
      const bool has_sum = shared.has_sum[i] != 0;
      const std::uint32_t all = block.ballot(has_sum);
      if (has_sum) {
        block.store(destination + first + i, divisor != T{1} ? shared.sums[i] / divisor : shared.sums[i]);
        block.store(to + popcount(all & ((1U << lane) - 1)), static_cast<std::int32_t>(first + i));
      }
      to += popcount(all);
    }
  }
};

struct SumForm {
  Table table;
  std::vector<List> lists;

  std::size_t bytes() const { return held_bytes(table, lists); }
};

template <class T>
void sum_typed(const SparseSum& job, const List* lists, CudaQueue& queue) {
  launch(
      queue, parts_of(job.end - job.begin, SumSparse<T>::kRange),
      SumSparse<T>{lists, static_cast<std::int64_t>(job.lists.size()), job.begin, static_cast<T*>(job.destination.data),
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
  for (const SparseList& list : job.lists) form.lists.push_back({list.indices, list.values, list.count});
  form.table.begin(queue);
  const auto lists = form.table.add(form.lists);
  form.table.send();
  queue.zero(job.touched_count, sizeof *job.touched_count);
  if (job.destination.dtype == DType::f64) {
    sum_typed<double>(job, form.table.at(lists), queue);
  } else {
    sum_typed<float>(job, form.table.at(lists), queue);
  }
}

}  // namespace gradstep::cuda
