// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Every rank gets one piece of all ranks' vectors, merges there, and gives the outcome to all: the bytes of a dense
// all-reduce, for any number of ranks. (Horovod halves vectors and doubles distances instead: as many bytes in more
// rounds, and powers of two only.) A dot product runs over a whole parameter, whose chunks may lie in several pieces:
// the ranks gather the partial sums of all chunks, 24 bytes for 64 KiB of gradients, and fold them in the one fixed
// tree. So neither the cuts nor the engine nor the bucket plan shows in the result. Small buckets are gathered as a
// whole and merged by everyone, in one round.
#include "reduce/adasum.h"

#include <algorithm>
#include <cstring>

namespace gradstep {

namespace {

/// 1 - a.b / (2 |a|^2); a zero vector is left as it is, and added.
double pair_factor(double dot, double square) { return square == 0 ? 1 : 1 - dot / (2 * square); }

}  // namespace

AdasumExchange::AdasumExchange(ExchangeResources& resources, const BucketPlan& plan,
                               const gradstep_reducer_options& options, std::span<const std::int64_t> sizes)
    : BucketExchange(resources, plan, options) {
  const WorkList work(sizes);
  chunks_.assign(work.chunks().begin(), work.chunks().end());
  std::size_t chunk = 0;
  for (std::size_t t = 0; t < sizes.size(); ++t) {
    parameter_chunks_.push_back(chunk);
    while (chunk < chunks_.size() && chunks_[chunk].item == static_cast<std::int32_t>(t)) ++chunk;
  }
  parameter_chunks_.push_back(chunk);
}

// Pieces are whole chunks, so that a partial sum never depends on where the cuts are.
void AdasumExchange::cut(std::size_t pieces) {
  if (bounds_.size() == pieces + 1) return;
  bounds_.assign(1, 0);
  piece_bytes_.clear();
  std::int64_t done = 0;
  std::size_t chunk = 0;
  for (std::size_t q = 1; q <= pieces; ++q) {
    const std::int64_t goal = plan_.elements * static_cast<std::int64_t>(q) / static_cast<std::int64_t>(pieces);
    const std::int64_t begin = done;
    while (chunk < chunks_.size() && done < goal) done += chunks_[chunk++].length;
    bounds_.push_back(chunk);
    piece_bytes_.push_back((done - begin) * size_of(plan_.dtype));
  }
  const std::size_t own = own_piece();
  parts_.clear();
  block_size_ = 0;
  for (std::size_t c = bounds_[own]; c < bounds_[own + 1]; ++c) {
    const auto parameter = static_cast<std::size_t>(chunks_[c].item);
    if (parts_.empty() || parts_.back().parameter != parameter) parts_.push_back({parameter, block_size_, 0});
    parts_.back().size += chunks_[c].length;
    block_size_ += chunks_[c].length;
  }
}

Array AdasumExchange::block(std::size_t r) const {
  std::byte* data = blocks_ + static_cast<std::int64_t>(r) * block_size_ * size_of(plan_.dtype);
  return {data, block_size_, plan_.dtype, 0, nullptr, nullptr};
}

Array AdasumExchange::part_of(const Array& whole, const Part& part) const {
  Array array = whole;
  array.data = static_cast<std::byte*>(whole.data) + part.begin * size_of(plan_.dtype);
  array.size = part.size;
  return array;
}

void AdasumExchange::exchange(double /*divisor*/, const Deadline& deadline, gradstep_bucket_statistics& stats) {
  if (world_size() == 1) return;
  const Array own = packed();
  const bool whole = own.bytes() * static_cast<std::int64_t>(world_size() - 1) <= kGatherBytes;
  cut(whole ? 1 : world_size());
  stats.algorithm = whole ? GRADSTEP_EXCHANGE_GATHER : GRADSTEP_EXCHANGE_PIECES;
  // One vector more than there are ranks: the sum of them all.
  blocks_ =
      resources_.incoming.reserve(block_size_ * size_of(plan_.dtype) * static_cast<std::int64_t>(world_size() + 1));
  if (whole) {
    comm().all_gather(own.data, blocks_, own.bytes(), deadline);
  } else {
    comm().all_to_all(own.data, blocks_, piece_bytes_, deadline);
  }
  if (options().mode == GRADSTEP_REDUCER_ADASUM_NWAY) {
    merge_all(deadline);
  } else {
    merge_tree(deadline);
  }
  if (whole) {
    std::memcpy(own.data, blocks_, static_cast<std::size_t>(own.bytes()));
  } else {
    comm().all_gather_v(blocks_, own.data, piece_bytes_, deadline);
  }
}

// Horovod's and Trax's tree: rank i and rank i XOR d for d = 1, 2, 4, ... Ranks from the largest power of two on first
// merge into the rank that many below them.
void AdasumExchange::merge_tree(const Deadline& deadline) {
  std::size_t power = 1;
  while (power * 2 <= world_size()) power *= 2;
  std::vector<Pair> pairs;
  for (std::size_t r = power; r < world_size(); ++r) pairs.push_back({r - power, r});
  merge_level(pairs, deadline);
  for (std::size_t distance = 1; distance < power; distance *= 2) {
    pairs.clear();
    for (std::size_t r = 0; r < power; r += 2 * distance) pairs.push_back({r, r + distance});
    merge_level(pairs, deadline);
  }
}

void AdasumExchange::merge_level(std::span<const Pair> pairs, const Deadline& deadline) {
  if (pairs.empty()) return;
  measure(pairs, deadline);
  std::vector<Factors> factors;
  for (std::size_t p = 0; p < pairs.size(); ++p) {
    for (const Part& part : parts_) {
      const Dots dots = dots_over(p, part.parameter);
      factors.push_back({pair_factor(dots.ab, dots.aa), pair_factor(dots.ab, dots.bb)});
    }
  }
  combine(pairs, factors);
}

// Trax's rule for all at once, with s the sum of all vectors: sum_i g_i (1 - (g_i.s - |g_i|^2) / (P |g_i|^2)).
void AdasumExchange::merge_all(const Deadline& deadline) {
  const Array sum = block(world_size());
  std::vector<const void*> sources;
  std::vector<Pair> pairs;
  for (std::size_t r = 0; r < world_size(); ++r) {
    sources.push_back(block(r).data);
    pairs.push_back({r, world_size()});
  }
  backend().sum_ranks({sum.data, sources, sum.size, sum.dtype, GRADSTEP_REDUCE_SUM, 1});
  measure(pairs, deadline);
  const auto factor = [&](std::size_t r, std::size_t parameter) {
    const Dots dots = dots_over(r, parameter);
    return dots.aa == 0 ? 1 : 1 - (dots.ab - dots.aa) / (static_cast<double>(world_size()) * dots.aa);
  };
  for (std::size_t r = 1; r < world_size(); ++r) {
    const Pair pair{0, r};
    std::vector<Factors> factors;
    for (const Part& part : parts_) {
      factors.push_back({r == 1 ? factor(0, part.parameter) : 1, factor(r, part.parameter)});
    }
    combine({&pair, 1}, factors);
  }
}

std::vector<CombineItem> AdasumExchange::items_of(std::span<const Pair> pairs) const {
  std::vector<CombineItem> items;
  for (const Pair& pair : pairs) {
    for (const Part& part : parts_) {
      const Array a = part_of(block(pair.a), part);
      items.push_back({a, a, part_of(block(pair.b), part)});
    }
  }
  return items;
}

void AdasumExchange::measure(std::span<const Pair> pairs, const Deadline& deadline) {
  const std::vector<CombineItem> items = items_of(pairs);
  WorkList work;
  for (const CombineItem& item : items) work.append(item.a.size);
  own_dots_.resize(work.chunks().size());
  backend().dot_chunks(work, items, own_dots_);
  if (!is_cut()) {
    dots_.swap(own_dots_);
    return;
  }
  std::vector<std::int64_t> bytes;
  for (std::size_t q = 0; q < world_size(); ++q) {
    bytes.push_back(static_cast<std::int64_t>(pairs.size() * (bounds_[q + 1] - bounds_[q]) * sizeof(Dots)));
  }
  dots_.resize(pairs.size() * chunks_.size());
  gathered_.resize(dots_.size());
  comm().all_gather_v(own_dots_.data(), gathered_.data(), bytes, deadline);
  const Dots* from = gathered_.data();
  for (std::size_t q = 0; q < world_size(); ++q) {
    for (std::size_t p = 0; p < pairs.size(); ++p) {
      for (std::size_t c = bounds_[q]; c < bounds_[q + 1]; ++c) dots_[p * chunks_.size() + c] = *from++;
    }
  }
}

Dots AdasumExchange::dots_over(std::size_t pair, std::size_t parameter) {
  const std::size_t first = parameter_chunks_[parameter];
  const std::size_t count = parameter_chunks_[parameter + 1] - first;
  const Dots* dots = dots_.data() + pair * chunks_.size() + first;
  partials_.resize(count);
  const auto fold = [&](double Dots::* product) {
    for (std::size_t c = 0; c < count; ++c) partials_[c] = dots[c].*product;
    return fold_partials(partials_);
  };
  return {fold(&Dots::ab), fold(&Dots::aa), fold(&Dots::bb)};
}

void AdasumExchange::combine(std::span<const Pair> pairs, std::span<const Factors> factors) {
  std::vector<CombineItem> items = items_of(pairs);
  WorkList work;
  for (std::size_t i = 0; i < items.size(); ++i) {
    items[i].a_factor = factors[i].a;
    items[i].b_factor = factors[i].b;
    work.append(items[i].a.size);
  }
  backend().combine(work, items);
}

}  // namespace gradstep
