// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// A compact block between products over its axes, whatever their number and sizes. A product over the first axis puts
// that axis last and the next one first: each is one large product, and after all axes the block lies as it did.
#pragma once

#include <cstdint>
#include <utility>

#include "backend/preconditioning.h"
#include "cpu/linear_algebra/products.h"

namespace gradstep::cpu {

template <class T>
class TurnedBlock {
 public:
  /// The block's `size` numbers are in `x`; `other` is room for as many, with which x changes places.
  TurnedBlock(const Products<T>& products, T* x, T* other, std::int64_t size)
      : products_(products), x_(x), other_(other), size_(size) {}

  T* x() const { return x_; }
  T* other() const { return other_; }

  /// Puts the axis first that has `outer` elements before it. With 1 the block lies as it did.
  void turn(std::int64_t outer) {
    // What stands first and is to come last: the axes between here and there, around the end if need be.
    const std::int64_t first = outer >= moved_ ? outer / moved_ : size_ / moved_ * outer;
    moved_ = outer;
    if (first == 1 || first == size_) return;
    products_.loops().transpose(x_, first, size_ / first, other_);
    std::swap(x_, other_);
  }

  /// Contracts an axis with the rows of p (n, n), or with its columns if `by_columns`, and puts the next one first.
  void contract(const FactorPlan& axis, const T* p, bool by_columns) {
    turn(axis.outer);
    const std::int64_t others = size_ / axis.n;
    const AxisLayout columns{others, axis.n, 1, 1, others};
    contract_axis(products_, x_, columns, p, by_columns, other_, AxisLayout::last(axis.n, others));
    std::swap(x_, other_);
    moved_ = axis.outer * axis.n;
  }

 private:
  Products<T> products_;
  T* x_;
  T* other_;
  std::int64_t size_;
  std::int64_t moved_ = 1;  // elements of the axes that have gone last
};

}  // namespace gradstep::cpu
