// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// What the exchange of one bucket takes of a rank in each mode, and what that costs. The only place with these
// formulas: mode AUTO chooses by them, and gradstep_predict_costs shows them.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "comm/collectives.h"
#include "kernels/scaled_code.h"

namespace gradstep {

/// Amounts of everything that an exchange consists of; or, in nanoseconds, the price of one of each.
struct ExchangeCost {
  double call = 0;           ///< collective calls; they have no price of their own
  double round = 0;          ///< in which all ranks send to each other, whatever they carry
  double stage = 0;          ///< rounds of gathers in stages, in which a rank sends few messages
  double step = 0;           ///< rounds of a ring, in which a rank sends to the next one
  double byte = 0;           ///< bytes that a rank sends in these
  double inside_round = 0;   ///< sums by hosts: rounds of the ranks of each host
  double inside_byte = 0;    ///< and bytes
  double between_round = 0;  ///< sums by hosts: rounds of the ranks that own the same piece, one of each host
  double between_stage = 0;  ///< and those in stages
  double between_byte = 0;   ///< and bytes
  double pack = 0;           ///< elements copied into the bucket, or out of a residual
  double convert = 0;        ///< elements cast to 16 bits and back
  double encode = 0;         ///< elements written in 8 bits or 4
  double decode = 0;         ///< elements read from them
  double select = 0;         ///< elements looked at when the largest are selected
  double entry = 0;          ///< entries of sparse lists taken or summed
  double add = 0;       ///< elements added to a dense sum; their price is 0 where that of bytes was measured with them
  double merge = 0;     ///< Adasum: elements of one vector merged into another, dot products included
  double multiply = 0;  ///< PowerSGD: elements of a matrix whose factors have one column; see FactorSizes

  double rounds() const;
  double bytes() const;
  /// *this = combine(*this, other), number by number.
  template <class Combine>
  ExchangeCost& merge_with(const ExchangeCost& other, Combine combine);
};

using ExchangeAmount = double ExchangeCost::*;

/// What waits for the network, what passes through it, and what a rank does by itself.
inline constexpr std::array kRoundAmounts{&ExchangeCost::round,         &ExchangeCost::stage,
                                          &ExchangeCost::step,          &ExchangeCost::inside_round,
                                          &ExchangeCost::between_round, &ExchangeCost::between_stage};
inline constexpr std::array kByteAmounts{&ExchangeCost::byte, &ExchangeCost::inside_byte, &ExchangeCost::between_byte};
inline constexpr std::array kOwnAmounts{&ExchangeCost::call,    &ExchangeCost::pack,   &ExchangeCost::convert,
                                        &ExchangeCost::encode,  &ExchangeCost::decode, &ExchangeCost::select,
                                        &ExchangeCost::entry,   &ExchangeCost::add,    &ExchangeCost::merge,
                                        &ExchangeCost::multiply};
static_assert(kRoundAmounts.size() + kByteAmounts.size() + kOwnAmounts.size() == sizeof(ExchangeCost) / sizeof(double));

template <class Combine>
ExchangeCost& ExchangeCost::merge_with(const ExchangeCost& other, Combine combine) {
  for (const std::span<const ExchangeAmount> amounts :
       {std::span<const ExchangeAmount>(kRoundAmounts), std::span<const ExchangeAmount>(kByteAmounts),
        std::span<const ExchangeAmount>(kOwnAmounts)}) {
    for (const ExchangeAmount amount : amounts) this->*amount = combine(this->*amount, other.*amount);
  }
  return *this;
}

/// What a window of one bucket does.
struct ExchangeSize {
  double ranks = 1;
  double elements = 0;
  double element_bytes = 4;
  bool can_exchange = true;                               ///< ranks reach each other; else every call is an all-gather
  double piece_bytes = static_cast<double>(kPieceBytes);  ///< piece_bytes_of() its engine
  bool sums_natively = false;                             ///< an all-reduce is one of the engine's
  bool has_ring = false;                                  ///< large ones go round a ring
  bool is_over_network = false;                           ///< small gathers go in stages, which MPI's do not
  bool by_hosts = false;                                  ///< all-reduces are; then what follows counts
  double hosts = 1;
  double ranks_inside = 1;  ///< of a host
  double owners = 1;        ///< of these, that own a piece

