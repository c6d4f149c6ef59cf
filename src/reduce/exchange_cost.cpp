// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Counted from the code that does it: src/comm/channel.cpp, half.cpp, int8.cpp, sparse.cpp, adasum.cpp, power_sgd.cpp.
#include "reduce/exchange_cost.h"

#include <algorithm>
#include <cmath>

#include "backend/backend.h"
#include "comm/communicator.h"
#include "kernels/block_code.h"

namespace gradstep {

namespace {

constexpr double kIndexBytes = 4;
constexpr double kWithResidual = 2;  // two arrays are read where a dense sum reads one

double others(const ExchangeSize& size) { return (size.ranks - 1) / size.ranks; }
double bytes_of(const ExchangeSize& size) { return size.elements * size.element_bytes; }
double selected_of(const ExchangeSize& size, double sparsity) { return std::ceil(sparsity * size.elements); }

/// Small enough to be gathered as a whole: one round instead of two.
bool is_gathered(const ExchangeSize& size) {
  return bytes_of(size) * (size.ranks - 1) <= static_cast<double>(kGatherBytes);
}

/// Every rank gets its piece of all ranks' vectors, merges there, and gives the outcome to all. Between the two the
/// ranks gather the dot products of `pairs` pairs of vectors, chunk by chunk, in `levels` rounds.
ExchangeCost adasum_cost(const ExchangeSize& size, double levels, double pairs) {
  ExchangeCost cost;
  const double data = bytes_of(size);
  cost.pack = size.elements;
  if (is_gathered(size)) {
    cost.round = 1;
    cost.byte = data * (size.ranks - 1);
    cost.merge = size.elements * (size.ranks - 1);
    return cost;
  }
  const double chunks = std::ceil(size.elements / static_cast<double>(kChunk));
  cost.round = 2 + levels;
  cost.byte = 2 * others(size) * data + others(size) * pairs * chunks * static_cast<double>(sizeof(Dots));
  cost.merge = size.elements * others(size);
  // Pieces by all-gathers, owner by owner: every rank sends all of them to everyone.
  if (!size.can_exchange) {
    cost.byte += data * (size.ranks - 1) - others(size) * data;
    cost.round += size.ranks * std::ceil(data / size.ranks / static_cast<double>(kGatherSliceBytes)) - 1;
  }
  return cost;
}

}  // namespace

ExchangeCost operator+(const ExchangeCost& a, const ExchangeCost& b) {
  return {a.round + b.round, a.byte + b.byte, a.pack + b.pack,   a.convert + b.convert,  a.select + b.select,
          a.entry + b.entry, a.add + b.add,   a.merge + b.merge, a.multiply + b.multiply};
}

double priced(const ExchangeCost& amounts, const ExchangeCost& prices) {
  return amounts.round * prices.round + amounts.byte * prices.byte + amounts.pack * prices.pack +
         amounts.convert * prices.convert + amounts.select * prices.select + amounts.entry * prices.entry +
         amounts.add * prices.add + amounts.merge * prices.merge + amounts.multiply * prices.multiply;
}

ExchangeCost all_reduce_cost(const ExchangeSize& size) {
  ExchangeCost cost;
  if (size.ranks <= 1) return cost;
  const double data = bytes_of(size);
  if (is_gathered(size) || !size.can_exchange) {
    cost.round = std::max(1.0, std::ceil(data / static_cast<double>(kGatherSliceBytes)));
    cost.byte = data * (size.ranks - 1);
    cost.add = size.elements * size.ranks;
  } else {
    cost.round = 2 * std::ceil(data / (size.piece_bytes * size.ranks));
    cost.byte = 2 * others(size) * data;
    cost.add = size.elements;
  }
  return cost;
}

ExchangeCost dense_cost(const ExchangeSize& size) {
  ExchangeCost cost = all_reduce_cost(size);
  cost.pack = size.elements;
  return cost;
}

ExchangeCost half_cost(const ExchangeSize& size) {
  ExchangeSize wire = size;
  wire.element_bytes = 2;
  ExchangeCost cost = all_reduce_cost(wire);
  cost.convert = size.elements;
  cost.pack = size.elements;
  return cost;
}

// Codes of pieces to their owners, and of sums to all.
ExchangeCost int8_cost(const ExchangeSize& size) {
  ExchangeCost cost;
  const double codes = size.elements * (1 + sizeof(float) / static_cast<double>(kernels::kCodeBlock));
  cost.pack = kWithResidual * size.elements;
  cost.convert = 2 * size.elements;
  if (size.ranks <= 1) return cost;
  cost.round = 2;
  cost.byte = 2 * others(size) * codes;
  cost.add = size.elements;
  if (!size.can_exchange) {
    cost.byte += codes * (size.ranks - 1) - others(size) * codes;
    cost.round += size.ranks * std::ceil(codes / size.ranks / static_cast<double>(kGatherSliceBytes)) - 1;
  }
  return cost;
}

// One round, for all know how long the selections are.
ExchangeCost sparse_gather_cost(const ExchangeSize& size, double sparsity) {
  ExchangeCost cost;
  const double selected = selected_of(size, sparsity);
  cost.pack = kWithResidual * size.elements;
  cost.select = size.elements;
  cost.entry = selected * size.ranks;
  if (size.ranks <= 1) return cost;
  cost.round = 1;
  cost.byte = selected * (size.ranks - 1) * (kIndexBytes + size.element_bytes);
  return cost;
}

// Lengths, selections to the owners of the indices, lengths of the sums, sums.
ExchangeCost sparse_split_cost(const ExchangeSize& size, double sparsity) {
  ExchangeCost cost;
  const double selected = selected_of(size, sparsity);
  // As many different indices as so many independent selections have on average.
  const double different = size.elements * (1 - std::pow(1 - std::min(1.0, sparsity), size.ranks));
  cost.pack = kWithResidual * size.elements;
  cost.select = size.elements;
  cost.entry = selected + different;
  if (size.ranks <= 1) return cost;
  cost.round = 4;
  cost.byte = others(size) * (selected + different) * (kIndexBytes + size.element_bytes);
  return cost;
}

ExchangeCost adasum_tree_cost(const ExchangeSize& size) {
  if (size.ranks <= 1) return {};
  const double levels = std::floor(std::log2(size.ranks));
  const bool folds = std::exp2(levels) < size.ranks;  // ranks beyond the power of two merge first
  return adasum_cost(size, levels + (folds ? 1 : 0), size.ranks - 1);
}

ExchangeCost adasum_nway_cost(const ExchangeSize& size) {
  if (size.ranks <= 2) return adasum_tree_cost(size);  // the same rule
  ExchangeCost cost = adasum_cost(size, 1, size.ranks);
  cost.add = cost.merge + cost.merge / (size.ranks - 1);  // the sum that all are compared with
  return cost;
}

ExchangeSize left_factors(const ExchangeSize& size, const FactorSize& factors) {
  ExchangeSize wire = size;
  if (factors.pays()) wire.elements = factors.rank * size.elements / factors.columns;
  return wire;
}

ExchangeSize right_factors(const ExchangeSize& size, const FactorSize& factors) {
  ExchangeSize wire = size;
  wire.elements = factors.pays() ? factors.rank * size.elements / factors.rows : 0;
  return wire;
}

ExchangeCost power_sgd_cost(const ExchangeSize& size, const FactorSize& factors) {
  ExchangeCost cost = all_reduce_cost(left_factors(size, factors));
  cost.pack = kWithResidual * size.elements;
  if (!factors.pays()) return cost;
  cost = cost + all_reduce_cost(right_factors(size, factors));
  cost.multiply = size.elements * factors.rank;
  return cost;
}

}  // namespace gradstep
