// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Sums of sparse lists, chunk by chunk: the part of each list that belongs to a chunk is found by bisection and added
// in the order of the lists. A bit per element tells the first addition, which assigns, from the others.
#pragma once

#include "cpu/loops/block.h"

namespace gradstep::cpu {
namespace {

/// How many indices are below `bound`.
GRADSTEP_FORMULA std::int64_t lower_bound(const SparseList& list, std::int64_t bound) {
  std::int64_t first = 0;
  for (std::int64_t left = list.count; left > 0;) {
    const std::int64_t half = left / 2;
    const bool below = list.indices[first + half] < bound;
    first = below ? first + half + 1 : first;
    left = below ? left - half - 1 : half;
  }
  return first;
}

template <class T>
std::int64_t sum_sparse_typed(const SparseSum& job, std::int64_t begin, std::int64_t end, std::int32_t* touched) {
  constexpr std::int64_t kWord = 64;
  std::uint64_t seen[kChunk / kWord] = {};
  T* to = static_cast<T*>(job.destination.data);
  for (std::size_t r = 0; r < job.lists.size(); ++r) {
    const SparseList& list = job.lists.data()[r];
    const T* values = static_cast<const T*>(list.values);
    for (std::int64_t j = lower_bound(list, begin); j < list.count && list.indices[j] < end; ++j) {
      const std::int32_t i = list.indices[j];
      const std::int64_t place = i - begin;
      const std::uint64_t bit = std::uint64_t{1} << (place % kWord);
      const bool again = (seen[place / kWord] & bit) != 0;
      to[i] = again ? to[i] + values[j] : values[j];
      seen[place / kWord] |= bit;
    }
  }
  const T divisor = static_cast<T>(job.divisor);
  std::int64_t count = 0;
  for (std::int64_t word = 0; word < (end - begin + kWord - 1) / kWord; ++word) {
    for (std::uint64_t bits = seen[word]; bits != 0; bits &= bits - 1) {
      const std::int64_t i = begin + word * kWord + __builtin_ctzll(bits);
      if (divisor != T{1}) to[i] = to[i] / divisor;
      touched[count++] = static_cast<std::int32_t>(i);
    }
  }
  return count;
}

std::int64_t sum_sparse_chunk(const SparseSum& job, std::int64_t begin, std::int64_t end, std::int32_t* touched) {
  return job.destination.dtype == DType::f64 ? sum_sparse_typed<double>(job, begin, end, touched)
                                             : sum_sparse_typed<float>(job, begin, end, touched);
}

}  // namespace
}  // namespace gradstep::cpu
