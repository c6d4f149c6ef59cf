// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Every term is linear in what is measured: rounds, bytes sent per rank, elements converted or looked at, entries
// summed. Selections of the ranks are taken to be independent, which makes the split dearer than it may turn out.
#include "reduce/cost_model.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <limits>

namespace gradstep {

namespace {

constexpr int kTrials = 5;
constexpr std::int64_t kBytes = std::int64_t{1} << 20;
constexpr std::int64_t kElements = kBytes / 4;

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

}  // namespace

CostModel::CostModel(ExchangeResources& resources, const Deadline& deadline)
    : ranks_(resources.comm->world_size()), can_split_(resources.comm->can_exchange()) {
  if (ranks_ == 1) return;
  Backend& backend = resources.backend();
  Communicator& comm = *resources.comm;
  const Buffer wide = resources.context->allocate(static_cast<std::size_t>(kBytes), /*zeroed=*/false);
  const Buffer narrow = resources.context->allocate(static_cast<std::size_t>(kBytes / 2), /*zeroed=*/false);
  const Array numbers{wide.data(), kElements, DType::f32, 0, nullptr, nullptr};
  const Array halves{narrow.data(), kElements, DType::f16, 0, nullptr, nullptr};
  fill(wide.as<float>(), kElements);

  WorkList work;
  work.append(kElements);
  const CopyItem to_half{halves, numbers};
  const CopyItem from_half{numbers, halves};
  SelectJob job;
  job.data = numbers;
  job.by_count = true;
  job.count = kElements / 100;
  std::vector<std::int32_t> selected;
  const double selection = shortest([&] {
    selected.clear();
    backend.select(job, selected);
  });
  std::vector<float> values(selected.size());
  backend.take(numbers, selected, values.data(), /*clear=*/false);
  const SparseList list{selected.data(), values.data(), static_cast<std::int64_t>(selected.size())};
  std::vector<std::int32_t> touched;
  const double sum = shortest([&] { backend.sum_sparse({numbers, {&list, 1}, 0, kElements, 1}, touched); });
  measured_.select = selection / kElements;
  measured_.entry = sum / static_cast<double>(selected.size());
  measured_.convert = shortest([&] {
                        backend.copy(work, {&to_half, 1}, 1, 1);
                        backend.copy(work, {&from_half, 1}, 1, 1);
                      }) /
                      kElements;

  std::vector<std::int64_t> tokens(static_cast<std::size_t>(ranks_));
  const std::int64_t token = 0;
  measured_.round = shortest([&] { comm.all_gather(&token, tokens.data(), sizeof token, deadline); });
  std::memset(wide.data(), 0, wide.bytes());
  const std::int64_t sent_before = comm.stats().bytes_sent;
  const double reduction = shortest([&] { comm.all_reduce(numbers, GRADSTEP_REDUCE_SUM, 1, deadline); });
  const double sent = static_cast<double>(comm.stats().bytes_sent - sent_before) / kTrials;
  measured_.byte = std::max(reduction - 2 * measured_.round, 0.0) / std::max(sent, 1.0);

  std::vector<Measured> all(static_cast<std::size_t>(ranks_));
  const Measured own = measured_;
  comm.all_gather(&own, all.data(), sizeof own, deadline);
  for (const Measured& other : all) {
    measured_.round = std::max(measured_.round, other.round);
    measured_.byte = std::max(measured_.byte, other.byte);
    measured_.convert = std::max(measured_.convert, other.convert);
    measured_.select = std::max(measured_.select, other.select);
    measured_.entry = std::max(measured_.entry, other.entry);
  }
}

void CostModel::choose(const BucketPlan& plan, gradstep_reducer_options& options,
                       gradstep_bucket_statistics& stats) const {
  options.mode = GRADSTEP_REDUCER_DENSE;
  if (ranks_ == 1) return;
  const auto ranks = static_cast<double>(ranks_);
  const auto elements = static_cast<double>(plan.elements);
  const auto bytes = static_cast<double>(size_of(plan.dtype));
  const double others = (ranks - 1) / ranks;
  const double selected = std::ceil(options.sparsity * elements);
  const double entry_bytes = 4 + bytes;
  // As many different indices as so many independent selections have on average.
  const double different = elements * (1 - std::pow(1 - std::min(1.0, options.sparsity), ranks));
  const Measured& m = measured_;

  const auto all_reduce = [&](double data) {
    const double gathered = data * (ranks - 1);
    return gathered <= static_cast<double>(kGatherBytes) ? m.round + gathered * m.byte
                                                         : 2 * m.round + 2 * others * data * m.byte;
  };
  const double dense = all_reduce(elements * bytes);
  const double half = all_reduce(elements * 2) + elements * m.convert;
  const double selection = elements * m.select;
  const double gathered =
      2 * m.round + selection + selected * (ranks - 1) * entry_bytes * m.byte + selected * ranks * m.entry;
  const double split = 4 * m.round + selection + others * (selected + different) * entry_bytes * m.byte +
                       (selected + different) * m.entry;

  double best = std::numeric_limits<double>::infinity();
  const auto consider = [&](std::int32_t mode, double cost, std::int64_t& prediction, std::int32_t exchange) {
    if (options.candidates != 0 && (options.candidates & (1 << mode)) == 0) return;
    prediction = static_cast<std::int64_t>(std::max(cost, 1.0));
    if (cost >= best) return;
    best = cost;
    options.mode = mode;
    options.sparse_exchange = exchange;
  };
  const std::int32_t wanted = options.sparse_exchange;
  consider(GRADSTEP_REDUCER_DENSE, dense, stats.predicted_dense_nanoseconds, wanted);
  consider(GRADSTEP_REDUCER_HALF, half, stats.predicted_half_nanoseconds, wanted);
  if (wanted != GRADSTEP_SPARSE_EXCHANGE_SPLIT) {
    consider(GRADSTEP_REDUCER_SPARSE_TOPK, gathered, stats.predicted_sparse_gather_nanoseconds, wanted);
  }
  if (wanted != GRADSTEP_SPARSE_EXCHANGE_GATHER && can_split_) {
    consider(GRADSTEP_REDUCER_SPARSE_TOPK, split, stats.predicted_sparse_split_nanoseconds,
             GRADSTEP_SPARSE_EXCHANGE_SPLIT);
  }
}

}  // namespace gradstep
