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
#include <cmath>
#include <cstring>
#include <limits>

namespace gradstep {

namespace {

/// What makes of x, which is stored for 2^-own x, its part in 2^k A(a, b), the other vector being stored for 2^-other
/// of itself: 2^k (1 - a.b / (2 |a|^2)) in terms of what is stored. A zero vector is left as it is, and added.
double pair_factor(double dot, double square, int own, int other) {
  const int k = std::min(own, other);
  const double kept = std::ldexp(1.0, k - own);
  return square == 0 ? kept : kept - std::ldexp(dot / (2 * square), k - other);
}

/// Squares of f64 vectors may leave f64's range, as those of f32 never do. Below 2^-900 they are no longer exact, since
/// their terms may vanish; above 2^1000 their sum may overflow. Either way 2^600 brings the vector far inside again.
constexpr int kShift = 600;

int shift_for(double square, int exponent) {
  const bool is_long = !(square <= 0x1p1000);  // infinite, and also NaN, which stays
  if (is_long && exponent >= 0) return -kShift;
  if (square < 0x1p-900 && exponent <= 0) return kShift;
  return 0;
}

/// Combinations of equally many vectors each.
class Combinations {
 public:
  /// `destination` is to become the sum of factors times vectors: of NaNs alone where a factor is not finite.
  void add(const Array& destination, std::span<const Array> vectors, std::span<const double> factors) {
    const bool finite = std::ranges::all_of(factors, [](double f) { return std::isfinite(f); });
    destinations_.push_back(destination);
    for (std::size_t v = 0; v < vectors.size(); ++v) {
      vectors_.push_back(vectors[v]);
      factors_.push_back(factors[v]);
      if (finite) continue;
      vectors_.back().data = nullptr;  // zeros: whatever NaNs there are, what comes out is the one quiet NaN
      factors_.back() = std::numeric_limits<double>::quiet_NaN();
    }
  }

  void run(Backend& backend, Queue& queue) const {
    if (destinations_.empty()) return;
    const std::size_t each = vectors_.size() / destinations_.size();
    std::vector<LinearCombination> items;
    WorkList work;
    for (std::size_t i = 0; i < destinations_.size(); ++i) {
      items.push_back(
          {destinations_[i], std::span(vectors_).subspan(i * each, each), std::span(factors_).subspan(i * each, each)});
      work.append(destinations_[i].size);
    }
    backend.combine_vectors({&work, items, {}}, queue);
  }

