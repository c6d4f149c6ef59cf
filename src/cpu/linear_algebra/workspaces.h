// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Scratch of the tasks of a step. It is kept from step to step, and there is as much as threads run at once; more than
// a plan has foreseen (a host's own threads) bring theirs when they come.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/aligned_vector.h"
#include "cpu/linear_algebra/arithmetic.h"
#include "cpu/linear_algebra/pool.h"
#include "cpu/linear_algebra/roots.h"

namespace gradstep::cpu {

/// Scratch in the arithmetic of T.
template <class T>
struct Scratches {
  AlignedVector<T> first;
  AlignedVector<T> second;
  AlignedVector<T> third;
  AlignedVector<T> packed;  // of products

  std::size_t bytes() const {
    return (first.capacity() + second.capacity() + third.capacity() + packed.capacity()) * sizeof(T);
  }
};

/// How many numbers a task needs of each.
struct ScratchSizes {
  std::int64_t first = 0;
  std::int64_t second = 0;
  std::int64_t third = 0;
  std::int64_t packed = 0;
};

/// What threads that share a product pack its operands into.
struct SharedScratch : PerType<AlignedVector> {
  std::size_t bytes() const { return f32.capacity() * sizeof(float) + f64.capacity() * sizeof(double); }
};

struct Workspace : PerType<Scratches> {
  SharedScratch* shared = nullptr;  ///< not NULL while all threads work on the task
  RootSolver<double> roots;
  RootSolver<float> narrow_roots;

  template <class T>
  static T* resized(AlignedVector<T>& scratch, std::int64_t count) {
    grow(scratch, count);
    return scratch.data();
  }
  template <class T>
  void reserve(const ScratchSizes& sizes) {
    Scratches<T>& scratches = in<T>();
    resized(scratches.first, sizes.first);
    resized(scratches.second, sizes.second);
    resized(scratches.third, sizes.third);
    resized(scratches.packed, sizes.packed);
  }
  std::size_t bytes() const { return f32.bytes() + f64.bytes() + roots.bytes() + narrow_roots.bytes(); }
};

class Workspaces : public Pool<Workspace> {
 public:
  /// Room for `count` tasks at once that need so much each. While nothing is lent.
  void reserve(std::size_t count, const ScratchSizes& f32, const ScratchSizes& f64) {
    grow(count);
    for (const auto& workspace : all()) {
      workspace->reserve<float>(f32);
      workspace->reserve<double>(f64);
    }
  }
  /// prepare(workspace) for those that `count` tasks at once get: the last ones. While nothing is lent.
  template <class Prepare>
  void prepare(std::size_t count, Prepare prepare) {
    grow(count);
    for (const auto& workspace : all().last(count)) prepare(*workspace);
  }
  /// While nothing is lent.
  std::size_t bytes() const {
    std::size_t total = 0;
    for (const auto& workspace : all()) total += workspace->bytes();
    return total;
  }
};

}  // namespace gradstep::cpu
