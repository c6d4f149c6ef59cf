// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// What a backend does for the exchange of gradients: selections, sparse sums, factors of low rank, dot products.
#pragma once

#include <cstdint>
#include <span>

#include "backend/prepared.h"
#include "backend/work_list.h"
#include "core/array.h"
#include "kernels/adasum.h"

namespace gradstep {

/// The dot products of two arrays over a chunk.
using kernels::Dots;

/// destination = what Adasum makes of the vectors (kernels/adasum.h), as a LinearCombination of them.
struct AdasumMerge {
  Array destination;               ///< may be one of the vectors
  std::span<const Array> vectors;  ///< of one dtype; parts of one parameter
  const Dots* dots = nullptr;      ///< in the backend's memory; over the chunks of the whole parameter
  std::int64_t chunks = 0;
  std::span<const int> exponents;  ///< vector v is stored for 2^-exponents[v] of itself; empty = all are 0
};

struct AdasumPlan {
  const WorkList* work = nullptr;
  std::span<const AdasumMerge> items;
  kernels::AdasumRule rule = kernels::AdasumRule::pair;
  std::int64_t stride = 1;  ///< dots over one chunk, from those over the next
  Prepared prepared;
};

/// What a selection does with NaNs, which count as larger than infinity.
struct NanRule {
  bool zero = false;              ///< those that would be selected become zero, until there are none
  Array also;                     ///< which becomes zero where they do; data NULL = nothing
  std::int64_t* found = nullptr;  ///< in the backend's memory: += how many were selected; NULL = not asked for
};

/// `count` of the next `size` elements.
struct SelectPart {
  std::int64_t size = 0;
  std::int64_t count = 0;  ///< at most size
};

/// What to select from `data`, contiguous f32 or f64, by magnitude.
struct SelectPlan {
  Array data;
  std::span<const SelectPart> parts;  ///< of data, one after the other: each one's largest, ties to the lowest index
  double threshold = 0;               ///< or all that reach it but zeros
  NanRule nans;
  Prepared prepared;
};

/// Where a selection goes, in the backend's memory: indices ascend, values[j] = data[indices[j]].
struct Selection {
  std::int32_t* indices = nullptr;
  void* values = nullptr;
};

/// Some elements of an array; all of it in the backend's memory. No index occurs twice.
struct SparseList {
  const std::int32_t* indices = nullptr;
  const void* values = nullptr;
  std::int64_t count = 0;
  const std::int64_t* present = nullptr;  ///< how many of `count` there are; NULL = all
};

/// destination[i] = (v0 + v1 + ...) / divisor where list r has value v_r for i, in the order of the lists; other
/// elements stay. Indices of each list ascend, and only those in [begin, end) occur; `present` is not looked at.
struct SparseSum {
  Array destination;  ///< contiguous f32 or f64, as the values
  std::span<const SparseList> lists;
  std::int64_t begin = 0;
  std::int64_t end = 0;
  double divisor = 1;
  // In the backend's memory: the indices that occur, each once, in any order, and how many they are.
  std::int32_t* touched = nullptr;  ///< room for all lists together
  std::int64_t* touched_count = nullptr;
  Prepared prepared;
};

/// A matrix m of rows x cols and `rank` pairs of factors: p has rank x rows numbers, q rank x cols, one factor after
/// the other. All contiguous, f32 or f64 as m.
struct LowRank {
  Array m;
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::int64_t rank = 0;
  void* p = nullptr;
  void* q = nullptr;
  void* result = nullptr;          ///< where an expansion of the factors goes: as many numbers as m has, of its dtype
  const void* q_before = nullptr;  ///< for keep_factors(), as q
};

/// Matrices of one dtype, which share nothing.
struct LowRankPlan {
  std::span<const LowRank> matrices;
  Prepared prepared;
};

}  // namespace gradstep
