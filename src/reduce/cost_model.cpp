// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Every prediction is linear in what is measured; the amounts are those of exchange_cost.h.
#include "reduce/cost_model.h"

#include <algorithm>
#include <chrono>
#include <limits>

#include "comm/gather_stages.h"
#include "comm/host_sums.h"
#include "reduce/reducer_options.h"
#include "reduce/sparse.h"

namespace gradstep {

namespace {

constexpr int kTrials = 5;
constexpr std::int64_t kBytes = std::int64_t{1} << 20;  // that the ranks sum to time the network
constexpr std::int64_t kElements = kBytes / 4;
// Numbers of the arrays that a processor is timed with: from what fits into its caches to what does not.
constexpr std::int64_t kFewest = std::int64_t{1} << 18;
constexpr std::int64_t kMost = std::int64_t{1} << 22;
constexpr std::int64_t kColumns = 512;  // of the matrix that they make up

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

/// How `comm` exchanges among all of its ranks.
ExchangeSize world_of(Communicator& comm) {
  const Engine& engine = comm.connection().engine();
  ExchangeSize world;
  world.ranks = comm.world_size();
  world.can_exchange = engine.can_exchange();
  world.piece_bytes = static_cast<double>(piece_bytes_of(engine));
  world.sums_natively = comm.sums_natively();
  world.has_ring = comm.reduction_order() == GRADSTEP_REDUCTION_ENGINE && engine.has_ring();
  world.has_stages = engine.is_over_network();
  return world;
}

/// The time of a message of few bytes from each rank to the next one, and of one back: a step of a ring, but for its
/// bytes. Collective.
double measure_step(Communicator& comm, const Deadline& deadline) {
  constexpr std::int64_t kToken = sizeof(std::int64_t);
  const std::int32_t ranks = comm.world_size();
  std::vector<std::int64_t> bytes(static_cast<std::size_t>(ranks));
  for (const std::int32_t distance : {1, ranks - 1}) {
    bytes[static_cast<std::size_t>((comm.rank() + distance) % ranks)] = kToken;
  }
  const std::int64_t sent[2] = {};
  std::int64_t received[2] = {};
  return shortest([&] { comm.exchange(sent, bytes, received, bytes, deadline); });
}

/// Prices of a round, a stage, a step and a byte of a rank. Collective.
ExchangeCost measure_group(Communicator& comm, const Context& context, const Deadline& deadline) {
  const auto ranks = static_cast<std::size_t>(comm.world_size());
  const std::vector<std::int64_t> token_bytes(ranks, sizeof(std::int64_t));
  std::vector<std::int64_t> tokens(ranks);
  std::vector<std::int64_t> others(ranks);
  ExchangeSize size = world_of(comm);
  const double gather = shortest([&] { comm.all_gather(others.data(), tokens.data(), token_bytes[0], deadline); });
  const std::int32_t stages = gather_rounds(comm.connection().engine(), token_bytes[0]);
  ExchangeCost prices{.round = gather, .stage = gather / stages};
  if (stages > 1) {
    prices.round = shortest([&] { comm.all_to_all(others.data(), tokens.data(), token_bytes, deadline); });
  }
  if (size.has_ring && ranks > 2) prices.step = measure_step(comm, deadline);
  const Buffer zeros = context.allocate(static_cast<std::size_t>(kBytes), /*zeroed=*/true);
  const Array numbers{zeros.data(), kElements, DType::f32, 0, nullptr, nullptr};
  const double reduction = shortest([&] { comm.all_reduce(numbers, GRADSTEP_REDUCE_SUM, 1, deadline); });
  size.elements = kElements;
  const ExchangeCost amounts = all_reduce_cost(size);
  prices.byte = std::max(reduction - priced(amounts, prices), 0.0) / std::max(amounts.byte, 1.0);
  return prices;
}

/// Modes whose results differ by more than rounding from the sum of a window: what they save must be worth a round.
bool keeps_residual(std::int32_t mode) {
  return mode == GRADSTEP_REDUCER_SPARSE_TOPK || mode == GRADSTEP_REDUCER_POWERSGD || is_coded(mode);
}

FactorSizes factors_of(std::span<const std::vector<std::int64_t>> shapes, std::int32_t rank) {
  FactorSizes factors;
  for (const auto& shape : shapes) {
    double rows = 1;
    double columns = 1;
    for (std::size_t d = 0; d < shape.size(); ++d) (d == 0 ? rows : columns) *= static_cast<double>(shape[d]);
    factors.add(rows, columns, std::min({static_cast<double>(rank), rows, columns}));
  }
  return factors;
}

}  // namespace

ExchangeCost measure_processor(Context& context, std::int64_t elements) {
  const std::int64_t rows = std::clamp(elements, kFewest, kMost) / kColumns;
  const std::int64_t count = rows * kColumns;
  const auto bytes = static_cast<std::size_t>(count) * sizeof(float);
  const Site site(context.cpu());
  Backend& backend = site.backend();
  Queue& queue = site.queue();
  const Buffer wide = context.allocate(bytes, /*zeroed=*/false);
  const Buffer other = context.allocate(bytes, /*zeroed=*/false);
  const Buffer narrow = context.allocate(bytes / 2, /*zeroed=*/true);
  const Array numbers = compact_array(wide.data(), count, DType::f32);
  const Array others = compact_array(other.data(), count, DType::f32);
  const Array halves = compact_array(narrow.data(), count, DType::f16);
  fill(wide.as<float>(), count);
  fill(other.as<float>(), count);
  const auto each = [&](auto body) { return shortest(body) / static_cast<double>(count); };

  ExchangeCost prices;
  WorkList work;
  work.append(count);
  const SelectPart part{count, count / 100};
  SelectPlan plan;
  plan.data = numbers;
  plan.parts = {&part, 1};
  std::vector<std::int32_t> selected(static_cast<std::size_t>(part.count));
  std::vector<float> values(selected.size());
  prices.select = each([&] { backend.select_largest(plan, {selected.data(), values.data()}, queue); });
  const SparseList list{selected.data(), values.data(), part.count, nullptr};
  std::vector<std::int32_t> touched(selected.size());
  std::int64_t touched_count = 0;
  const SparseSum job{numbers, {&list, 1}, 0, count, 1, touched.data(), &touched_count, {}};
  prices.entry = shortest([&] { backend.sum_sparse(job, queue); }) / static_cast<double>(selected.size());
  const CopyItem to_half{halves, numbers};
  const CopyItem from_half{numbers, halves};
  prices.convert = each([&] {
    backend.copy({&work, {&to_half, 1}, {}}, 1, 1, queue);
    backend.copy({&work, {&from_half, 1}, {}}, 1, 1, queue);
  });

  CodedNumbers codes;
  codes.factors = narrow.as<float>();
  codes.codes = reinterpret_cast<std::uint8_t*>(codes.factors + count / kernels::kCodeBlock);
  codes.count = count;
  codes.is_signed = true;
  prices.encode = each([&] { backend.encode(other.as<float>(), codes, queue); });
  prices.decode = each([&] { backend.decode(codes, wide.as<float>(), queue); });

  const CopyItem into_bucket{others, numbers};
  prices.pack = each([&] { backend.copy({&work, {&into_bucket, 1}, {}}, 1, 1, queue); });

  fill(wide.as<float>(), count);
  fill(other.as<float>(), count);
  const void* const two[] = {wide.data(), other.data()};
  prices.add =
      each([&] { backend.sum_ranks({wide.data(), two, count, DType::f32, GRADSTEP_REDUCE_SUM, 2}, queue); }) / 2;
  std::vector<Dots> dots(work.chunks().size());
  const CombineItem pair{{}, numbers, others};
  const Array vectors[] = {numbers, others};
  const double factors[] = {0.5, 0.5};
  const LinearCombination merged{numbers, vectors, factors};
  prices.merge = each([&] {
    backend.dot_chunks({&work, {&pair, 1}, {}}, dots.data(), queue);
    backend.combine_vectors({&work, {&merged, 1}, {}}, queue);
  });
  std::vector<float> p(static_cast<std::size_t>(rows));
  std::vector<float> q(static_cast<std::size_t>(kColumns), 1.0F);
  const LowRank matrix{numbers, rows, kColumns, 1, p.data(), q.data(), others.data};
  const LowRankPlan low_rank{{&matrix, 1}, {}};
  prices.multiply = each([&] {
    backend.project_rows(low_rank, queue);
    backend.orthonormalize(low_rank, queue);
    backend.project_columns(low_rank, queue);
    backend.expand(low_rank, 1, queue);
  });
  return prices;
}

bool is_candidate(const gradstep_reducer_options& options, std::int32_t mode) {
  constexpr std::int32_t kUnasked =
      1 << GRADSTEP_REDUCER_DENSE | 1 << GRADSTEP_REDUCER_HALF | 1 << GRADSTEP_REDUCER_SPARSE_TOPK;
  const std::int32_t modes = options.candidates & ~GRADSTEP_CANDIDATE_HOSTS;
  return ((modes != 0 ? modes : kUnasked) & (1 << mode)) != 0;
}

CostModel::CostModel(ExchangeResources& resources, std::int64_t elements, const Deadline& deadline) {
  Communicator& comm = *resources.comm;
  world_ = world_of(comm);
  world_.by_hosts = comm.host_sums() != nullptr;
  if (comm.world_size() == 1) return;
  prices_ = measure_processor(*resources.context, elements);
  prices_.add = 0;  // all-reduces are timed as a whole
  measure_network(resources, deadline);
  agree(comm, deadline);
}

void CostModel::measure_network(const ExchangeResources& resources, const Deadline& deadline) {
  Communicator& comm = *resources.comm;
  const Context& context = *resources.context;
  HostSums* hosts = comm.host_sums();
  {
    const SumOrder of_ranks(hosts, /*by_hosts=*/false);
    prices_ = prices_ + measure_group(comm, context, deadline);
  }
  if (hosts == nullptr) return;
  const ExchangeCost inside = measure_group(hosts->inside(), context, deadline);
  prices_.inside_round = inside.round;
  prices_.inside_byte = inside.byte;
  world_.ranks_inside = hosts->inside().world_size();
  world_.owners = hosts->owners();
  if (hosts->between() == nullptr) return;
  const ExchangeCost between = measure_group(*hosts->between(), context, deadline);
  prices_.between_round = between.round;
  prices_.between_stage = between.stage;
  prices_.between_byte = between.byte;
  world_.hosts = hosts->between()->world_size();
}

void CostModel::agree(Communicator& comm, const Deadline& deadline) {
  struct Found {
    ExchangeCost prices;
    double hosts;
    double ranks_inside;
  };
  const Found own{prices_, world_.hosts, world_.ranks_inside};
  std::vector<Found> all(static_cast<std::size_t>(comm.world_size()));
  comm.all_gather(&own, all.data(), sizeof own, deadline);
  const auto larger = [](double a, double b) { return std::max(a, b); };
  for (const Found& other : all) {
    prices_.merge_with(other.prices, larger);
    world_.hosts = larger(world_.hosts, other.hosts);
    world_.ranks_inside = larger(world_.ranks_inside, other.ranks_inside);
  }
}

BucketChoice CostModel::choose(const BucketPlan& plan, std::span<const std::vector<std::int64_t>> shapes,
                               const gradstep_reducer_options& options, gradstep_bucket_statistics& stats) const {
  BucketChoice choice{.sparse_exchange = options.sparse_exchange, .by_hosts = world_.by_hosts ? 1 : 0};
  if (world_.ranks <= 1) return choice;
  ExchangeSize size = world_;
  size.elements = static_cast<double>(plan.elements);
  size.element_bytes = static_cast<double>(size_of(plan.dtype));

  double best = std::numeric_limits<double>::infinity();
  const auto consider_order = [&](std::int32_t mode, std::int32_t exchange, std::int64_t& prediction,
                                  const auto& amounts, bool by_hosts) {
    size.by_hosts = by_hosts;
    const double cost = priced(amounts(size), prices_);
    const auto nanoseconds = static_cast<std::int64_t>(std::max(cost, 1.0));
    if (prediction == 0 || nanoseconds < prediction) prediction = nanoseconds;
    const double price = keeps_residual(mode) ? cost + prices_.round : cost;
    if (price >= best) return;
    best = price;
    choice = {mode, exchange, by_hosts ? 1 : 0};
  };
  const auto consider = [&](std::int32_t mode, std::int32_t exchange, std::int64_t& prediction, const auto& amounts) {
    if (!is_candidate(options, mode)) return;
    consider_order(mode, exchange, prediction, amounts, world_.by_hosts);
    if (world_.by_hosts && (options.candidates & GRADSTEP_CANDIDATE_HOSTS) != 0) {
      consider_order(mode, exchange, prediction, amounts, /*by_hosts=*/false);
    }
  };
  const std::int32_t wanted = options.sparse_exchange;
  consider(GRADSTEP_REDUCER_DENSE, wanted, stats.predicted_dense_nanoseconds, dense_cost);
  consider(GRADSTEP_REDUCER_HALF, wanted, stats.predicted_half_nanoseconds,
           [&](const ExchangeSize& bucket) { return half_cost(bucket, options.half_sum != GRADSTEP_HALF_SUM_F32); });
  if (plan.dtype != DType::f64) {
    const auto consider_code = [&](std::int32_t mode, std::int64_t& prediction) {
      consider(mode, wanted, prediction, [&](const ExchangeSize& bucket) { return coded_cost(bucket, code_of(mode)); });
    };
    consider_code(GRADSTEP_REDUCER_INT8, stats.predicted_int8_nanoseconds);
    consider_code(GRADSTEP_REDUCER_INT4, stats.predicted_int4_nanoseconds);
    consider_code(GRADSTEP_REDUCER_FP8_E4M3, stats.predicted_fp8_nanoseconds);
    consider_code(GRADSTEP_REDUCER_FP8_E5M2, stats.predicted_fp8_nanoseconds);
  }
  const FactorSizes factors = factors_of(shapes, options.rank);
  if (factors.right > 0) {
    consider(GRADSTEP_REDUCER_POWERSGD, wanted, stats.predicted_powersgd_nanoseconds,
             [&](const ExchangeSize& bucket) { return power_sgd_cost(bucket, factors); });
  }
  if (plan.elements > kMostSparseElements) return choice;
  // As a sparse mode by itself: what cannot split gathers.
  if (wanted != GRADSTEP_SPARSE_EXCHANGE_SPLIT || !world_.can_exchange) {
    consider(GRADSTEP_REDUCER_SPARSE_TOPK, wanted, stats.predicted_sparse_gather_nanoseconds,
             [&](const ExchangeSize& bucket) { return sparse_gather_cost(bucket, options.sparsity); });
  }
  if (wanted != GRADSTEP_SPARSE_EXCHANGE_GATHER && world_.can_exchange) {
    consider(GRADSTEP_REDUCER_SPARSE_TOPK, GRADSTEP_SPARSE_EXCHANGE_SPLIT, stats.predicted_sparse_split_nanoseconds,
             [&](const ExchangeSize& bucket) { return sparse_split_cost(bucket, options.sparsity); });
  }
  return choice;
}

}  // namespace gradstep
