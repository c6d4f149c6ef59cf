// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Every rank gets one piece of all vectors, merges there, and gives the outcome to all: the bytes of a dense
// all-reduce, for any number of ranks. (Horovod halves vectors and doubles distances instead: as many bytes in more
// rounds, and powers of two only.) A dot product runs over a whole parameter, whose chunks may lie in several pieces:
// the ranks gather the partial sums of all chunks, 24 bytes for 64 KiB of gradients, and fold them in the one fixed
// tree. So neither the cuts nor the engine nor the bucket plan shows in the result. Small buckets are gathered as a
// whole and merged by everyone, in one round.
//
// By hosts, ranks of a host first sum and divide, each owner its stretch of the bucket, as HostSums does; owners of one
// stretch merge the hosts' means as above; stretches and partial sums are gathered inside the hosts, too. Horovod's
// hierarchical Adasum (Maleki et al. 2021) is this, of hosts of one size.
//
// Partial sums, factors and what is merged stay at the site. Squares of f64 alone may leave their range: there the host
// waits, once in each level of merges, for the partial sums, and decides by what vectors are multiplied before.
#include "reduce/adasum.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace gradstep {

namespace {

/// Squares of f64 vectors may leave f64's range, as those of f32 never do. Below 2^-900 they are no longer exact, since
/// their terms may vanish; above 2^1000 their sum may overflow. Either way 2^600 brings the vector far inside again.
constexpr int kShift = 600;

int shift_for(double square, int exponent) {
  const bool is_long = !(square <= 0x1p1000);  // infinite, and also NaN, which stays
  if (is_long && exponent >= 0) return -kShift;
  if (square < 0x1p-900 && exponent <= 0) return kShift;
  return 0;
}

std::vector<Chunk> chunks_of(std::span<const std::int64_t> sizes) {
  const WorkList work(sizes);
  return {work.chunks().begin(), work.chunks().end()};
}

bool has_one_host(const Communicator& comm) {
  return std::ranges::all_of(comm.hosts(), [&](std::uint64_t host) { return host == comm.hosts()[0]; });
}

}  // namespace

AdasumExchange::AdasumExchange(ExchangeResources& resources, const BucketPlan& plan,
                               const gradstep_reducer_options& options, std::span<const std::int64_t> sizes)
    : BucketExchange(resources, plan, options),
      chunks_(chunks_of(sizes)),
      pieces_(resources, plan, chunks_),
      shares_one_host_(resources.comm->reduction_order() == GRADSTEP_REDUCTION_HOSTS && has_one_host(*resources.comm)) {
  std::size_t chunk = 0;
  for (std::size_t t = 0; t < sizes.size(); ++t) {
    parameter_chunks_.push_back(chunk);
    while (chunk < chunks_.size() && chunks_[chunk].item == static_cast<std::int32_t>(t)) ++chunk;
  }
  parameter_chunks_.push_back(chunk);
  for (std::size_t c = pieces_.begin(); c < pieces_.end(); ++c) {
    const auto parameter = static_cast<std::size_t>(chunks_[c].item);
    if (parts_.empty() || parts_.back().parameter != parameter) parts_.push_back({parameter, block_size_, 0});
    parts_.back().size += chunks_[c].length;
    block_size_ += chunks_[c].length;
  }
  const std::size_t most_pairs = is_tree() ? vectors() / 2 : vectors();
  dots_ = resources_.site.allocate(chunks_.size() * most_pairs * sizeof(Dots), /*zeroed=*/false);
}

bool AdasumExchange::is_tree() const {
  return options().mode == GRADSTEP_REDUCER_ADASUM_TREE || vectors() == 2;  // the rules for two vectors are the same
}

Array AdasumExchange::part_of(std::size_t v, const Part& part) const {
  if (v == vectors()) return compact_array(sum_ + part.begin, part.size, DType::f64);
  const std::int64_t first = static_cast<std::int64_t>(v) * block_size_ + part.begin;
  return compact_array(blocks_ + first * size_of(plan_.dtype), part.size, plan_.dtype);
}

/// Shared with other buckets: who has asked for more than all before has moved it.
void AdasumExchange::reserve_memory() {
  const std::int64_t sum_bytes = is_tree() ? 0 : block_size_ * static_cast<std::int64_t>(sizeof(double));
  const std::int64_t block_bytes = block_size_ * size_of(plan_.dtype);
  std::byte* memory = resources_.blocks.reserve(sum_bytes + block_bytes * static_cast<std::int64_t>(vectors()));
  if (!levels_.empty() && blocks_ == memory + sum_bytes) return;
  sum_ = reinterpret_cast<double*>(memory);
  blocks_ = memory + sum_bytes;
  levels_.clear();
  if (is_tree()) {
    plan_tree();
  } else {
    plan_all();
  }
}