  /// Buckets that leave together share their rounds, as ExchangeResources::has_common_rounds() has it.
  bool has_common_rounds() const { return is_over_network; }
};

ExchangeCost operator+(const ExchangeCost& a, const ExchangeCost& b);

/// The sum of all products, or of these.
double priced(const ExchangeCost& amounts, const ExchangeCost& prices);
double priced(const ExchangeCost& amounts, const ExchangeCost& prices, std::span<const ExchangeAmount> which);

/// Communicator::all_reduce of `elements` that have `element_bytes` on the wire. Bytes are those of a rank on average,
/// rounds those of the rank that has most.
ExchangeCost all_reduce_cost(const ExchangeSize& size);
/// Mode DENSE: packing, and that.
ExchangeCost dense_cost(const ExchangeSize& size);
/// Modes HALF and BFLOAT16; `in_half`: sums are made in half precision.
ExchangeCost half_cost(const ExchangeSize& size, bool in_half = false);
/// Modes INT8, INT4 and FP8_E4M3, FP8_E5M2.
ExchangeCost coded_cost(const ExchangeSize& size, kernels::NumberCode code);
/// Mode SPARSE_TOPK; selections of the ranks are taken to be independent, which makes the split cost more than it may
/// turn out.
ExchangeCost sparse_gather_cost(const ExchangeSize& size, double sparsity);
ExchangeCost sparse_split_cost(const ExchangeSize& size, double sparsity);
ExchangeCost adasum_tree_cost(const ExchangeSize& size);
ExchangeCost adasum_nway_cost(const ExchangeSize& size);

/// Mode POWERSGD: what a bucket's matrices become.
struct FactorSizes {
  double left = 0;        ///< elements of the first all-reduce: left factors, and what travels densely
  double right = 0;       ///< elements of the second; 0 = there is none
  double multiplied = 0;  ///< elements, as if factors had one column: see kReadInColumns
  /// An element takes so many columns' time to be read, and one for each column.
  static constexpr double kReadInColumns = 4;

  /// Factors of so many columns are smaller than the matrix; it travels densely if not.
  static bool pays(double rows, double columns, double rank) { return (rows + columns) * rank < rows * columns; }
  /// `matrices` more of rows x columns, which may be no whole number.
  void add(double rows, double columns, double rank, double matrices = 1);
};
ExchangeCost power_sgd_cost(const ExchangeSize& size, const FactorSizes& factors);
/// The control round, see ControlRound.
ExchangeCost control_cost(const ExchangeSize& size, double parameters);
/// What it adds to an exchange that begins with a gather: few numbers join that.
ExchangeCost joined_control_cost(const ExchangeSize& size, double parameters);
/// An all-reduce of `elements` is a gather, in one round; see RoundMaker::is_gathered.
bool sums_by_gather(const ExchangeSize& size);
/// Buckets that leave together share their rounds. Returns how many times the rounds of one bucket are made for
/// `buckets` of them. `bytes`: what a rank gives in a round of one bucket. See BucketQueue::last_with.
double common_rounds(const ExchangeSize& size, double buckets, double channels, double bytes);
/// The cost of a bucket with its part of common rounds, where there are some. `buckets`, `channels` and `bytes` are as
/// in common_rounds().
ExchangeCost in_common_rounds(ExchangeCost bucket, const ExchangeSize& size, double buckets, double channels,
                              double bytes);
/// Bytes that a rank gives in a round of one bucket of mode POWERSGD, and of mode SPARSE_TOPK.
double power_sgd_message(const ExchangeSize& size, const FactorSizes& factors);
double sparse_message(const ExchangeSize& size, double sparsity);

}  // namespace gradstep
