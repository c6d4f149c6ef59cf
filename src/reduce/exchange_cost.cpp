// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Counted from the code that does it: src/comm/channel.cpp and host_sums.cpp, half.cpp, coded.cpp, sparse.cpp,
// chunk_pieces.cpp, power_sgd.cpp, control_round.cpp. Tests compare it with what a communicator's statistics count.
#include "reduce/exchange_cost.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include "backend/backend.h"
#include "comm/gather_stages.h"
#include "reduce/control_round.h"
#include "reduce/exchange_rounds.h"

namespace gradstep {

namespace {

constexpr double kIndexBytes = 4;
constexpr double kCountBytes = 8;
constexpr double kWithResidual = 2;  // two arrays are read where a dense sum reads one

double others(double ranks) { return (ranks - 1) / ranks; }
double others(const ExchangeSize& size) { return others(size.ranks); }
double bytes_of(const ExchangeSize& size) { return size.elements * size.element_bytes; }
double selected_of(const ExchangeSize& size, double sparsity) { return std::ceil(sparsity * size.elements); }
double aligned(double bytes) { return std::ceil(bytes / 8) * 8; }
double slices(double bytes) { return std::max(1.0, std::ceil(bytes / static_cast<double>(kGatherSliceBytes))); }

/// Small enough to be gathered as a whole: one round instead of two.
bool is_gathered(const ExchangeSize& size) {
  return bytes_of(size) * (size.ranks - 1) <= static_cast<double>(kGatherBytes);
}

bool is_divisible(double amount, double by) { return std::fmod(amount, by) == 0; }

ExchangeCost round_of(double bytes) { return {.call = 1, .round = 1, .byte = bytes}; }

/// An all-gather of `block` bytes of each rank.
ExchangeCost block_gather_cost(const ExchangeSize& size, double block) {
  ExchangeCost cost = round_of((size.ranks - 1) * block);
  if (!size.is_over_network || block * size.ranks > static_cast<double>(kMostStagedBytes)) return cost;
  const auto stages = gather_stages(static_cast<std::int64_t>(size.ranks), static_cast<std::int64_t>(block));
  if (stages == 1) return cost;
  cost.round = 0;
  cost.stage = stages;
  return cost;
}

/// all_to_all of `bytes`: each rank's piece of them to its owner. By all-gathers, owner by owner, every rank sends all
/// of them to everyone.
ExchangeCost scatter_cost(const ExchangeSize& size, double bytes) {
  if (size.ranks <= 1) return {.call = 1};
  if (size.can_exchange) return round_of(others(size) * bytes);
  return {.call = 1, .round = size.ranks * slices(bytes / size.ranks), .byte = (size.ranks - 1) * bytes};
}

/// all_gather_v of `bytes`: each owner's piece of them to all. Where pieces are not `equal`, all-gathers take slices.
ExchangeCost gather_cost(const ExchangeSize& size, double bytes, bool equal) {
  if (size.ranks <= 1) return {.call = 1};
  if (equal) return block_gather_cost(size, bytes / size.ranks);
  ExchangeCost cost = round_of(others(size) * bytes);
  if (!size.can_exchange) cost.round = slices(bytes / size.ranks);
  return cost;
}

/// See Channel::goes_by_ring: sums of 16 bits do not.
bool goes_by_ring(const ExchangeSize& size) {
  return size.has_ring && size.ranks > 2 && size.element_bytes > 2 &&
         bytes_of(size) >= static_cast<double>(kRingPieceBytes) * size.ranks;
}

/// Owners of the same piece, one of each host.
ExchangeSize group_between(const ExchangeSize& size) {
  ExchangeSize group = size;
  group.by_hosts = false;
  group.ranks = size.hosts;
  return group;
}

/// What the owners of a piece do among themselves costs all ranks rounds; bytes are the owners' alone.
ExchangeCost between_hosts(const ExchangeSize& size, const ExchangeCost& group) {
  ExchangeCost cost{.between_round = group.round, .between_stage = group.stage};
  cost.between_byte = group.byte * size.owners / size.ranks_inside;
  return cost;
}

/// How many vectors Adasum merges.
double vectors_of(const ExchangeSize& size) { return size.by_hosts ? size.hosts : size.ranks; }

/// Every rank gets its piece of all vectors, merges there, and gives the outcome to all. Before each level of merges
/// the ranks gather the dot products of its pairs of vectors, chunk by chunk: `pairs` has their number by level. By
/// hosts pieces are summed inside each host before, and all that is gathered is gathered there, too. See ChunkPieces.
ExchangeCost adasum_cost(const ExchangeSize& size, std::span<const double> pairs) {
  const double data = bytes_of(size);
  if (!size.by_hosts && is_gathered(size)) {
    ExchangeCost cost = block_gather_cost(size, data);
    cost.merge = size.elements * (size.ranks - 1);
    cost.pack = size.elements;
    return cost;
  }
  const ExchangeSize group = size.by_hosts ? group_between(size) : size;
  const double owners = size.by_hosts ? size.owners : 1;
  const double pieces = owners * group.ranks;
  const double chunks = std::ceil(size.elements / static_cast<double>(kChunk));
  const bool has_equal_pieces = is_divisible(size.elements, static_cast<double>(kChunk) * pieces);
  ExchangeCost cost = scatter_cost(group, data / owners) + gather_cost(group, data / owners, has_equal_pieces);
  double dots = 0;
  for (const double of_level : pairs) {
    const double bytes = of_level * chunks * static_cast<double>(sizeof(Dots));
    cost = cost + gather_cost(group, bytes / owners, is_divisible(chunks, pieces));
    dots += bytes;
  }
  if (size.by_hosts) {
    cost = between_hosts(size, cost);
    cost.call = 1;
    cost.inside_round = 2 + static_cast<double>(pairs.size());
    cost.inside_byte = others(size.ranks_inside) * (2 * data + dots);
    cost.add = size.elements;
  }
  cost.merge = size.elements / owners * others(group);
  cost.pack = size.elements;
  return cost;
}

/// Pieces to their owners inside each host, one sum of each piece between hosts, and back. See HostSums::all_reduce.
ExchangeCost all_reduce_by_hosts_cost(const ExchangeSize& size) {
  const double share = std::ceil(size.elements / size.owners);
  const double piece = std::ceil(share / static_cast<double>(kPieceGrain)) * static_cast<double>(kPieceGrain);
  const double whole = std::floor(size.elements / piece);
  ExchangeSize group = group_between(size);
  const auto between = [&](double elements) {
    group.elements = elements;
    return all_reduce_cost(group);
  };
  const ExchangeCost of_whole = between(piece);
  const ExchangeCost of_rest = between(size.elements - whole * piece);
  ExchangeCost cost = between_hosts(size, whole > 0 ? of_whole : of_rest);
  cost.call = 1;
  cost.inside_round = 2;
  cost.inside_byte = 2 * others(size.ranks_inside) * bytes_of(size);
  cost.between_byte = (whole * of_whole.byte + of_rest.byte) / size.ranks_inside;
  cost.add = size.elements;
  return cost;
}

double sum_of(const ExchangeCost& cost, std::span<const ExchangeAmount> which) {
  double sum = 0;
  for (const ExchangeAmount amount : which) sum += cost.*amount;
  return sum;
}

}  // namespace

ExchangeCost operator+(const ExchangeCost& a, const ExchangeCost& b) {
  ExchangeCost sum = a;
  return sum.merge_with(b, std::plus<>());
}

double priced(const ExchangeCost& amounts, const ExchangeCost& prices, std::span<const ExchangeAmount> which) {
  double total = 0;
  for (const ExchangeAmount amount : which) total += amounts.*amount * prices.*amount;
  return total;
}

double priced(const ExchangeCost& amounts, const ExchangeCost& prices) {
  return priced(amounts, prices, kRoundAmounts) + priced(amounts, prices, kByteAmounts) +
         priced(amounts, prices, kOwnAmounts);
}

double ExchangeCost::rounds() const { return sum_of(*this, kRoundAmounts); }
double ExchangeCost::bytes() const { return sum_of(*this, kByteAmounts); }

ExchangeCost all_reduce_cost(const ExchangeSize& size) {
  if (size.by_hosts && size.elements > 0) return all_reduce_by_hosts_cost(size);
  ExchangeCost cost{.call = 1};
  if (size.ranks <= 1) return cost;
  const double data = bytes_of(size);
  cost.add = size.elements;
  if (size.elements == 0) {
    cost = block_gather_cost(size, 1);  // a call of nothing is a call
    cost.byte = 0;
  } else if (size.sums_natively) {
    cost.round = 1;
    cost.byte = 2 * others(size) * size.elements * std::max(size.element_bytes, 4.0);  // 16 bits travel as f32
  } else if (goes_by_ring(size)) {
    cost.step = 2 * (size.ranks - 1);
    cost.byte = 2 * others(size) * data;
  } else if (is_gathered(size) || !size.can_exchange) {
    cost = block_gather_cost(size, data);
    if (cost.stage == 0) cost.round = slices(data);
    cost.add = size.elements * size.ranks;
  } else {
    cost.round = 2 * std::ceil(data / (size.piece_bytes * size.ranks));
    cost.byte = 2 * others(size) * data;
  }
  return cost;
}

ExchangeCost dense_cost(const ExchangeSize& size) {
  ExchangeCost cost = all_reduce_cost(size);
  cost.pack = size.elements;
  return cost;
}

ExchangeCost half_cost(const ExchangeSize& size, bool in_half) {
  ExchangeSize wire = size;
  wire.element_bytes = 2;
  ExchangeCost cost;
  if (in_half) {
    cost = scatter_cost(wire, bytes_of(wire)) +
           gather_cost(wire, bytes_of(wire), /*equal=*/is_divisible(wire.elements, wire.ranks));
    cost.add = size.elements;
  } else {
    cost = all_reduce_cost(wire);
  }
  cost.convert = size.elements;
  cost.pack = size.elements;
  return cost;
}

// Codes of pieces to their owners, and of sums to all. Messages have one length, that of a whole piece. By hosts there
// is a sum inside each host first, and at the end the owners' messages go to their hosts.
ExchangeCost coded_cost(const ExchangeSize& size, kernels::NumberCode code) {
  constexpr auto kBlock = static_cast<double>(kernels::kCodeBlock);
  const ExchangeSize group = size.by_hosts ? group_between(size) : size;
  const double owners = size.by_hosts ? size.owners : 1;
  const double piece_blocks = std::ceil(std::ceil(std::ceil(size.elements / kBlock) / owners) / group.ranks);
  const double message = kCountBytes + aligned(piece_blocks * static_cast<double>(kernels::coded_bytes(code)));
  const double all = message * group.ranks;
  ExchangeCost cost = scatter_cost(group, all) + gather_cost(group, all, /*equal=*/true);
  if (size.by_hosts) {
    cost = between_hosts(size, cost);
    cost.call = 1;
    cost.inside_round = 2;
    cost.inside_byte = others(size.ranks_inside) * (bytes_of(size) + owners * all);
    cost.add = size.elements;
    // Copies the bucket to be summed in its host, clears the residual, and copies the rank's stretch of the sum back.
    cost.pack = 2 * size.elements + size.elements / owners;
  }
  cost.pack += kWithResidual * size.elements;
  // A rank encodes its stretch and its piece of the sum, and reads both again for the residual; it reads its piece of
  // all ranks' codes, and at the end all codes.
  const double stretch = size.elements / owners;
  cost.encode = stretch * (1 + 1 / group.ranks);
  cost.decode = stretch * (2 + 1 / group.ranks) + size.elements;
  if (size.ranks > 1) cost.add += stretch;
  return cost;
}

// One round, for all know how long the selections are: in front of each are two numbers.
ExchangeCost sparse_gather_cost(const ExchangeSize& size, double sparsity) {
  const double selected = selected_of(size, sparsity);
  const double message = 2 * kCountBytes + aligned(selected * kIndexBytes) + aligned(selected * size.element_bytes);
  ExchangeCost cost;
  if (size.ranks > 1) cost = block_gather_cost(size, message);
  cost.pack = kWithResidual * size.elements;
  cost.select = size.elements;
  cost.entry = selected * size.ranks;
  return cost;
}

// Lengths, selections to the owners of the indices, lengths of the sums, sums.
ExchangeCost sparse_split_cost(const ExchangeSize& size, double sparsity) {
  ExchangeCost cost;
  const double selected = selected_of(size, sparsity);
  // As many different indices as so many independent selections have on average.
  const double different = size.elements * (1 - std::pow(1 - std::min(1.0, sparsity), size.ranks));
  if (size.ranks > 1) {
    const double entries = others(size) * (selected + different) * (kIndexBytes + size.element_bytes);
    const double lengths = (size.ranks - 1) * (2 + size.ranks) * kCountBytes;
    cost = {.call = 4, .round = 4, .byte = entries + lengths};
  }
  cost.pack = kWithResidual * size.elements;
  cost.select = size.elements;
  cost.entry = selected + different;
  return cost;
}

ExchangeCost adasum_tree_cost(const ExchangeSize& size) {
  if (size.ranks <= 1) return {};
  const double vectors = vectors_of(size);
  const double power = std::exp2(std::floor(std::log2(vectors)));
  std::vector<double> pairs;
  if (power < vectors) pairs.push_back(vectors - power);  // those beyond the power of two merge first
  for (double left = power / 2; left >= 1; left /= 2) pairs.push_back(left);
  return adasum_cost(size, pairs);
}

ExchangeCost adasum_nway_cost(const ExchangeSize& size) {
  const double vectors = vectors_of(size);
  if (vectors <= 2) return adasum_tree_cost(size);  // the same rule
  ExchangeCost cost = adasum_cost(size, {&vectors, 1});
  cost.add += cost.merge + cost.merge / (vectors - 1);  // the sum that all are compared with
  return cost;
}

void FactorSizes::add(double rows, double columns, double rank, double matrices) {
  if (!pays(rows, columns, rank)) {
    left += matrices * rows * columns;
    return;
  }
  left += matrices * rank * rows;
  right += matrices * rank * columns;
  multiplied += matrices * rows * columns * (kReadInColumns + rank) / (kReadInColumns + 1);
}

ExchangeCost power_sgd_cost(const ExchangeSize& size, const FactorSizes& factors) {
  ExchangeSize wire = size;
  wire.elements = factors.left;
  ExchangeCost cost = all_reduce_cost(wire);
  wire.elements = factors.right;
  if (factors.right > 0) cost = cost + all_reduce_cost(wire);
  cost.pack = kWithResidual * size.elements;
  cost.multiply = factors.multiplied;
  return cost;
}

namespace {

ExchangeSize control_size(const ExchangeSize& size, double parameters) {
  ExchangeSize numbers = size;
  numbers.elements = static_cast<double>(ControlRound::numbers_of(0)) + parameters;
  numbers.element_bytes = sizeof(double);
  return numbers;
}

}  // namespace

ExchangeCost control_cost(const ExchangeSize& size, double parameters) {
  return all_reduce_cost(control_size(size, parameters));
}

ExchangeCost joined_control_cost(const ExchangeSize& size, double parameters) {
  ExchangeCost cost = control_cost(size, parameters);
  if (sums_by_gather(control_size(size, parameters))) cost.call = cost.round = cost.stage = 0;
  return cost;
}

bool sums_by_gather(const ExchangeSize& size) {
  return size.ranks > 1 && !size.by_hosts && !size.sums_natively && is_gathered(size);
}

double common_rounds(const ExchangeSize& size, double buckets, double channels, double bytes) {
  const double most = static_cast<double>(most_common_bytes(static_cast<std::int64_t>(size.ranks)));
  const double together = std::max(1.0, std::floor(most / std::max(bytes, 1.0)));
  const double tracks = std::clamp(channels, 1.0, std::max(buckets, 1.0));
  const double longer = std::fmod(buckets, tracks);  // so many have one bucket more
  const double each = std::floor(buckets / tracks);
  return longer * std::ceil((each + 1) / together) + (tracks - longer) * std::ceil(each / together);
}

ExchangeCost in_common_rounds(ExchangeCost bucket, const ExchangeSize& size, double buckets, double channels,
                              double bytes) {
  if (!size.has_common_rounds()) return bucket;
  const double share = common_rounds(size, buckets, channels, bytes) / buckets;
  bucket.call *= share;
  for (const ExchangeAmount amount : kRoundAmounts) bucket.*amount *= share;
  return bucket;
}

double power_sgd_message(const ExchangeSize& size, const FactorSizes& factors) {
  return std::max(factors.left, factors.right) * size.element_bytes;
}

double sparse_message(const ExchangeSize& size, double sparsity) {
  return sparse_gather_cost(size, sparsity).byte / std::max(size.ranks - 1, 1.0);
}

}  // namespace gradstep
