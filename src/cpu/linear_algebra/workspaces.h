// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Scratch of the tasks of a step. It is kept from step to step, and there is as much as threads run at once; more than
// a plan has foreseen (a host's own threads) bring theirs when they come.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/aligned_vector.h"
#include "cpu/linear_algebra/pool.h"
#include "cpu/linear_algebra/roots.h"

namespace gradstep::cpu {

struct Workspace {
  AlignedVector<float> first;
  AlignedVector<float> second;
  AlignedVector<float> third;
  AlignedVector<float> packed;  // of products
  RootSolver<double> roots;
  RootSolver<float> narrow_roots;

  static float* resized(AlignedVector<float>& scratch, std::int64_t count) {
    if (scratch.size() < static_cast<std::size_t>(count)) scratch.resize(static_cast<std::size_t>(count));
    return scratch.data();
  }
  std::size_t bytes() const {
    return (first.capacity() + second.capacity() + third.capacity() + packed.capacity()) * sizeof(float) +
           roots.bytes() + narrow_roots.bytes();
  }
};

class Workspaces : public Pool<Workspace> {
 public:
  /// Room for `count` tasks at once that need so many numbers each. While nothing is lent.
  void reserve(std::size_t count, std::int64_t first, std::int64_t second, std::int64_t third, std::int64_t packed) {
    grow(count);
    for (const auto& workspace : all()) {
      Workspace::resized(workspace->first, first);
      Workspace::resized(workspace->second, second);
      Workspace::resized(workspace->third, third);
      Workspace::resized(workspace->packed, packed);
    }
  }
  /// prepare(workspace) for those that `count` tasks at once get: the last ones. While nothing is lent.
  template <class Prepare>
  void prepare(std::size_t count, Prepare prepare) {
    reserve(count, 0, 0, 0, 0);
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