 private:
  std::vector<Array> destinations_;
  std::vector<Array> vectors_;
  std::vector<double> factors_;
};

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

bool AdasumExchange::is_tree() const {
  return options().mode == GRADSTEP_REDUCER_ADASUM_TREE || world_size() == 2;  // the rules for two vectors are the same
}

Array AdasumExchange::part_of(std::size_t v, const Part& part) const {
  if (v == world_size()) return {sum_ + part.begin, part.size, DType::f64, 0, nullptr, nullptr};
  const std::int64_t first = static_cast<std::int64_t>(v) * block_size_ + part.begin;
  return {blocks_ + first * size_of(plan_.dtype), part.size, plan_.dtype, 0, nullptr, nullptr};
}

void AdasumExchange::exchange(double /*divisor*/, const Deadline& deadline, gradstep_bucket_statistics& stats) {
  if (world_size() == 1) return;
  const Array own = packed();
  const bool whole = own.bytes() * static_cast<std::int64_t>(world_size() - 1) <= kGatherBytes;
  cut(whole ? 1 : world_size());
  stats.algorithm = whole ? GRADSTEP_EXCHANGE_GATHER : GRADSTEP_EXCHANGE_PIECES;
  const std::int64_t sum_bytes = is_tree() ? 0 : block_size_ * static_cast<std::int64_t>(sizeof(double));
  const std::int64_t block_bytes = block_size_ * size_of(plan_.dtype);
  std::byte* memory = resources_.blocks.reserve(sum_bytes + block_bytes * static_cast<std::int64_t>(world_size()));
  sum_ = reinterpret_cast<double*>(memory);
  blocks_ = memory + sum_bytes;
  exponents_.assign(world_size() * parameters(), 0);
  if (whole) {
    data().all_gather(own.data, blocks_, own.bytes(), deadline);
  } else {
    data().all_to_all(own.data, blocks_, piece_bytes_, deadline);
  }
  if (is_tree()) {
    merge_tree(deadline);
  } else {
    merge_all(deadline);
  }
  std::vector<int> back(parameters());
  for (std::size_t t = 0; t < parameters(); ++t) back[t] = -exponent(0, t);
  shift(0, back);
  if (whole) {
    queue().copy(own.data, blocks_, static_cast<std::size_t>(own.bytes()));
  } else {
    data().all_gather_v(blocks_, own.data, piece_bytes_, deadline);
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
  rescale(pairs, deadline);
  Combinations merged;
  for (std::size_t p = 0; p < pairs.size(); ++p) {
    const auto [a, b] = pairs[p];
    for (const Part& part : parts_) {
      const Dots dots = dots_over(p, part.parameter);
      const int a_exponent = exponent(a, part.parameter);
      const int b_exponent = exponent(b, part.parameter);
      const Array vectors[] = {part_of(a, part), part_of(b, part)};
      const double factors[] = {pair_factor(dots.ab, dots.aa, a_exponent, b_exponent),
                                pair_factor(dots.ab, dots.bb, b_exponent, a_exponent)};
      merged.add(vectors[0], vectors, factors);
    }
    for (std::size_t t = 0; t < parameters(); ++t) exponent(a, t) = std::min(exponent(a, t), exponent(b, t));
  }
  merged.run(backend(), queue());
}

// Trax's rule for all at once, with s the sum of all vectors: sum_i g_i (1 - (g_i.s - |g_i|^2) / (P |g_i|^2)).
void AdasumExchange::merge_all(const Deadline& deadline) {
  std::vector<Pair> pairs;
  for (std::size_t r = 0; r < world_size(); ++r) pairs.push_back({r, world_size()});
  add_up();
  measure(pairs, deadline);
  rescale(pairs, deadline);
  Combinations merged;
  std::vector<Array> vectors(world_size());
  std::vector<double> factors(world_size());
  for (const Part& part : parts_) {
    const int k = smallest_exponent(part.parameter);
    for (std::size_t r = 0; r < world_size(); ++r) {
      const Dots dots = dots_over(r, part.parameter);
      const double kept = std::ldexp(1.0, k - exponent(r, part.parameter));
      const double ranks = static_cast<double>(world_size());
      vectors[r] = part_of(r, part);
      factors[r] = dots.aa == 0 ? kept : kept - (dots.ab - kept * dots.aa) / (ranks * dots.aa);
    }
    merged.add(vectors[0], vectors, factors);
    exponent(0, part.parameter) = k;
  }
  merged.run(backend(), queue());
}

void AdasumExchange::add_up() {
  Combinations sums;
  std::vector<Array> vectors(world_size());
  std::vector<double> factors(world_size());
  for (const Part& part : parts_) {
    const int k = smallest_exponent(part.parameter);
    for (std::size_t r = 0; r < world_size(); ++r) {
      vectors[r] = part_of(r, part);
      factors[r] = std::ldexp(1.0, k - exponent(r, part.parameter));
    }
    sums.add(part_of(world_size(), part), vectors, factors);
  }
  sums.run(backend(), queue());
}

int AdasumExchange::smallest_exponent(std::size_t parameter) {
  int smallest = exponent(0, parameter);
  for (std::size_t r = 1; r < world_size(); ++r) smallest = std::min(smallest, exponent(r, parameter));
  return smallest;
}

// All ranks see all dot products, so they decide alike.
void AdasumExchange::rescale(std::span<const Pair> pairs, const Deadline& deadline) {
  if (plan_.dtype != DType::f64) return;
  bool any = false;
  for (std::size_t p = 0; p < pairs.size(); ++p) {
    std::vector<int> a_shifts(parameters(), 0);
    std::vector<int> b_shifts(parameters(), 0);
    for (std::size_t t = 0; t < parameters(); ++t) {
      if (parameter_chunks_[t] == parameter_chunks_[t + 1]) continue;
      const Dots dots = dots_over(p, t);
      a_shifts[t] = shift_for(dots.aa, exponent(pairs[p].a, t));
      if (is_tree()) b_shifts[t] = shift_for(dots.bb, exponent(pairs[p].b, t));
      any = any || a_shifts[t] != 0 || b_shifts[t] != 0;
    }
    shift(pairs[p].a, a_shifts);
    if (is_tree()) shift(pairs[p].b, b_shifts);
  }
  if (!any) return;
  if (!is_tree()) add_up();
  measure(pairs, deadline);
}

void AdasumExchange::shift(std::size_t v, std::span<const int> shifts) {
  std::vector<CombineItem> items;
  WorkList work;
  for (const Part& part : parts_) {
    const int by = shifts[part.parameter];
    if (by == 0) continue;
    const Array values = part_of(v, part);
    items.push_back({values, values, {}, std::ldexp(1.0, by), 0});
    work.append(values.size);
  }
  if (!items.empty()) backend().combine({&work, items, {}}, queue());
  for (std::size_t t = 0; t < parameters(); ++t) exponent(v, t) += shifts[t];
}

void AdasumExchange::measure(std::span<const Pair> pairs, const Deadline& deadline) {
  std::vector<CombineItem> items;
  WorkList work;
  for (const Pair& pair : pairs) {
    for (const Part& part : parts_) {
      items.push_back({{}, part_of(pair.a, part), part_of(pair.b, part)});
      work.append(part.size);
    }
  }
  own_dots_.resize(work.chunks().size());
  const std::size_t bytes_of_dots = own_dots_.size() * sizeof(Dots);
  if (dots_memory_.bytes() < bytes_of_dots) dots_memory_ = resources_.site.allocate(bytes_of_dots, /*zeroed=*/false);
  backend().dot_chunks({&work, items, {}}, dots_memory_.as<Dots>(), queue());
  queue().download(own_dots_.data(), dots_memory_.data(), bytes_of_dots);
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

}  // namespace gradstep