// Horovod's and Trax's tree: rank i and rank i XOR d for d = 1, 2, 4, ... Ranks from the largest power of two on first
// merge into the rank that many below them.
void AdasumExchange::plan_tree() {
  const auto add = [&](std::size_t begin, std::size_t end, std::size_t step, std::size_t distance) {
    std::vector<Pair> pairs;
    std::vector<std::vector<std::size_t>> groups;
    for (std::size_t r = begin; r < end; r += step) {
      pairs.push_back({r, r + distance});
      groups.push_back({r, r + distance});
    }
    if (!pairs.empty()) add_level(std::move(pairs), std::move(groups));
  };
  std::size_t power = 1;
  while (power * 2 <= vectors()) power *= 2;
  add(0, vectors() - power, 1, power);
  for (std::size_t distance = 1; distance < power; distance *= 2) add(0, power, 2 * distance, distance);
}

void AdasumExchange::plan_all() {
  std::vector<std::size_t> all(vectors());
  std::iota(all.begin(), all.end(), std::size_t{0});
  std::vector<Pair> pairs;
  for (const std::size_t r : all) pairs.push_back({r, vectors()});
  add_level(std::move(pairs), {all});
  sums_.clear();
  sum_factors_.assign(parts_.size() * vectors(), 1);
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    const std::span<const double> factors = std::span(sum_factors_).subspan(i * vectors(), vectors());
    const Array sum = part_of(vectors(), parts_[i]);
    sums_.add({sum, levels_[0].merges.items()[i].vectors, factors}, sum.size);
  }
}

// Pairs take turns in a part: the dots of a piece are one list, ordered by chunk, then pair. The lists of the pieces
// follow one another.
void AdasumExchange::add_level(std::vector<Pair> pairs, std::vector<std::vector<std::size_t>> groups) {
  Level& level = levels_.emplace_back();
  std::size_t each = 0;
  for (const auto& group : groups) each += group.size();
  level.vectors.reserve(parts_.size() * each);
  if (may_leave_range()) level.exponents.resize(parts_.size() * each);
  std::vector<CombineItem> products;
  for (const Part& part : parts_) {
    products.clear();
    for (const Pair& pair : pairs) products.push_back({{}, part_of(pair.a, part), part_of(pair.b, part)});
    level.products.add_in_turns(products, part.size);
    const std::size_t first_chunk = parameter_chunks_[part.parameter];
    const std::size_t chunks = parameter_chunks_[part.parameter + 1] - first_chunk;
    const Dots* dots = dots_.as<Dots>() + first_chunk * pairs.size();
    for (const auto& group : groups) {
      const std::size_t first = level.vectors.size();
      for (const std::size_t v : group) level.vectors.push_back(part_of(v, part));
      AdasumMerge merge{
          level.vectors[first], std::span(level.vectors).subspan(first), dots++, static_cast<std::int64_t>(chunks), {}};
      if (may_leave_range()) merge.exponents = std::span(level.exponents).subspan(first, group.size());
      level.merges.add(merge, part.size);
    }
  }
  AdasumPlan& plan = level.merges.plan();
  plan.rule = is_tree() ? kernels::AdasumRule::pair : kernels::AdasumRule::all;
  plan.stride = static_cast<std::int64_t>(pairs.size());
  level.pairs = std::move(pairs);
  level.groups = std::move(groups);
}

void AdasumExchange::exchange(double /*divisor*/, const Deadline& deadline, gradstep_bucket_statistics& stats) {
  if (world_size() == 1) return;
  if (shares_one_host_) {
    data().all_reduce(packed(), GRADSTEP_REDUCE_SUM, static_cast<double>(world_size()), deadline);
    stats.algorithm = GRADSTEP_EXCHANGE_ALL_REDUCE;
    return;
  }
  reserve_memory();
  stats.algorithm = pieces_.is_cut() ? GRADSTEP_EXCHANGE_PIECES : GRADSTEP_EXCHANGE_GATHER;
  pieces_.run(deadline, [&] {
    pieces_.deal(packed(), blocks_, deadline);
    if (may_leave_range()) exponents_.assign(vectors() * parameters(), 0);
    for (Level& level : levels_) merge(level, deadline);
    if (may_leave_range()) shift_back();
    pieces_.collect(blocks_, packed(), deadline);
  });
}

