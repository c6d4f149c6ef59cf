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

Reducer::Reducer(std::shared_ptr<Context> context, Communicator& comm, const gradstep_reducer_options& options,
                 Schema schema, const Deadline& deadline)
    : resources_(std::move(context), schema, checked_reducer_options(options)),
      schema_(std::move(schema)),
      control_(schema_.size()) {
  needs_control_ = is_weighted() || this->options().control != 0;
  for (const Parameter& parameter : schema_) {
    work_.append(parameter.size);
    has_optional_ = has_optional_ || parameter.may_be_unused;
  }
  needs_control_ = needs_control_ || has_optional_;
  outcome_.work = &work_;
  norm_ = resources_.site.allocate(sizeof(double), /*zeroed=*/true);
  const std::vector<BucketPlan> plans = plan_buckets(schema_, this->options().fuse_threshold);

  resources_.comm = comm.private_channel(deadline);
  resources_.data = std::make_unique<DataPlane>(*resources_.comm, *resources_.context, resources_.lane());
  const auto what = [](std::size_t i) { return PlanDigest::what(i); };
  compare_ranks(this->comm(), digest_of(schema_, this->options()).values, what, deadline);
  std::vector<gradstep_bucket_statistics> found(plans.size());
  const std::vector<BucketChoice> choices = choose(plans, found, deadline);
  places_.resize(schema_.size());
  for (std::size_t b = 0; b < plans.size(); ++b) add_bucket(plans[b], choices[b], found[b]);
  // Exchanges that are queued on the device wait for nobody, and are in the same order on all ranks if the calls are.
  const bool overlaps = resources_.comm->overlaps() && !resources_.data->is_queued();
  queue_ = std::make_unique<BucketQueue>(resources_.comm, buckets_, overlaps);
}

void Reducer::add_bucket(const BucketPlan& plan, const BucketChoice& choice, const gradstep_bucket_statistics& stats) {
  for (std::size_t k = 0; k < plan.parameters.size(); ++k) {
    Place& place = places_[plan.parameters[k]];
    place.bucket = buckets_.size();
    place.position = k;
  }
  buckets_.push_back(make_bucket(plan, choice, stats));
  has_memory_ = has_memory_ || !buckets_.back()->exchange().kept().empty();
}

Array Reducer::result_of(std::size_t index) const {
  const Place& place = places_[index];
  Array result = buckets_[place.bucket]->result_of(place.position);
  place_if_empty(result);
  return result;
}

void Reducer::open_window(double weight) {
  check_weight(weight);
  if (is_weighted()) check_weight(weight, rank_weights(schema_.is_all_f64()));
  complete_ = measured_ = false;
  resources_.weight = weight;
  resources_.total_weight.reset();
  control_.begin(weight);
  full_buckets_ = 0;
  queue_->open();
  resources_.join();  // of a window that has failed something may be left
  for (const auto& bucket : buckets_) bucket->begin(is_weighted() ? weight : 1);
  for (Place& place : places_) place.pushed = place.shown = false;
  open_ = true;  // now that nothing can fail
}

void Reducer::begin(double weight) {
  if (open_) fail(GRADSTEP_ERR_INVALID_STATE, "begin: a window is open already; wait for it or cancel it");
  open_window(weight);
}

void Reducer::pack(Bucket& bucket, const BufferList& grads) {
  bucket.pack(grads);
  for (const std::size_t i : bucket.parameters()) set_pushed(i, grads[i]);
}

void Reducer::pack_one(std::size_t index, const Array& grad) {
  const Place& place = places_[index];
  buckets_[place.bucket]->pack(place.position, grad);
  set_pushed(index, grad);
}

void Reducer::set_pushed(std::size_t index, const Array& grad) {
  places_[index].pushed = true;
  if (!is_absent(grad)) control_.set_touched(index);
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
  for (; full_buckets_ < buckets_.size() && buckets_[full_buckets_]->is_full(); ++full_buckets_) {
    buckets_[full_buckets_]->note_packed();
  }
  return full_buckets_;
}

void Reducer::exchange_control(Chosen exchanged, const Deadline& deadline) {
  control_.exchange(comm(), deadline);
  for (std::size_t i = 0; i < places_.size(); ++i) {
    places_[i].shown = !schema_[i].may_be_unused || control_.is_touched(i);
  }
  if (!is_weighted()) return;
  for (const auto& bucket : exchanged) bucket->divide(control_.total_weight());
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
void Reducer::settle(Chosen exchanged, const Deadline& deadline) {
  resources_.has_queued = false;
  resources_.data->settle(deadline);
  resources_.join();
  if (needs_control_ || always_control_) {
    exchange_control(exchanged, deadline);
  } else {
    for (Place& place : places_) place.shown = true;
  }
}

void Reducer::write_results(const BufferList& targets) {
  if (targets.empty()) return;
  if (has_optional_ || targets.version == 0 || targets.version != results_version_) {
    results_version_ = 0;
    results_.clear();
    for (std::size_t i = 0; i < targets.size(); ++i) {
      if (places_[i].shown && !is_absent(targets[i])) results_.add({targets[i], result_of(i)}, targets[i].size);
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
    for (const auto& bucket : buckets_) {
      // Buckets before it are exchanged meanwhile; with a single bucket there is nothing to gain.
      if (full_buckets() > 0) queue_->let_leave(full_buckets(), deadline);
      pack(*bucket, grads);
    }
  } catch (...) {
    give_up_window(queue_->has_left());
    throw;
  }
  finish_window(results, deadline);
}

void Reducer::reduce_bucket(std::size_t index, const BufferList& arrays, double weight) {
  check_closed();
  Bucket& bucket = *buckets_[index];
  const Chosen alone(&buckets_[index], 1);
  bucket_results_.assign(arrays.begin(), arrays.end());
  for (std::size_t i = 0; i < bucket_results_.size(); ++i) {
    if (places_[i].bucket != index) bucket_results_[i].data = nullptr;  // stays as it is
  }
  open_window(weight);
  open_ = false;
  const Deadline deadline = comm().deadline();
  pack(bucket, arrays);
  bucket.note_packed();
  try {
    queue_->exchange_alone(index, deadline);
    settle(alone, deadline);
    write_results({bucket_results_, /*version=*/0});
    measure_window(alone, {bucket_results_, /*version=*/0});
  } catch (...) {
    give_up_window(/*has_left=*/true);
    throw;
  }
  commit(alone);
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
  if (std::exchange(resources_.has_queued, false)) comm().abort();
}

BufferList Reducer::gradients() {
  if (!complete_) fail(GRADSTEP_ERR_INVALID_STATE, "there is no finished window");
  for (std::size_t i = 0; i < places_.size(); ++i) {
    Array shown = result_of(i);
    if (!places_[i].shown) shown.data = nullptr;
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
  for (const auto& bucket : buckets_) {
    all.push_back(bucket->stats());
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
  const Place& place = places_[index];
  for (const KeptTensor& kept : buckets_[place.bucket]->exchange().kept()) {
    if (kept.position == place.position && std::string_view(kept.name) == "residual") {
      return kept.array;
    }
  }
  fail(GRADSTEP_ERR_INVALID_STATE, "reducer: this mode keeps no residuals, or options.residual is 0");
}

}  // namespace gradstep
