// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Reduction over ranks, always in their order: ((s0 + s1) + s2) + ... Blocks keep the running result in the first-level
// cache; the destination is written after every source of the block has been read, so it may be any of them.
#pragma once

#include "cpu/loops/stream.h"
#include "gradstep/comm.h"
#include "kernels/rank_operations.h"

namespace gradstep::cpu {
namespace {

template <class Op, class T>
[[gnu::noinline]] void combine_block(Op op, T* to, const T* a, const T* b, std::int64_t count) {
  GRADSTEP_INDEPENDENT
  for (std::int64_t i = 0; i < count; ++i) to[i] = op(a[i], b[i]);
}

template <class T>
[[gnu::noinline]] void divide_block(T* x, std::int64_t count, T divisor) {
  GRADSTEP_INDEPENDENT
  for (std::int64_t i = 0; i < count; ++i) x[i] = x[i] / divisor;
}

/// Elements of `Stored`, combined in `T`.
template <class Stored, class T, class Op>
void reduce_blocks(Op op, const RankSum& job, std::int64_t begin, std::int64_t length) {
  constexpr bool kInPlace = std::is_same_v<Stored, T>;
  const void* const* sources = job.sources.data();
  const std::size_t ranks = job.sources.size();
  const T divisor = static_cast<T>(job.divisor);
  Scratch<T> result_scratch;
  Scratch<T> source_scratch;
  for_each_block(length, [&](std::int64_t first, std::int64_t count, std::int64_t) {
    Stored* destination = static_cast<Stored*>(job.destination) + begin + first;
    const auto source = [&](std::size_t rank, T* scratch) -> const T* {
      const Stored* stored = static_cast<const Stored*>(sources[rank]) + begin + first;
      help_prefetcher(stored, count);
      if constexpr (kInPlace) {
        return stored;
      } else {
        convert_block(stored, scratch, count);
        return scratch;
      }
    };
    const T* result = source(0, result_scratch.values);
    for (std::size_t rank = 1; rank < ranks; ++rank) {
      T* to = result_scratch.values;
      if constexpr (kInPlace) {
        if (rank + 1 == ranks) to = destination;
      }
      combine_block(op, to, result, source(rank, source_scratch.values), count);
      result = to;
    }
    if constexpr (kInPlace) {
      copy_block(destination, result, count);
      if (divisor != T{1}) divide_block(destination, count, divisor);
    } else {
      if (divisor != T{1}) divide_block(result_scratch.values, count, divisor);
      convert_block(result, destination, count);
    }
  });
}

template <class Op>
void reduce_dtypes(Op op, const RankSum& job, std::int64_t begin, std::int64_t length) {
  switch (job.dtype) {
    case DType::f32:
      return reduce_blocks<float, float>(op, job, begin, length);
    case DType::f64:
      return reduce_blocks<double, double>(op, job, begin, length);
    case DType::f16:
      return reduce_blocks<Float16, float>(op, job, begin, length);
    case DType::bf16:
      return reduce_blocks<BFloat16, float>(op, job, begin, length);
    case DType::i32:
      return reduce_blocks<std::int32_t, std::int32_t>(op, job, begin, length);
    case DType::i64:
      return reduce_blocks<std::int64_t, std::int64_t>(op, job, begin, length);
    case DType::u8:
      return;  // bytes are codes: nothing to add
  }
}

void sum_ranks_piece(const RankSum& job, std::int64_t begin, std::int64_t length) {
  switch (job.op) {
    case GRADSTEP_REDUCE_MAX:
      return reduce_dtypes(kernels::Max{}, job, begin, length);
    case GRADSTEP_REDUCE_MIN:
      return reduce_dtypes(kernels::Min{}, job, begin, length);
    default:
      return reduce_dtypes(kernels::Sum{}, job, begin, length);
  }
}

}  // namespace
}  // namespace gradstep::cpu
