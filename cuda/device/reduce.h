// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Sums in f64 whose order is that of every other device (docs/numerics.md): a chunk has four quarters, a quarter 16
// lanes, element i of a quarter goes to lane i mod 16; lanes are folded in one tree, quarters in another, chunks in a
// third. A chunk has 64 threads here, one for each lane.
#pragma once

#include <cstddef>

#include "backend/chunk.h"
#include "device/block.h"
#include "kernels/fold.h"

namespace gradstep::cuda {

inline constexpr int kLanes = 16;
inline constexpr int kTeam = 64;  ///< threads for a chunk
inline constexpr std::int64_t kQuarter = kChunk / 4;
static_assert(kTeam == 4 * kLanes);

/// sum + x y of two numbers of type T. Of f32 the product is exact in f64: fused or not, it is rounded once.
template <class T>
GRADSTEP_DEVICE double add_product(double sum, double x, double y) {
#if defined(__CUDA_ARCH__)
  if constexpr (sizeof(T) == sizeof(float)) return __fma_rn(x, y, sum);
#endif
  return sum + x * y;
}

/// body(i) for the elements i < length of a chunk that are a thread's in its team, in their order.
template <class Body>
GRADSTEP_DEVICE void for_each_of_lane(const Block& block, std::int64_t length, Body body) {
  const int thread = block.thread() % kTeam;
  const std::int64_t begin = thread / kLanes * kQuarter;
  const std::int64_t end = begin + kQuarter < length ? begin + kQuarter : length;
  for (std::int64_t i = begin + thread % kLanes; i < end; i += kLanes) body(i);
}

/// load(i) and use(i, what it has loaded) for i = begin, begin + step, ... below `end`, in their order: kAhead loads
/// are under way before the first use.
template <int kAhead, class Load, class Use>
GRADSTEP_DEVICE void walk_ahead(std::int64_t begin, std::int64_t end, std::int64_t step, Load load, Use use) {
  std::int64_t i = begin;
  for (; i + (kAhead - 1) * step < end; i += kAhead * step) {
    decltype(load(i)) loaded[std::size_t{kAhead}];
    GRADSTEP_UNROLL
    for (int k = 0; k < kAhead; ++k) loaded[k] = load(i + k * step);
    GRADSTEP_UNROLL
    for (int k = 0; k < kAhead; ++k) use(i + k * step, loaded[k]);
  }
  for (; i < end; i += step) use(i, load(i));
}

/// Whether all of `count` numbers are zero. Asked by a whole block, which reads no further once it has found others;
/// `others` is the block's own, and counts the threads that have.
template <int kThreads, class T>
GRADSTEP_DEVICE bool are_zero(Block& block, const T* numbers, std::int64_t count, unsigned& others) {
  if (block.thread() == 0) others = 0;
  block.sync();
  bool is_zero = true;
  for (std::int64_t i = block.thread(); i < count && is_zero; i += kThreads) is_zero = block.load(numbers + i) == 0;
  if (!is_zero) block.atomic_add_shared(&others, 1U);
  block.sync();
  return others == 0;
}

/// at(0) + at(1) + ... + at(count - 1), from the left.
template <class At>
GRADSTEP_DEVICE double sum_in_order(std::int64_t count, At at) {
  double sum = 0;
  walk_ahead<16>(0, count, 1, at, [&](std::int64_t, double x) { sum += x; });
  return sum;
}

/// walk_ahead() over the elements i < length of a chunk that are a thread's in its team, four loads ahead.
template <class Load, class Use>
GRADSTEP_DEVICE void for_each_of_lane(const Block& block, std::int64_t length, Load load, Use use) {
  const int thread = block.thread() % kTeam;
  const std::int64_t begin = thread / kLanes * kQuarter;
  const std::int64_t end = begin + kQuarter < length ? begin + kQuarter : length;
  walk_ahead<4>(begin + thread % kLanes, end, kLanes, load, use);
}

/// The sum over the 16 lanes of a group of threads, in each of them.
GRADSTEP_DEVICE double fold_lanes(Block& block, double sum) {
  for (int width = kLanes / 2; width > 0; width /= 2) sum += block.shuffle_xor(sum, width);
  return sum;
}

/// The sum over a warp, in each of its threads; all of them have the same bits.
GRADSTEP_DEVICE double fold_warp(Block& block, double sum) {
  static_assert(kWarp == 2 * kLanes);
  sum = fold_lanes(block, sum);
  return sum + block.shuffle_xor(sum, kLanes);
}

/// A thread in a block whose threads are teams, with a chunk each.
template <int kThreads>
struct Teams {
  static constexpr int kCount = kThreads / kTeam;
  struct Shared {
    double halves[std::size_t{kCount}][kTeam / kWarp];
  };

  std::int64_t chunk;  ///< of its team; there may be none
  bool is_first;       ///< of its team

  GRADSTEP_DEVICE explicit Teams(const Block& block)
      : chunk(block.index() * kCount + block.thread() / kTeam), is_first(block.thread() % kTeam == 0) {}

  /// The sum over the thread's team, in each of it. All threads of the block take part.
  GRADSTEP_DEVICE double fold(Block& block, double sum, Shared& shared) const {
    double* own = shared.halves[block.thread() / kTeam];
    sum = fold_warp(block, sum);  // two quarters
    block.sync();
    if (block.thread() % kWarp == 0) own[block.thread() % kTeam / kWarp] = sum;
    block.sync();
    return own[0] + own[1];
  }
};

/// kernels::fold() of at(0) ... at(count - 1) by a block of kThreads, in thread 0. `shared` has a place for each.
template <class T, int kThreads, class At>
GRADSTEP_DEVICE T fold_by_block(Block& block, std::int64_t count, T* shared, At at) {
  std::int64_t length = 1;  // of the trees that threads make alone, a power of two
  while (length * kThreads < count) length *= 2;
  std::int64_t trees = (count + length - 1) / length;
  const int thread = block.thread();
  block.sync();
  if (thread < trees) {
    const std::int64_t first = thread * length;
    const std::int64_t own = count - first < length ? count - first : length;
    shared[thread] = kernels::fold<T>(own, [&](std::int64_t i) { return at(first + i); });
  }
  block.sync();
  while (trees > 1) {
    const std::int64_t pairs = trees / 2;
    const std::int64_t left = (trees + 1) / 2;
    T tree{};
    if (thread < pairs) {
      tree = shared[2 * thread] + shared[2 * thread + 1];
    } else if (thread < left) {
      tree = shared[trees - 1];  // has no neighbour
    }
    block.sync();
    if (thread < left) shared[thread] = tree;
    block.sync();
    trees = left;
  }
  return trees > 0 ? shared[0] : T{};
}

/// kernels::fold() of numbers in the device's memory, by a block of kThreads.
template <std::size_t kThreads>
GRADSTEP_DEVICE double fold_by_block(Block& block, const double* numbers, std::int64_t count,
                                     double (&shared)[kThreads]) {
  return fold_by_block<double, int{kThreads}>(block, count, shared,
                                              [&](std::int64_t i) { return block.load(numbers + i); });
}

}  // namespace gradstep::cuda
