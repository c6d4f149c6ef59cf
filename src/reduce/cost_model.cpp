// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Every prediction is linear in what is measured; the amounts are those of exchange_cost.h.
#include "reduce/cost_model.h"

#include <algorithm>
#include <chrono>
#include <limits>

#include "reduce/sparse.h"

namespace gradstep {

namespace {

constexpr int kTrials = 5;
constexpr std::int64_t kBytes = std::int64_t{1} << 20;
constexpr std::int64_t kElements = kBytes / 4;
constexpr std::int64_t kSide = 512;  // of a square matrix of so many elements
static_assert(kSide * kSide == kElements);

/// The shortest of a few runs, in nanoseconds.
template <class Body>
double shortest(Body body) {
  double best = std::numeric_limits<double>::infinity();
  for (int trial = 0; trial < kTrials; ++trial) {
    const auto start = std::chrono::steady_clock::now();
    body();
    const std::chrono::duration<double, std::nano> spent = std::chrono::steady_clock::now() - start;
    best = std::min(best, spent.count());
  }
  return best;
}

/// Numbers of many magnitudes, in no order.
void fill(float* numbers, std::int64_t count) {
  std::uint32_t state = 1;
  for (std::int64_t i = 0; i < count; ++i) {
    state = state * 1664525U + 1013904223U;
    numbers[i] = static_cast<float>(state >> 8) - 8388608.0F;
  }
}

ExchangeCost largest(const ExchangeCost& a, const ExchangeCost& b) {
  return {std::max(a.round, b.round),     std::max(a.byte, b.byte),     std::max(a.pack, b.pack),
          std::max(a.convert, b.convert), std::max(a.select, b.select), std::max(a.entry, b.entry),
          std::max(a.add, b.add),         std::max(a.merge, b.merge),   std::max(a.multiply, b.multiply)};
}

}  // namespace

ExchangeCost measure_processor(Context& context) {
  const Site site(context.cpu());
  Backend& backend = site.backend();
  const Buffer wide = context.allocate(static_cast<std::size_t>(kBytes), /*zeroed=*/false);
  const Buffer other = context.allocate(static_cast<std::size_t>(kBytes), /*zeroed=*/false);
  const Buffer narrow = context.allocate(static_cast<std::size_t>(kBytes / 2), /*zeroed=*/false);
  const Array numbers{wide.data(), kElements, DType::f32, 0, nullptr, nullptr};
  const Array others{other.data(), kElements, DType::f32, 0, nullptr, nullptr};
  const Array halves{narrow.data(), kElements, DType::f16, 0, nullptr, nullptr};
  fill(wide.as<float>(), kElements);
  fill(other.as<float>(), kElements);

  ExchangeCost prices;
  WorkList work;
  work.append(kElements);
  const CopyItem to_half{halves, numbers};
  const CopyItem from_half{numbers, halves};
  const SelectPart part{kElements, kElements / 100};
  SelectPlan plan;
  plan.data = numbers;
  plan.parts = {&part, 1};
  std::vector<std::int32_t> selected(static_cast<std::size_t>(part.count));
  std::vector<float> values(selected.size());
  const double selection =
      shortest([&] { backend.select_largest(plan, {selected.data(), values.data()}, site.queue()); });
  const SparseList list{selected.data(), values.data(), part.count, nullptr};
  std::vector<std::int32_t> touched(selected.size());
  std::int64_t touched_count = 0;
  const SparseSum job{numbers, {&list, 1}, 0, kElements, 1, touched.data(), &touched_count, {}};
  const double sum = shortest([&] { backend.sum_sparse(job, site.queue()); });
  prices.select = selection / kElements;
  prices.entry = sum / static_cast<double>(selected.size());
  prices.convert = shortest([&] {
                     backend.copy({&work, {&to_half, 1}, {}}, 1, 1, site.queue());
                     backend.copy({&work, {&from_half, 1}, {}}, 1, 1, site.queue());
                   }) /
                   kElements;

  const CopyItem into_bucket{others, numbers};
  prices.pack = shortest([&] { backend.copy({&work, {&into_bucket, 1}, {}}, 1, 1, site.queue()); }) / kElements;

  fill(wide.as<float>(), kElements);  // f16 has made infinities of some
  fill(other.as<float>(), kElements);
  const void* const two[] = {wide.data(), other.data()};
  prices.add = shortest([&] {
                 backend.sum_ranks({wide.data(), two, kElements, DType::f32, GRADSTEP_REDUCE_SUM, 2}, site.queue());
               }) /
               (2 * kElements);
  std::vector<Dots> dots(work.chunks().size());
  const CombineItem pair{{}, numbers, others};
  const Array vectors[] = {numbers, others};
  const double factors[] = {0.5, 0.5};
  const LinearCombination merged{numbers, vectors, factors};
  prices.merge = shortest([&] {
                   backend.dot_chunks({&work, {&pair, 1}, {}}, dots.data(), site.queue());
                   backend.combine_vectors({&work, {&merged, 1}, {}}, site.queue());
                 }) /
                 kElements;
  std::vector<float> p(static_cast<std::size_t>(kSide));
  std::vector<float> q(static_cast<std::size_t>(kSide), 1.0F);
  const LowRank matrix{numbers, kSide, kSide, 1, p.data(), q.data(), others.data};
  const LowRankPlan low_rank{{&matrix, 1}, {}};
  prices.multiply = shortest([&] {
                      backend.project_rows(low_rank, site.queue());
                      backend.orthonormalize(low_rank, site.queue());
                      backend.project_columns(low_rank, site.queue());
                      backend.expand(low_rank, 1, site.queue());
                    }) /
                    kElements;
  return prices;
}

CostModel::CostModel(ExchangeResources& resources, const Deadline& deadline)
    : ranks_(resources.comm->world_size()),
      can_exchange_(resources.comm->can_exchange()),
      piece_bytes_(static_cast<double>(resources.comm->piece_bytes())) {
  if (ranks_ == 1) return;
  Communicator& comm = *resources.comm;
  prices_ = measure_processor(*resources.context);
  prices_.add = 0;  // all-reduces are timed as a whole

  std::vector<std::int64_t> tokens(static_cast<std::size_t>(ranks_));
  const std::int64_t token = 0;
  prices_.round = shortest([&] { comm.all_gather(&token, tokens.data(), sizeof token, deadline); });
  const Buffer zeros = resources.context->allocate(static_cast<std::size_t>(kBytes), /*zeroed=*/true);
  const Array numbers{zeros.data(), kElements, DType::f32, 0, nullptr, nullptr};
  const std::int64_t sent_before = comm.stats().bytes_sent;
  const double reduction = shortest([&] { comm.all_reduce(numbers, GRADSTEP_REDUCE_SUM, 1, deadline); });
  const double sent = static_cast<double>(comm.stats().bytes_sent - sent_before) / kTrials;
  prices_.byte = std::max(reduction - 2 * prices_.round, 0.0) / std::max(sent, 1.0);

  std::vector<ExchangeCost> all(static_cast<std::size_t>(ranks_));
  const ExchangeCost own = prices_;
  comm.all_gather(&own, all.data(), sizeof own, deadline);
  for (const ExchangeCost& other : all) prices_ = largest(prices_, other);
}

void CostModel::choose(const BucketPlan& plan, gradstep_reducer_options& options,
                       gradstep_bucket_statistics& stats) const {
  options.mode = GRADSTEP_REDUCER_DENSE;
  if (ranks_ == 1) return;
  const ExchangeSize size{static_cast<double>(ranks_), static_cast<double>(plan.elements),
                          static_cast<double>(size_of(plan.dtype)), can_exchange_, piece_bytes_};

  double best = std::numeric_limits<double>::infinity();
  const auto consider = [&](std::int32_t mode, const ExchangeCost& amounts, std::int64_t& prediction,
                            std::int32_t exchange) {
    if (options.candidates != 0 && (options.candidates & (1 << mode)) == 0) return;
    const double cost = priced(amounts, prices_);
    prediction = static_cast<std::int64_t>(std::max(cost, 1.0));
    // A selection changes results by more than rounding: what it saves must be worth a round.
    const double price = mode == GRADSTEP_REDUCER_SPARSE_TOPK ? cost + prices_.round : cost;
    if (price >= best) return;
    best = price;
    options.mode = mode;
    options.sparse_exchange = exchange;
  };
  const std::int32_t wanted = options.sparse_exchange;
  consider(GRADSTEP_REDUCER_DENSE, dense_cost(size), stats.predicted_dense_nanoseconds, wanted);
  consider(GRADSTEP_REDUCER_HALF, half_cost(size), stats.predicted_half_nanoseconds, wanted);
  if (plan.elements > kMostSparseElements) return;
  // As a sparse mode by itself: what cannot split gathers.
  if (wanted != GRADSTEP_SPARSE_EXCHANGE_SPLIT || !can_exchange_) {
    consider(GRADSTEP_REDUCER_SPARSE_TOPK, sparse_gather_cost(size, options.sparsity),
             stats.predicted_sparse_gather_nanoseconds, wanted);
  }
  if (wanted != GRADSTEP_SPARSE_EXCHANGE_GATHER && can_exchange_) {
    consider(GRADSTEP_REDUCER_SPARSE_TOPK, sparse_split_cost(size, options.sparsity),
             stats.predicted_sparse_split_nanoseconds, GRADSTEP_SPARSE_EXCHANGE_SPLIT);
  }
}

}  // namespace gradstep
