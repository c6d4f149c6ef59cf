// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "reduce/reducer.h"

#include <chrono>
#include <cmath>
#include <string_view>
#include <utility>

#include "comm/compare_ranks.h"
#include "core/absence.h"
#include "core/error.h"
#include "core/weight.h"

namespace gradstep {

namespace {

std::int64_t nanoseconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

Reducer::Reducer(std::shared_ptr<Context> context, Communicator& comm, const gradstep_reducer_options& options,
                 Schema schema, const Deadline& deadline)
    : resources_(std::move(context), schema, checked_reducer_options(options)), schema_(std::move(schema)) {
  needs_control_ = this->options().average == GRADSTEP_AVERAGE_WEIGHTED || this->options().control != 0;
  for (const Parameter& parameter : schema_) {
    work_.append(parameter.size);
    has_optional_ = has_optional_ || parameter.may_be_unused;
  }
  needs_control_ = needs_control_ || has_optional_;
  outcome_.work = &work_;
  norm_ = resources_.site.allocate(sizeof(double), /*zeroed=*/true);
  control_.resize(kFirstParameter + schema_.size());
  const std::vector<BucketPlan> plans = plan_buckets(schema_, this->options().fuse_threshold);

  resources_.comm = comm.private_channel(deadline);
  resources_.data = std::make_unique<DataPlane>(*resources_.comm, *resources_.context, resources_.lane());
  const auto what = [](std::size_t i) { return PlanDigest::what(i); };
  compare_ranks(this->comm(), digest_of(schema_, this->options()).values, what, deadline);
  if (this->options().mode == GRADSTEP_REDUCER_AUTO) costs_.emplace(resources_, deadline);
  places_.resize(schema_.size());
  for (const BucketPlan& plan : plans) add_bucket(plan);
  // Exchanges that are queued on the device wait for nobody, and are in the same order on all ranks if the calls are.
  const bool overlaps = resources_.comm->overlaps() && !resources_.data->is_queued();
  queue_ = std::make_unique<BucketQueue>(
      resources_.comm, [this](std::size_t bucket, const Deadline& by) { exchange(buckets_[bucket], by); }, overlaps);
}

void Reducer::add_bucket(const BucketPlan& plan) {
  Bucket bucket;
  std::vector<std::vector<std::int64_t>> shapes;
  std::int64_t offset = 0;
  for (const std::size_t i : plan.parameters) {
    Place& place = places_[i];
    place.bucket = buckets_.size();
    place.offset = offset;
    offset += schema_[i].size;
    place.work.append(schema_[i].size);
    shapes.push_back(schema_[i].shape);
  }
  bucket.plan = plan;
  gradstep_reducer_options chosen = options();
  if (costs_) {
    costs_->choose(plan, chosen, bucket.stats);
    resources_.context->log().write(
        GRADSTEP_LOG_INFO,
        "reducer: bucket {} of {} elements: mode auto is {}; predicted nanoseconds: dense {}, "
        "half {}, sparse_topk gathered {}, split {} (0: no candidate)",
        buckets_.size(), plan.elements, mode_name(chosen.mode), bucket.stats.predicted_dense_nanoseconds,
        bucket.stats.predicted_half_nanoseconds, bucket.stats.predicted_sparse_gather_nanoseconds,
        bucket.stats.predicted_sparse_split_nanoseconds);
  }
  bucket.exchange = make_bucket_exchange(resources_, plan, chosen, shapes);
  const Array result = bucket.exchange->result();
  bucket.itself.add({result, result}, plan.elements);
  const std::int64_t ranks = this->comm().world_size();
  bucket.stats.mode = chosen.mode;
  bucket.stats.elements = plan.elements;
  bucket.stats.parameters = static_cast<std::int64_t>(plan.parameters.size());
  bucket.stats.bytes_dense = 2 * (ranks - 1) * plan.elements * size_of(plan.dtype) / ranks;
  has_memory_ = has_memory_ || !bucket.exchange->kept().empty();
  buckets_.push_back(std::move(bucket));
}

Array Reducer::part_of(const Array& whole, std::size_t index) const {
  Array part = whole;
  part.size = schema_[index].size;
  if (whole.data != nullptr) {
    part.data = static_cast<std::byte*>(whole.data) + places_[index].offset * size_of(whole.dtype);
  }
  return part;
}

Array Reducer::result_of(std::size_t index) const {
  Array result = part_of(buckets_[places_[index].bucket].exchange->result(), index);
  place_if_empty(result);
  return result;
}

void Reducer::open_window(double weight) {
  check_weight(weight);
  if (options().average == GRADSTEP_AVERAGE_WEIGHTED) check_weight(weight, rank_weights(schema_.is_all_f64()));
  complete_ = measured_ = false;
  weight_ = resources_.weight = weight;
  resources_.total_weight.reset();
  full_buckets_ = 0;
  queue_->open(buckets_.size());
  resources_.join();  // of a window that has failed something may be left
  for (Bucket& bucket : buckets_) {
    bucket.pending = bucket.plan.parameters.size();
    bucket.exchange->begin();
  }
  for (Place& place : places_) place.pushed = place.touched = false;
  open_ = true;  // now that nothing can fail
}

void Reducer::begin(double weight) {
  if (open_) fail(GRADSTEP_ERR_INVALID_STATE, "begin: a window is open already; wait for it or cancel it");
  open_window(weight);
}

CombineItem Reducer::addition_of(const Bucket& bucket, std::size_t index, const Array& grad) const {
  const BucketExchange& exchange = *bucket.exchange;
  Array added = grad;
  if (pack_multiplier() == 0) added.data = nullptr;  // a gradient of weight 0 is not read
  return {part_of(exchange.packed(), index), added, part_of(exchange.carried(), index), pack_multiplier(),
          exchange.carried_factor()};
}

/// With the work for `grads`, which is worked out anew only where it has changed.
Reducer::Packing& Reducer::packing_of(Bucket& bucket, const BufferList& grads) {
  const void* packed = bucket.exchange->packed().data;
  Packing& first = bucket.packings[0];
  Packing& packing = first.packed == nullptr || first.packed == packed ? first : bucket.packings[1];
  const bool stays = packing.packed == packed && packing.multiplier == pack_multiplier() && grads.version != 0 &&
                     packing.version == grads.version;
  if (stays) return packing;
  packing.version = 0;
  packing.copies.clear();
  packing.sums.clear();
  const bool carries = bucket.exchange->carried().data != nullptr;
  for (const std::size_t i : bucket.plan.parameters) {
    const CombineItem sum = addition_of(bucket, i, grads[i]);
    if (carries) {
      packing.sums.add(sum, schema_[i].size);
    } else {
      packing.copies.add({sum.destination, sum.a}, schema_[i].size);
    }
  }
  packing.version = grads.version;
  packing.packed = packed;
  packing.multiplier = pack_multiplier();
  return packing;
}

void Reducer::pack(Bucket& bucket, const BufferList& grads) {
  const auto start = std::chrono::steady_clock::now();
  Packing& packing = packing_of(bucket, grads);
  if (bucket.exchange->carried().data == nullptr) {
    backend().copy(packing.copies.plan(), packing.multiplier, 1, queue());
  } else {
    backend().combine(packing.sums.plan(), queue());
  }
  for (const std::size_t i : bucket.plan.parameters) set_pushed(i, grads[i]);
  count_packing(bucket, start);
}

void Reducer::pack_one(std::size_t index, const Array& grad) {
  const auto start = std::chrono::steady_clock::now();
  Bucket& bucket = buckets_[places_[index].bucket];
  const CombineItem sum = addition_of(bucket, index, grad);
  if (sum.b.data == nullptr) {
    const CopyItem copy{sum.destination, sum.a};
    backend().copy({&places_[index].work, {&copy, 1}, {}}, sum.a_factor, 1, queue());
  } else {
    backend().combine({&places_[index].work, {&sum, 1}, {}}, queue());
  }
  set_pushed(index, grad);
  count_packing(bucket, start);
}

void Reducer::set_pushed(std::size_t index, const Array& grad) {
  places_[index].pushed = true;
  places_[index].touched = !is_absent(grad);
  --buckets_[places_[index].bucket].pending;
}

void Reducer::count_packing(Bucket& bucket, std::chrono::steady_clock::time_point start) {
  const std::lock_guard lock(stats_mutex_);
  bucket.stats.pack_nanoseconds += nanoseconds_since(start);
}

void Reducer::push(std::size_t index, const Array& grad) {
  if (open_ && places_[index].pushed) {
    fail(GRADSTEP_ERR_INVALID_STATE, "index: parameter {} ('{}') was pushed already in this window", index,
         schema_[index].name);
  }
  if (!open_) open_window(1);
  queue_->check();
  pack_one(index, grad);
  queue_->let_leave(full_buckets(), comm().deadline());
}

/// How many buckets from the first on have nothing pending.
std::size_t Reducer::full_buckets() {
  for (; full_buckets_ < buckets_.size() && buckets_[full_buckets_].pending == 0; ++full_buckets_) {
    buckets_[full_buckets_].packed = resources_.record();
  }
  return full_buckets_;
}

// May run on the channel's progress thread, beside pack() for other buckets: it touches nothing of the reducer's but
// what exchanges share, this bucket, and statistics under their lock.
void Reducer::exchange(Bucket& bucket, const Deadline& deadline) {
  const auto start = std::chrono::steady_clock::now();
  const std::int64_t sent_before = comm().stats().bytes_sent;
  const double divisor = options().average == GRADSTEP_AVERAGE_MEAN ? comm().world_size() : 1;
  gradstep_bucket_statistics stats{};
  const auto change_stats = [&](auto&& change) {
    const std::lock_guard lock(stats_mutex_);
    change();
  };
  change_stats([&] { stats = bucket.stats; });
  if (resources_.data->is_queued()) queued_ = true;
  try {
    resources_.follow(bucket.packed);
    if (bucket.plan.elements > 0) bucket.exchange->exchange(divisor, deadline, stats);
  } catch (...) {
    change_stats([&] { bucket.stats = stats; });
    throw;
  }
  ++stats.exchanges;
  stats.bytes_sent += comm().stats().bytes_sent - sent_before;
  stats.exchange_nanoseconds += nanoseconds_since(start);
  change_stats([&] { bucket.stats = stats; });
}

void Reducer::exchange_control(std::span<Bucket> exchanged, const Deadline& deadline) {
  bool any = false;
  for (std::size_t i = 0; i < places_.size(); ++i) {
    control_[kFirstParameter + i] = places_[i].touched ? 1 : 0;
    any = any || places_[i].touched;
  }
  control_[kWeight] = weight_;
  control_[kRanksWithGradient] = any ? 1 : 0;
  const Array control{control_.data(), static_cast<std::int64_t>(control_.size()), DType::f64, 0, nullptr, nullptr};
  comm().all_reduce(control, GRADSTEP_REDUCE_SUM, 1, deadline);
  any_gradient_ = control_[kRanksWithGradient] > 0;
  for (std::size_t i = 0; i < places_.size(); ++i) {
    places_[i].touched = !schema_[i].may_be_unused || control_[kFirstParameter + i] > 0;
  }
  if (options().average == GRADSTEP_AVERAGE_WEIGHTED) divide(exchanged, control_[kWeight]);
}

void Reducer::divide(std::span<Bucket> exchanged, double divisor) {
  for (Bucket& bucket : exchanged) {
    if (divisor == 0) {
      // A total weight of zero means that every rank contributed zeros: the average is zero, not 0 / 0.
      const Array result = bucket.exchange->result();
      queue().zero(result.data, static_cast<std::size_t>(result.bytes()));
    } else if (!bucket.exchange->is_divided_by_weight()) {
      backend().copy(bucket.itself.plan(), 1, divisor, queue());
    }
  }
}

void Reducer::wait(const BufferList& results) {
  if (!open_) open_window(1);  // this rank had no gradient at all; the others may
  finish_window(results, comm().deadline());
  commit();
}

void Reducer::finish_window(const BufferList& targets, const Deadline& deadline) {
  open_ = false;  // whatever comes, the window ends here
  try {
    queue_->check();
    for (std::size_t i = 0; i < places_.size(); ++i) {
      if (!places_[i].pushed) pack_one(i, Array{nullptr, schema_[i].size, DType::f32, 0, nullptr, nullptr});
    }
    queue_->exchange_all(full_buckets(), deadline);
    settle(buckets_, deadline);
    complete_ = true;
    write_results(targets);
    measure_window(buckets_, targets);
  } catch (...) {
    give_up_window(queue_->has_left());
    throw;
  }
}

/// What is left to know, and to agree on, when buckets are exchanged: no step is queued behind an exchange that fails.
void Reducer::settle(std::span<Bucket> exchanged, const Deadline& deadline) {
  queued_ = false;
  resources_.data->settle(deadline);
  resources_.join();
  if (needs_control_ || always_control_) {
    exchange_control(exchanged, deadline);
  } else {
    for (Place& place : places_) place.touched = true;
  }
}

void Reducer::write_results(const BufferList& targets) {
  if (targets.empty()) return;
  if (has_optional_ || targets.version == 0 || targets.version != results_version_) {
    results_version_ = 0;
    results_.clear();
    for (std::size_t i = 0; i < targets.size(); ++i) {
      if (places_[i].touched && !is_absent(targets[i])) results_.add({targets[i], result_of(i)}, targets[i].size);
    }
    results_version_ = targets.version;
  }
  backend().copy(results_.plan(), 1, 1, queue());
}

void Reducer::reduce(const BufferList& grads, const BufferList& results, double weight) {
  run_window(grads, results, weight);
  commit();
}

void Reducer::exchange_window(const BufferList& grads, double weight) { run_window(grads, {}, weight); }

void Reducer::run_window(const BufferList& grads, const BufferList& results, double weight) {
  if (open_) fail(GRADSTEP_ERR_INVALID_STATE, "reduce: pushes of a window are pending; wait for it or cancel it");
  check_channel();
  open_window(weight);
  const Deadline deadline = comm().deadline();
  open_ = false;
  queue_->limit(deadline);
  try {
    for (Bucket& bucket : buckets_) {
      // Buckets before it are exchanged meanwhile; with a single bucket there is nothing to gain.
      if (full_buckets() > 0) queue_->let_leave(full_buckets(), deadline);
      pack(bucket, grads);
    }
  } catch (...) {
    give_up_window(queue_->has_left());
    throw;
  }
  finish_window(results, deadline);
}

void Reducer::reduce_bucket(std::size_t index, const BufferList& arrays, double weight) {
  check_closed();
  Bucket& bucket = buckets_[index];
  bucket_results_.assign(arrays.begin(), arrays.end());
  for (std::size_t i = 0; i < bucket_results_.size(); ++i) {
    if (places_[i].bucket != index) bucket_results_[i].data = nullptr;  // stays as it is
  }
  open_window(weight);
  open_ = false;
  const Deadline deadline = comm().deadline();
  pack(bucket, arrays);
  bucket.packed = resources_.record();
  try {
    queue_->exchange_alone(index, deadline);
    settle({&bucket, 1}, deadline);
    write_results({bucket_results_, /*version=*/0});
    measure_window({&bucket, 1}, {bucket_results_, /*version=*/0});
  } catch (...) {
    give_up_window(/*has_left=*/true);
    throw;
  }
  commit({&bucket, 1});
}

void Reducer::cancel() {
  if (!open_) return;
  if (queue_->has_left()) comm().abort();
  drop_exchanges();
  open_ = false;
}

void Reducer::give_up_window(bool has_left) noexcept {
  drop_exchanges();
  if (has_left && comm().world_size() > 1 && is_of_this_rank(translate_exception())) comm().abort();
}

void Reducer::drop_exchanges() noexcept {
  if (queue_ == nullptr) return;
  queue_->halt();
  if (std::exchange(queued_, false)) comm().abort();
}

BufferList Reducer::gradients() {
  if (!complete_) fail(GRADSTEP_ERR_INVALID_STATE, "there is no finished window");
  for (std::size_t i = 0; i < places_.size(); ++i) {
    Array shown = result_of(i);
    if (!places_[i].touched) shown.data = nullptr;
    shown_.set(i, shown);
  }
  return shown_.list();
}

const double* Reducer::norm() {
  if (!complete_) fail(GRADSTEP_ERR_INVALID_STATE, "there is no finished window");
  if (!measured_) {
    const BufferList shown = gradients();
    if (!shown.shows_again(outcome_.arrays)) outcome_.prepared.forget();
    outcome_.arrays = shown;
    backend().measure(outcome_, norm_.as<double>(), queue());
    measured_ = true;
  }
  return norm_.as<double>();
}

std::vector<gradstep_bucket_statistics> Reducer::bucket_stats() const {
  std::vector<gradstep_bucket_statistics> all;
  all.reserve(buckets_.size());
  const std::lock_guard lock(stats_mutex_);
  for (const Bucket& bucket : buckets_) {
    all.push_back(bucket.stats);
    if (!queue().is_host()) bucket.exchange->complete(all.back());
    all.back().wait_nanoseconds = queue_->waited_nanoseconds(all.size() - 1);
  }
  return all;
}

void Reducer::check_closed() const {
  if (open_) fail(GRADSTEP_ERR_INVALID_STATE, "reducer: pushes of a window are pending; wait for it or cancel it");
}

/// A window that begins forgets the one before it, also one that has failed here and that peers may have finished:
/// take_over() needs what that one would leave behind.
void Reducer::check_channel() const {
  const Communicator::Status status = comm().status();
  if (status.code != GRADSTEP_OK) throw_error(status.code, status.text);
}

Array Reducer::residual(std::size_t index) const {
  if (index >= schema_.size()) fail_argument("index: is {}, the schema has {} parameters", index, schema_.size());
  check_closed();
  const Bucket& bucket = buckets_[places_[index].bucket];
  for (const KeptTensor& kept : bucket.exchange->kept()) {
    if (bucket.plan.parameters[kept.position] == index && std::string_view(kept.name) == "residual") {
      return kept.array;
    }
  }
  fail(GRADSTEP_ERR_INVALID_STATE, "reducer: this mode keeps no residuals, or options.residual is 0");
}

}  // namespace gradstep
