// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "reduce/bucket.h"

#include "comm/host_sums.h"
#include "core/short_lists.h"
#include "reduce/exchange_rounds.h"

namespace gradstep {

namespace {

using Clock = std::chrono::steady_clock;

std::int64_t nanoseconds_since(Clock::time_point start) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - start).count();
}

}  // namespace

Bucket::Bucket(ExchangeResources& resources, const Schema& schema, const BucketPlan& plan,
               const gradstep_reducer_options& options, const gradstep_bucket_statistics& stats)
    : resources_(resources),
      schema_(schema),
      plan_(plan),
      choice_{options.mode, options.sparse_exchange, stats.by_hosts},
      exchange_(make_bucket_exchange(resources, plan, options, shapes_of(plan, schema))),
      work_(plan.parameters.size()),
      stats_(stats) {
  std::int64_t offset = 0;
  for (std::size_t k = 0; k < plan_.parameters.size(); ++k) {
    const std::int64_t size = schema_[plan_.parameters[k]].size;
    offsets_.push_back(offset);
    work_[k].append(size);
    offset += size;
  }
  const std::int64_t ranks = resources_.comm->world_size();
  stats_.mode = options.mode;
  stats_.elements = plan_.elements;
  stats_.parameters = static_cast<std::int64_t>(plan_.parameters.size());
  stats_.bytes_dense = 2 * (ranks - 1) * plan_.elements * size_of(plan_.dtype) / ranks;
}

void Bucket::deal(BucketSlices slices) {
  collect();
  slices_ = std::move(slices);
  exchange_->deal(&*slices_);
  forget_plans();
}

void Bucket::collect() noexcept {
  if (!slices_) return;
  exchange_->deal(nullptr);
  slices_.reset();
  forget_plans();
}

/// What is packed, and where the result lies, has changed.
void Bucket::forget_plans() noexcept {
  itself_.clear();
  for (Packing& packing : packings_) packing.version = 0;
}

/// Where the parameter at `position` is packed.
Array Bucket::packed_in(const Array& whole, std::size_t position) const {
  const std::int64_t size = schema_[plan_.parameters[position]].size;
  const bool in_order_of_ranks = slices_ && exchange_->scatters();
  return part_of(whole, in_order_of_ranks ? slices_->offsets[position] : offsets_[position], size);
}

Array Bucket::result_of(std::size_t position) const {
  const Array result = exchange_->result();
  if (!slices_) return part_of(result, offsets_[position], schema_[plan_.parameters[position]].size);
  const Slice own = slices_->own[position];
  const std::int64_t begin = exchange_->scatters() ? slices_->places[position] : offsets_[position] + own.begin;
  return part_of(result, begin, own.size);
}

void Bucket::begin(double multiplier) {
  multiplier_ = multiplier;
  pending_ = plan_.parameters.size();
  exchange_->begin();
}

CombineItem Bucket::addition_of(std::size_t position, const Array& grad) const {
  Array added = grad;
  if (multiplier_ == 0) added.data = nullptr;  // a gradient of weight 0 is not read
  return {packed_in(exchange_->packed(), position), added, packed_in(exchange_->carried(), position), multiplier_,
          exchange_->carried_factor()};
}

/// With the work for `grads`, which is worked out anew only where it has changed.
Bucket::Packing& Bucket::packing_of(const BufferList& grads) {
  const void* packed = exchange_->packed().data;
  Packing& packing = packings_[0].packed == nullptr || packings_[0].packed == packed ? packings_[0] : packings_[1];
  const bool stays = packing.packed == packed && packing.multiplier == multiplier_ && grads.version != 0 &&
                     packing.version == grads.version;
  if (stays) return packing;
  packing.version = 0;
  packing.copies.clear();
  packing.sums.clear();
  const bool carries = exchange_->carried().data != nullptr;
  for (std::size_t k = 0; k < plan_.parameters.size(); ++k) {
    const std::size_t i = plan_.parameters[k];
    const CombineItem sum = addition_of(k, grads[i]);
    if (carries) {
      packing.sums.add(sum, schema_[i].size);
    } else {
      packing.copies.add({sum.destination, sum.a}, schema_[i].size);
    }
  }
  packing.version = grads.version;
  packing.packed = packed;
  packing.multiplier = multiplier_;
  return packing;
}

void Bucket::pack(const BufferList& grads) {
  const Phase phase("pack", {{"bytes", plan_.elements * size_of(plan_.dtype)}});
  const auto start = Clock::now();
  exchange_->take_memory();
  Packing& packing = packing_of(grads);
  Queue& queue = resources_.site.queue();
  if (exchange_->carried().data == nullptr) {
    resources_.backend().copy(packing.copies.plan(), packing.multiplier, 1, queue);
  } else {
    resources_.backend().combine(packing.sums.plan(), queue);
  }
  pending_ = 0;
  count_packing(start);
}