void AdasumExchange::merge(Level& level, const Deadline& deadline) {
  measure(level, deadline);
  if (may_leave_range()) rescale(level, deadline);
  backend().adasum(level.merges.plan(), queue());
}

void AdasumExchange::measure(Level& level, const Deadline& deadline) {
  if (!is_tree()) add_up();
  Dots* own = dots_.as<Dots>() + pieces_.begin() * level.pairs.size();
  backend().dot_chunks(level.products.plan(), own, queue());
  pieces_.gather(dots_.data(), static_cast<std::int64_t>(level.pairs.size() * sizeof(Dots)), deadline);
}

void AdasumExchange::add_up() {
  if (may_leave_range()) {
    auto factor = sum_factors_.begin();
    for (const Part& part : parts_) {
      const int k = smallest_exponent(levels_[0].groups[0], part.parameter);
      for (std::size_t r = 0; r < vectors(); ++r) *factor++ = std::ldexp(1.0, k - exponent(r, part.parameter));
    }
    sums_.forget();
  }
  backend().combine_vectors(sums_.plan(), queue());
}

int AdasumExchange::smallest_exponent(std::span<const std::size_t> vectors, std::size_t parameter) {
  int smallest = exponent(vectors[0], parameter);
  for (const std::size_t v : vectors) smallest = std::min(smallest, exponent(v, parameter));
  return smallest;
}

// All ranks see all dot products, so they decide alike.
void AdasumExchange::rescale(Level& level, const Deadline& deadline) {
  pieces_.settle(deadline);
  seen_dots_.resize(chunks_.size() * level.pairs.size());
  queue().download(seen_dots_.data(), dots_.data(), seen_dots_.size() * sizeof(Dots));
  bool any = false;
  for (std::size_t p = 0; p < level.pairs.size(); ++p) {
    any = bring_into_range(level, p, level.pairs[p].a, &Dots::aa) || any;
    if (is_tree()) any = bring_into_range(level, p, level.pairs[p].b, &Dots::bb) || any;
  }
  if (any) measure(level, deadline);
  pass_exponents(level);
}

bool AdasumExchange::bring_into_range(const Level& level, std::size_t pair, std::size_t v, double Dots::* square) {
  const std::size_t stride = level.pairs.size();
  std::vector<int> shifts(parameters(), 0);
  for (std::size_t t = 0; t < parameters(); ++t) {
    const std::size_t first = parameter_chunks_[t];
    const std::size_t chunks = parameter_chunks_[t + 1] - first;
    if (chunks == 0) continue;
    const Dots dots = kernels::fold_dots(seen_dots_.data() + first * stride + pair, static_cast<std::int64_t>(chunks),
                                         static_cast<std::int64_t>(stride));
    shifts[t] = shift_for(dots.*square, exponent(v, t));
  }
  shift(v, shifts);
  return std::ranges::any_of(shifts, [](int by) { return by != 0; });
}

/// To the merges. What they make is stored for the smallest of the exponents.
void AdasumExchange::pass_exponents(Level& level) {
  auto passed = level.exponents.begin();
  for (const Part& part : parts_) {
    for (const auto& group : level.groups) {
      for (const std::size_t v : group) *passed++ = exponent(v, part.parameter);
    }
  }
  level.merges.forget();
  for (const auto& group : level.groups) {
    for (std::size_t t = 0; t < parameters(); ++t) exponent(group[0], t) = smallest_exponent(group, t);
  }
}

void AdasumExchange::shift(std::size_t v, std::span<const int> shifts) {
  OwnPlan<CombinePlan, CombineItem> products;
  for (const Part& part : parts_) {
    const int by = shifts[part.parameter];
    if (by == 0) continue;
    const Array values = part_of(v, part);
    products.add({values, values, {}, std::ldexp(1.0, by), 0}, values.size);
  }
  if (!products.items().empty()) backend().combine(products.plan(), queue());
  for (std::size_t t = 0; t < parameters(); ++t) exponent(v, t) += shifts[t];
}

void AdasumExchange::shift_back() {
  std::vector<int> back(parameters());
  for (std::size_t t = 0; t < parameters(); ++t) back[t] = -exponent(0, t);
  shift(0, back);
}

}  // namespace gradstep
