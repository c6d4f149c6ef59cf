// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// What the exchange of one bucket takes of a rank in each mode, and what that costs. The only place with these
// formulas: mode AUTO chooses by them, and gradstep_predict_costs shows them.
#pragma once

#include <cstdint>

#include "comm/communicator.h"

namespace gradstep {

/// Amounts of everything that an exchange consists of; or, in nanoseconds, the price of one of each.
struct ExchangeCost {
  double round = 0;     ///< collective calls, whatever they carry
  double byte = 0;      ///< bytes that a rank sends
  double pack = 0;      ///< elements copied into the bucket, or out of a residual
  double convert = 0;   ///< elements cast to 16 bits, or encoded in 8, and back
  double select = 0;    ///< elements looked at when the largest are selected
  double entry = 0;     ///< entries of sparse lists taken or summed
  double add = 0;       ///< elements added to a dense sum; their price is 0 where that of bytes was measured with them
  double merge = 0;     ///< Adasum: elements of one vector merged into another, dot products included
  double multiply = 0;  ///< PowerSGD: elements of the matrix times columns of a factor
};

/// What a window of one bucket does.
struct ExchangeSize {
  double ranks = 1;
  double elements = 0;
  double element_bytes = 4;
  bool can_exchange = true;                               ///< ranks reach each other; else every call is an all-gather
  double piece_bytes = static_cast<double>(kPieceBytes);  ///< Communicator::piece_bytes
};

ExchangeCost operator+(const ExchangeCost& a, const ExchangeCost& b);

/// The sum of all products.
double priced(const ExchangeCost& amounts, const ExchangeCost& prices);

/// Communicator::all_reduce of `elements` that have `element_bytes` on the wire.
ExchangeCost all_reduce_cost(const ExchangeSize& size);
/// Mode DENSE: packing, and that.
ExchangeCost dense_cost(const ExchangeSize& size);
/// Modes HALF and BFLOAT16.
ExchangeCost half_cost(const ExchangeSize& size);
/// Mode INT8.
ExchangeCost int8_cost(const ExchangeSize& size);
/// Mode SPARSE_TOPK; selections of the ranks are taken to be independent, which makes the split dearer than it may
/// turn out.
ExchangeCost sparse_gather_cost(const ExchangeSize& size, double sparsity);
ExchangeCost sparse_split_cost(const ExchangeSize& size, double sparsity);
ExchangeCost adasum_tree_cost(const ExchangeSize& size);
ExchangeCost adasum_nway_cost(const ExchangeSize& size);

/// Mode POWERSGD: how the bucket's elements lie in matrices.
struct FactorSize {
  double rows = 1;
  double columns = 1;
  double rank = 1;
  /// Whether factors are smaller than the matrix; it travels densely if not.
  bool pays() const { return (rows + columns) * rank < rows * columns; }
};
/// The two all-reduces of a bucket's left and right factors: `size` with their elements.
ExchangeSize left_factors(const ExchangeSize& size, const FactorSize& factors);
ExchangeSize right_factors(const ExchangeSize& size, const FactorSize& factors);
ExchangeCost power_sgd_cost(const ExchangeSize& size, const FactorSize& factors);

}  // namespace gradstep