void Bucket::pack(std::size_t position, const Array& grad) {
  const Phase phase("pack", {{"bytes", grad.bytes()}});
  const auto start = Clock::now();
  exchange_->take_memory();
  const CombineItem sum = addition_of(position, grad);
  Queue& queue = resources_.site.queue();
  if (sum.b.data == nullptr) {
    const CopyItem copy{sum.destination, sum.a};
    resources_.backend().copy({&work_[position], {&copy, 1}, {}}, sum.a_factor, 1, queue);
  } else {
    resources_.backend().combine({&work_[position], {&sum, 1}, {}}, queue);
  }
  --pending_;
  count_packing(start);
}

void Bucket::count_packing(Clock::time_point start) {
  const std::lock_guard lock(stats_mutex_);
  stats_.pack_nanoseconds += nanoseconds_since(start);
}

void Bucket::exchange(const Deadline& deadline) {
  Bucket* const alone = this;
  exchange_together({&alone, 1}, deadline);
}

void Bucket::exchange_together(std::span<Bucket* const> buckets, const Deadline& deadline, ControlRound* control) {
  const auto start = Clock::now();
  ExchangeResources& resources = buckets[0]->resources_;
  const Communicator& comm = *resources.comm;
  const SumOrder order(comm.host_sums(), buckets[0]->choice_.by_hosts != 0);
  const double divisor = resources.options.average == GRADSTEP_AVERAGE_MEAN ? comm.world_size() : 1;
  ShortLists lists;
  auto stats = lists.of<gradstep_bucket_statistics>();
  for (const Bucket* bucket : buckets) stats.push_back(bucket->stats_so_far());
  if (resources.data->is_queued()) resources.has_queued = true;
  try {
    for (const Bucket* bucket : buckets) resources.follow(bucket->packed_);
    auto exchanges = lists.of<ExchangeByRounds*>();
    for (const Bucket* bucket : buckets) {
      ExchangeByRounds* const exchange = bucket->is_empty() ? nullptr : bucket->exchange_->by_rounds();
      if (exchange != nullptr) exchanges.push_back(exchange);
    }
    if (exchanges.size() == buckets.size()) {
      std::optional<Array> beside;  // at the host
      if (control != nullptr && resources.site.is_host()) beside = control->numbers();
      if (gradstep::exchange_together(resources, exchanges, divisor, deadline, stats, beside ? &*beside : nullptr)) {
        control->complete();
      }
    } else {
      buckets[0]->exchange_alone(divisor, deadline, stats[0]);
    }
  } catch (...) {
    for (std::size_t k = 0; k < buckets.size(); ++k) buckets[k]->set_stats(stats[k]);
    throw;
  }
  const std::int64_t nanoseconds = nanoseconds_since(start) / static_cast<std::int64_t>(buckets.size());
  for (std::size_t k = 0; k < buckets.size(); ++k) {
    ++stats[k].exchanges;
    stats[k].exchange_nanoseconds += nanoseconds;
    buckets[k]->set_stats(stats[k]);
  }
}

/// Not by rounds.
void Bucket::exchange_alone(double divisor, const Deadline& deadline, gradstep_bucket_statistics& stats) {
  const std::int64_t sent_before = resources_.comm->stats().bytes_sent;
  if (!is_empty()) exchange_->exchange(divisor, deadline, stats);
  if (exchange_->scatters()) exchange_->give_memory(resources_.record_lane());
  stats.bytes_sent += resources_.comm->stats().bytes_sent - sent_before;
}

std::int64_t Bucket::round_bytes() const {
  const ExchangeByRounds* exchange = exchange_->by_rounds();
  return exchange != nullptr && !is_empty() ? exchange->round_bytes() : 0;
}

bool Bucket::may_join(const Bucket& other) const {
  return choice_ == other.choice_ && plan_.dtype == other.plan_.dtype;
}

void Bucket::divide(double weight) {
  Queue& queue = resources_.site.queue();
  if (weight == 0) {
    // A total weight of zero means that every rank contributed zeros: the average is zero, not 0 / 0.
    const Array result = exchange_->result();
    queue.zero(result.data, static_cast<std::size_t>(result.bytes()));
  } else if (!exchange_->is_divided_by_weight()) {
    const Array result = exchange_->result();
    if (itself_.items().empty()) itself_.add({result, result}, result.size);
    resources_.backend().copy(itself_.plan(), 1, weight, queue);
  }
}

std::array<trace::Number, 4> Bucket::numbers(std::size_t index) const {
  return {{{"bucket", static_cast<std::int64_t>(index)},
           {"bytes", plan_.elements * size_of(plan_.dtype)},
           {"mode", choice_.mode},
           {"window", stats_.exchanges}}};
}

gradstep_bucket_statistics Bucket::stats_so_far() const {
  const std::lock_guard lock(stats_mutex_);
  return stats_;
}

void Bucket::set_stats(const gradstep_bucket_statistics& stats) {
  const std::lock_guard lock(stats_mutex_);
  stats_ = stats;
}

gradstep_bucket_statistics Bucket::stats() const {
  gradstep_bucket_statistics stats = stats_so_far();
  if (!resources_.site.queue().is_host()) exchange_->complete(stats);
  return stats;
}

}  // namespace gradstep
