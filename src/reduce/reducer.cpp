// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "reduce/reducer.h"

#include <chrono>
#include <cmath>

#include "core/error.h"

namespace gradstep {

namespace {

std::int64_t nanoseconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

gradstep_reducer_options default_reducer_options() {
  gradstep_reducer_options options{};
  options.fuse_threshold = 2097152;
  return options;
}

Reducer::Reducer(std::shared_ptr<Context> context, Communicator& comm, const gradstep_reducer_options& options,
                 Schema schema)
    : context_(std::move(context)), options_(options), schema_(std::move(schema)) {
  if (options.mode != GRADSTEP_REDUCER_DENSE) fail_argument("options.mode: is {}, expected 0 (dense)", options.mode);
  if (options.average < GRADSTEP_AVERAGE_UNSET || options.average > GRADSTEP_AVERAGE_WEIGHTED) {
    fail_argument("options.average: is {}, expected {} to {}", options.average,
                  static_cast<int>(GRADSTEP_AVERAGE_UNSET), static_cast<int>(GRADSTEP_AVERAGE_WEIGHTED));
  }
  if (options.fuse_threshold < 1)
    fail_argument("options.fuse_threshold: is {}, expected at least 1", options.fuse_threshold);
  if (options_.average == GRADSTEP_AVERAGE_UNSET) options_.average = GRADSTEP_AVERAGE_MEAN;
  needs_control_ = options_.average == GRADSTEP_AVERAGE_WEIGHTED;
  for (const Parameter& parameter : schema_) {
    work_.append(parameter.size);
    needs_control_ = needs_control_ || parameter.may_be_unused;
  }

  places_.resize(schema_.size());
  for (BucketPlan& plan : plan_buckets(schema_, options_.fuse_threshold)) {
    Bucket bucket;
    bucket.buffer = context_->allocate(static_cast<std::size_t>(plan.elements * size_of(plan.dtype)), /*zeroed=*/false);
    std::int64_t offset = 0;
    for (const std::size_t i : plan.parameters) {
      Place& place = places_[i];
      place.bucket = buckets_.size();
      place.array.dtype = plan.dtype;
      place.array.size = schema_[i].size;
      place.array.data = bucket.buffer.as<char>() + offset * size_of(plan.dtype);
      offset += schema_[i].size;
      place.work.append(schema_[i].size);
      bucket.work.append(schema_[i].size);
      bucket.items.push_back({place.array, {}});
    }
    bucket.stats.mode = options_.mode;
    bucket.stats.elements = plan.elements;
    bucket.stats.parameters = static_cast<std::int64_t>(plan.parameters.size());
    bucket.plan = std::move(plan);
    buckets_.push_back(std::move(bucket));
  }
  squares_.resize(work_.chunks().size());
  control_.resize(2 + schema_.size());

  const Deadline deadline = comm.deadline();
  comm_ = comm.dup(deadline);
  compare_plans(deadline);
  const std::int64_t ranks = comm_->world_size();
  for (Bucket& bucket : buckets_) {
    bucket.stats.bytes_dense = 2 * (ranks - 1) * bucket.plan.elements * size_of(bucket.plan.dtype) / ranks;
  }
}

void Reducer::compare_plans(const Deadline& deadline) {
  const PlanDigest own = digest_of(schema_, options_.mode, options_.average, options_.fuse_threshold);
  std::vector<PlanDigest> all(static_cast<std::size_t>(comm_->world_size()));
  comm_->all_gather(&own, all.data(), sizeof own, deadline);
  // Compared with rank 0's on every rank, so that all ranks see the same outcome.
  for (std::size_t r = 1; r < all.size(); ++r) {
    for (std::size_t i = 0; i < PlanDigest::kCount; ++i) {
      if (all[r].values[i] != all[0].values[i]) {
        fail(GRADSTEP_ERR_MISMATCH, "rank {} and rank 0 disagree on {}", r, PlanDigest::what(i));
      }
    }
  }
}

void Reducer::open_window(double weight) {
  if (!(weight >= 0) || !std::isfinite(weight)) {
    fail_argument("weight: is {}, expected a finite number of at least 0", weight);
  }
  open_ = true;
  complete_ = measured_ = false;
  weight_ = weight;
  next_bucket_ = 0;
  error_ = nullptr;
  for (Bucket& bucket : buckets_) bucket.pending = bucket.plan.parameters.size();
  for (Place& place : places_) place.pushed = place.touched = false;
}

void Reducer::begin(double weight) {
  if (open_) fail(GRADSTEP_ERR_INVALID_STATE, "begin: a window is open already; wait for it or cancel it");
  open_window(weight);
}

void Reducer::pack(std::size_t index, const Array& grad) {
  Place& place = places_[index];
  Bucket& bucket = buckets_[place.bucket];
  const auto start = std::chrono::steady_clock::now();
  const CopyItem item{place.array, grad};
  context_->backend().copy(place.work, {&item, 1}, pack_multiplier(), 1);
  bucket.stats.pack_nanoseconds += nanoseconds_since(start);
  place.pushed = true;
  place.touched = grad.data != nullptr;
  --bucket.pending;
}

void Reducer::pack_bucket(Bucket& bucket, std::span<const Array> grads) {
  const auto start = std::chrono::steady_clock::now();
  for (std::size_t k = 0; k < bucket.items.size(); ++k) {
    const std::size_t i = bucket.plan.parameters[k];
    bucket.items[k].source = grads[i];
    places_[i].pushed = true;
    places_[i].touched = grads[i].data != nullptr;
  }
  context_->backend().copy(bucket.work, bucket.items, pack_multiplier(), 1);
  bucket.stats.pack_nanoseconds += nanoseconds_since(start);
  bucket.pending = 0;
}

void Reducer::push(std::size_t index, const gradstep_tensor* grad) {
  if (index >= schema_.size()) fail_argument("index: is {}, the schema has {} parameters", index, schema_.size());
  if (grad == nullptr) fail_argument("grad: is NULL");
  const Array array = schema_.gradient_array("grad", index, *grad);
  if (open_ && places_[index].pushed) {
    fail(GRADSTEP_ERR_INVALID_STATE, "index: parameter {} ('{}') was pushed already in this window", index,
         schema_[index].name);
  }
  if (!open_) open_window(1);
  if (error_) std::rethrow_exception(error_);
  pack(index, array);
  leave_in_order(comm_->deadline());
}

void Reducer::leave_in_order(const Deadline& deadline) {
  try {
    while (next_bucket_ < buckets_.size() && buckets_[next_bucket_].pending == 0) {
      exchange(buckets_[next_bucket_], deadline);
      ++next_bucket_;
    }
  } catch (...) {
    error_ = std::current_exception();
    throw;
  }
}

void Reducer::exchange(Bucket& bucket, const Deadline& deadline) {
  const auto start = std::chrono::steady_clock::now();
  const std::int64_t sent_before = comm_->stats().bytes_sent;
  const double divisor = options_.average == GRADSTEP_AVERAGE_MEAN ? comm_->world_size() : 1;
  if (bucket.plan.elements > 0) comm_->all_reduce(bucket.all(), GRADSTEP_REDUCE_SUM, divisor, deadline);
  ++bucket.stats.exchanges;
  bucket.stats.bytes_sent += comm_->stats().bytes_sent - sent_before;
  bucket.stats.exchange_nanoseconds += nanoseconds_since(start);
}

void Reducer::exchange_control(const Deadline& deadline) {
  // [W, ranks with a gradient, touched ...]
  bool any = false;
  for (std::size_t i = 0; i < places_.size(); ++i) {
    control_[2 + i] = places_[i].touched ? 1 : 0;
    any = any || places_[i].touched;
  }
  control_[0] = weight_;
  control_[1] = any ? 1 : 0;
  const Array control{control_.data(), static_cast<std::int64_t>(control_.size()), DType::f64, 0, nullptr, nullptr};
  comm_->all_reduce(control, GRADSTEP_REDUCE_SUM, 1, deadline);
  any_gradient_ = control_[1] > 0;
  for (std::size_t i = 0; i < places_.size(); ++i) {
    places_[i].touched = !schema_[i].may_be_unused || control_[2 + i] > 0;
  }
  if (options_.average == GRADSTEP_AVERAGE_WEIGHTED) divide(control_[0]);
}

void Reducer::divide(double divisor) {
  std::vector<CopyItem> items;
  WorkList work;
  for (const Bucket& bucket : buckets_) {
    work.append(bucket.plan.elements);
    // A total weight of zero means that every rank contributed zeros: the average is zero, not 0 / 0.
    Array source = bucket.all();
    if (!(divisor > 0)) source.data = nullptr;
    items.push_back({bucket.all(), source});
  }
  context_->backend().copy(work, items, 1, divisor > 0 ? divisor : 1);
}

void Reducer::wait(const gradstep_tensor* results, std::size_t n) {
  check_targets(results, n);
  if (!open_) open_window(1);  // this rank had no gradient at all; the others may
  finish_window(targets_, comm_->deadline());
}

void Reducer::finish_window(std::span<const Array> targets, const Deadline& deadline) {
  open_ = false;  // whatever comes, the window ends here
  if (error_) std::rethrow_exception(error_);
  for (std::size_t i = 0; i < places_.size(); ++i) {
    if (!places_[i].pushed) pack(i, Array{nullptr, schema_[i].size, DType::f32, 0, nullptr, nullptr});
  }
  leave_in_order(deadline);
  if (needs_control_ || always_control_) {
    exchange_control(deadline);
  } else {
    for (Place& place : places_) place.touched = true;
  }
  complete_ = true;
  write_results(targets);
}

void Reducer::write_results(std::span<const Array> targets) {
  if (targets.empty()) return;
  results_.clear();
  WorkList work;
  for (std::size_t i = 0; i < targets.size(); ++i) {
    if (!places_[i].touched || targets[i].data == nullptr) continue;
    work.append(targets[i].size);
    results_.push_back({targets[i], places_[i].array});
  }
  context_->backend().copy(work, results_, 1, 1);
}

void Reducer::check_targets(const gradstep_tensor* results, std::size_t n) {
  targets_.clear();
  if (results == nullptr) return;
  schema_.check_count("results", results, n);
  for (std::size_t i = 0; i < n; ++i) {
    targets_.push_back(schema_.gradient_array("results", i, results[i]));
  }
}

void Reducer::reduce(const gradstep_tensor* grads, const gradstep_tensor* results, std::size_t n, double weight) {
  if (open_) fail(GRADSTEP_ERR_INVALID_STATE, "reduce: pushes of a window are pending; wait for it or cancel it");
  schema_.check_count("grads", grads, n);
  grads_.clear();
  for (std::size_t i = 0; i < n; ++i) grads_.push_back(schema_.gradient_array("grads", i, grads[i]));
  check_targets(results, n);
  open_window(weight);
  const Deadline deadline = comm_->deadline();
  open_ = false;
  for (Bucket& bucket : buckets_) {
    pack_bucket(bucket, grads_);
    leave_in_order(deadline);
  }
  finish_window(targets_, deadline);
}

void Reducer::cancel() {
  if (!open_) return;
  if (next_bucket_ > 0) comm_->abort();
  open_ = false;
}

void Reducer::gradients(std::span<gradstep_tensor> views) const {
  if (!complete_) fail(GRADSTEP_ERR_INVALID_STATE, "there is no finished window");
  for (std::size_t i = 0; i < views.size(); ++i) {
    views[i] = schema_.view(i, places_[i].touched ? places_[i].array.data : nullptr, places_[i].array.dtype);
  }
}

const double* Reducer::norm() {
  if (!complete_) fail(GRADSTEP_ERR_INVALID_STATE, "there is no finished window");
  if (!measured_) {
    std::vector<Array> arrays;
    for (const Place& place : places_) {
      Array array = place.array;
      if (!place.touched) array.data = nullptr;
      arrays.push_back(array);
    }
    context_->backend().square_chunks(work_, arrays, squares_);
    norm_ = std::sqrt(fold_partials(squares_));
    measured_ = true;
  }
  return &norm_;
}

std::vector<gradstep_bucket_statistics> Reducer::bucket_stats() const {
  std::vector<gradstep_bucket_statistics> all;
  all.reserve(buckets_.size());
  for (const Bucket& bucket : buckets_) all.push_back(bucket.stats);
  return all;
}

SavedPart Reducer::save() const {
  if (open_) fail(GRADSTEP_ERR_INVALID_STATE, "reducer: pushes of a window are pending; wait for it or cancel it");
  SavedPart part;
  save_parameters(part, schema_);
  part.set("mode", std::int64_t{options_.mode});
  return part;
}

std::function<void()> Reducer::load(LoadedPart& part) {
  if (open_) fail(GRADSTEP_ERR_INVALID_STATE, "reducer: pushes of a window are pending; wait for it or cancel it");
  check_parameters(part, schema_);
  if (part.integer("mode") != options_.mode) {
    fail(GRADSTEP_ERR_MISMATCH, "the saved reducer has mode {}, this one has {}", part.integer("mode"), options_.mode);
  }
  part.check_all_taken();
  return [] {};
}

}  // namespace gradstep
