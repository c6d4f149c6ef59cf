// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>

#include "cpu/linear_algebra/root_arithmetic.h"

namespace gradstep::cpu {

/// What coupled Newton works on.
template <class T>
struct NewtonScratch {
  static constexpr std::size_t kSquares = 5;

  std::array<T*, kSquares> squares;  ///< each (n, n)
  PowerScratch<T> vectors;
};

/// (S + ridge I)^(-1/p) by coupled Newton, in products of matrices alone (docs/shampoo.md, Roots). `root` becomes one
/// of the matrices of the scratch.
template <class T>
RootResult newton_root(const Products<T>& products, std::int64_t n, const RootOptions& options, ReadStatistic<T> read,
                       const NewtonScratch<T>& scratch, T*& root);

}  // namespace gradstep::cpu
