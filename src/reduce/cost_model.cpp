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
constexpr std::int64_t kSide = 512;  // of a square matrix of so many elements
static_assert(kSide * kSide == kElements);
constexpr std::int64_t kMostPieces = 16;  // of three arrays, 40 MiB in all: more than most caches hold

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
  world.is_over_network = engine.is_over_network();
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

/// Arrays of kElements, of which every run takes the next ones. They have left the caches since they were used last,
/// unless all of `elements` fit.
class Pieces {
 public:
  struct Piece {
    Array numbers;
    Array others;
    Array halves;
  };

  Pieces(const Context& context, std::int64_t elements)
      : count_(std::clamp(elements / kElements, std::int64_t{1}, kMostPieces)),
        numbers_(context.allocate(static_cast<std::size_t>(count_ * kBytes), /*zeroed=*/false)),
        others_(context.allocate(static_cast<std::size_t>(count_ * kBytes), /*zeroed=*/false)),
        halves_(context.allocate(static_cast<std::size_t>(count_ * kBytes / 2), /*zeroed=*/true)) {
    fill_all();
  }

  void fill_all() {
    fill(numbers_.as<float>(), count_ * kElements);
    fill(others_.as<float>(), count_ * kElements);
  }

  Piece next() {
    const std::int64_t at = turn_++ % count_ * kElements;
    return {compact_array(numbers_.as<float>() + at, kElements, DType::f32),
            compact_array(others_.as<float>() + at, kElements, DType::f32),
            compact_array(halves_.as<std::uint16_t>() + at, kElements, DType::f16)};
  }

 private:
  std::int64_t count_;
  Buffer numbers_;
  Buffer others_;
  Buffer halves_;
  std::int64_t turn_ = 0;
};

}  // namespace

ExchangeCost measure_processor(Context& context, std::int64_t elements) {
  const Site site(context.cpu());
  Backend& backend = site.backend();
  Queue& queue = site.queue();
  Pieces pieces(context, elements);
  const auto each = [&](auto body, std::int64_t count = kElements) {
    return shortest([&] { body(pieces.next()); }) / static_cast<double>(count);
  };

  ExchangeCost prices;
  WorkList work;
  work.append(kElements);
  const auto copy = [&](const Array& to, const Array& from) {
    const CopyItem item{to, from};
    backend.copy({&work, {&item, 1}, {}}, 1, 1, queue);
  };
  const SelectPart part{kElements, kElements / 100};
  std::vector<std::int32_t> selected(static_cast<std::size_t>(part.count));
  std::vector<float> values(selected.size());
  prices.select = each([&](const Pieces::Piece& piece) {
    SelectPlan plan;
    plan.data = piece.numbers;
    plan.parts = {&part, 1};
    backend.select_largest(plan, {selected.data(), values.data()}, queue);
  });
  const SparseList list{selected.data(), values.data(), part.count, nullptr};
  std::vector<std::int32_t> touched(selected.size());
  std::int64_t touched_count = 0;
  prices.entry = each(
      [&](const Pieces::Piece& piece) {
        backend.sum_sparse({piece.numbers, {&list, 1}, 0, kElements, 1, touched.data(), &touched_count, {}}, queue);
      },
      part.count);
  prices.convert = each([&](const Pieces::Piece& piece) {
    copy(piece.halves, piece.numbers);
    copy(piece.numbers, piece.halves);
  });
  const auto codes_in = [](const Pieces::Piece& piece) {
    CodedNumbers codes;
    codes.factors = static_cast<float*>(piece.halves.data);
    codes.codes = reinterpret_cast<std::uint8_t*>(codes.factors + kElements / kernels::kCodeBlock);
    codes.count = kElements;
    codes.is_signed = true;
    return codes;
  };
  prices.encode = each([&](const Pieces::Piece& piece) {
    backend.encode(static_cast<const float*>(piece.others.data), codes_in(piece), queue);
  });
  prices.decode = each([&](const Pieces::Piece& piece) {
    backend.decode(codes_in(piece), static_cast<float*>(piece.numbers.data), queue);
  });
  prices.pack = each([&](const Pieces::Piece& piece) { copy(piece.others, piece.numbers); });

  pieces.fill_all();
  prices.add = each(
      [&](const Pieces::Piece& piece) {
        const void* const two[] = {piece.numbers.data, piece.others.data};
        backend.sum_ranks({piece.numbers.data, two, kElements, DType::f32, GRADSTEP_REDUCE_SUM, 2}, queue);
      },
      2 * kElements);
  std::vector<Dots> dots(work.chunks().size());
  prices.merge = each([&](const Pieces::Piece& piece) {
    const CombineItem pair{{}, piece.numbers, piece.others};
    const Array vectors[] = {piece.numbers, piece.others};
    const double factors[] = {0.5, 0.5};
    const LinearCombination merged{piece.numbers, vectors, factors};
    backend.dot_chunks({&work, {&pair, 1}, {}}, dots.data(), queue);
    backend.combine_vectors({&work, {&merged, 1}, {}}, queue);
  });
  std::vector<float> p(static_cast<std::size_t>(kSide));
  std::vector<float> q(static_cast<std::size_t>(kSide), 1.0F);
  prices.multiply = each([&](const Pieces::Piece& piece) {
    const LowRank matrix{piece.numbers, kSide, kSide, 1, p.data(), q.data(), piece.others.data};
    const LowRankPlan low_rank{{&matrix, 1}, {}};
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
                               const gradstep_reducer_options& options, gradstep_bucket_statistics& stats,
                               const Together& together) const {
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
  const auto shared = [&](const ExchangeCost& amounts, const ExchangeSize& bucket, double bytes) {
    return in_common_rounds(amounts, bucket, static_cast<double>(together.buckets),
                            static_cast<double>(together.channels), bytes);
  };
  const FactorSizes factors = factors_of(shapes, options.rank);
  if (factors.right > 0) {
    consider(GRADSTEP_REDUCER_POWERSGD, wanted, stats.predicted_powersgd_nanoseconds, [&](const ExchangeSize& bucket) {
      const ExchangeCost alone = power_sgd_cost(bucket, factors);
      return together.share_sums ? shared(alone, bucket, power_sgd_message(bucket, factors)) : alone;
    });
  }
  if (plan.elements > kMostSparseElements) return choice;
  // As a sparse mode by itself: what cannot split gathers.
  if (wanted != GRADSTEP_SPARSE_EXCHANGE_SPLIT || !world_.can_exchange) {
    consider(GRADSTEP_REDUCER_SPARSE_TOPK, wanted, stats.predicted_sparse_gather_nanoseconds,
             [&](const ExchangeSize& bucket) {
               return shared(sparse_gather_cost(bucket, options.sparsity), bucket,
                             sparse_message(bucket, options.sparsity));
             });
  }
  if (wanted != GRADSTEP_SPARSE_EXCHANGE_GATHER && world_.can_exchange) {
    consider(GRADSTEP_REDUCER_SPARSE_TOPK, GRADSTEP_SPARSE_EXCHANGE_SPLIT, stats.predicted_sparse_split_nanoseconds,
             [&](const ExchangeSize& bucket) {
               return shared(sparse_split_cost(bucket, options.sparsity), bucket,
                             sparse_message(bucket, options.sparsity));
             });
  }
  return choice;
}

}  // namespace gradstep
