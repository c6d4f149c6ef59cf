// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// SINGA's sparsification: u = gradient + residual, the large elements of u travel, the others are the next residual.
//
// Messages are written, summed and cleared where the gradients lie. Where how many elements are selected is fixed, and
// all selections are gathered, no answer is asked for: the message begins with the number of NaNs. Else the ranks tell
// each other first how long their messages are.
#include "reduce/sparse.h"

#include <chrono>
#include <utility>

#include "core/error.h"

namespace gradstep {

namespace {

/// What is too large fails before its memory is asked for.
BucketPlan of_checked_size(BucketPlan plan) {
  if (plan.elements > kMostSparseElements) {
    fail(GRADSTEP_ERR_UNSUPPORTED,
         "a bucket has {} elements; sparse modes take buckets and parameters of up to 2^31 - 1", plan.elements);
  }
  return plan;
}

bool uses_ef21(const gradstep_reducer_options& options) {
  return options.error_feedback == GRADSTEP_ERROR_FEEDBACK_EF21;
}

}  // namespace

SparseExchange::SparseExchange(ExchangeResources& resources, const BucketPlan& plan,
                               const gradstep_reducer_options& checked, std::span<const std::int64_t> sizes)
    : ExchangeByRounds(resources, of_checked_size(plan), checked, /*zeroed=*/true),
      residual_(resources.site, plan.dtype, sizes, "residual", checked.residual != 0 && !uses_ef21(checked)),
      work_({&plan_.elements, 1}),
      selection_(resources, options(), plan.dtype, sizes),
      sums_(resources, BucketExchange::result()),
      route_(resources, options(), sums_) {
  if (checked.momentum_correction > 0) velocity_.emplace(resources.site, plan.dtype, sizes, "velocity", /*keeps=*/true);
  if (uses_ef21(checked)) ef21_.emplace(resources, plan.dtype, sizes);
}

Array SparseExchange::carried() const {
  if (velocity_) return velocity_->kept();
  return ef21_ ? ef21_->estimate() : residual_.kept();
}

double SparseExchange::carried_factor() const {
  if (velocity_) return options().momentum_correction;
  return ef21_ ? -1 : 1;
}

std::optional<Round> SparseExchange::start(double divisor, gradstep_bucket_statistics& stats) {
  const auto begin = std::chrono::steady_clock::now();
  divisor_ = divisor;
  select(route_.next_pieces());
  if (queue().is_host()) complete(stats);
  stats.select_nanoseconds +=
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() - begin).count();
  std::optional<Round> round = SparseRoute::ask_counts(selection_);
  awaits_counts_ = round.has_value();
  if (!round) round = send();
  if (!round) finish_exchange(stats);
  return round;
}

std::optional<Round> SparseExchange::proceed(const Received& received, gradstep_bucket_statistics& stats) {
  std::optional<Round> round;
  if (std::exchange(awaits_counts_, false)) {
    route_.read_counts(selection_, received);
    if (!selection_.by_count()) selection_.take(route_.own_count());
    round = send();
  } else {
    round = route_.proceed(received);
  }
  if (!round) finish_exchange(stats);
  return round;
}

std::optional<Round> SparseExchange::send() {
  leave_rest();
  set_has_sent();
  return route_.start(selection_, ef21_ ? 1 : divisor_);
}

void SparseExchange::finish_exchange(gradstep_bucket_statistics& stats) {
  if (ef21_) {
    ef21_->add(sums_.sum(), divisor_);
  } else if (residual_.keeps()) {
    sums_.measure(route_.lists());
  }
  stats.algorithm = selection_.pieces() > 1 ? GRADSTEP_EXCHANGE_SPARSE_SPLIT : GRADSTEP_EXCHANGE_SPARSE_GATHER;
  stats.selected += selection_.list().count;
}

void SparseExchange::select(std::size_t pieces) {
  if (velocity_) {
    const CombineItem accumulated{residual_.packed(), residual_.kept(), velocity_->packed()};
    backend().combine({&work_, {&accumulated, 1}, {}}, queue());
  }
  selection_.select(residual_.packed(), velocity_ ? velocity_->packed() : Array{}, pieces);
}

/// Takes what is sent out of what stays.
void SparseExchange::leave_rest() {
  SparseList sent = selection_.list();
  sent.values = nullptr;
  if (residual_.keeps()) backend().put(residual_.packed(), sent, /*add=*/false, queue());
  if (velocity_) backend().put(velocity_->packed(), sent, /*add=*/false, queue());
}

// What is not finite is selected before anything else, so that it shows here if it is somewhere in a residual. EF21's
// result has all that came before in it.
double SparseExchange::largest() {
  return ef21_ ? BucketExchange::largest() : static_cast<double>(world_size()) * sums_.norm();
}

void SparseExchange::commit() {
  if (ef21_) return ef21_->commit(selection_.list(), sums_.sum(), sums_.touched());
  residual_.commit();
  if (velocity_) velocity_->commit();
}

std::vector<KeptTensor> SparseExchange::kept() {
  std::vector<KeptTensor> list;
  residual_.list(list);
  if (velocity_) velocity_->list(list);
  if (ef21_) ef21_->list(list);
  return list;
}

// What was sent is out of what is packed by then.
void SparseExchange::finish(const BucketExchange& failed) {
  const auto* other = dynamic_cast<const SparseExchange*>(&failed);
  if (other == nullptr) return;
  if (ef21_) return ef21_->finish(other->selection_.list());
  residual_.finish(other->residual_, queue());
  if (velocity_ && other->velocity_) velocity_->finish(*other->velocity_, queue());
}

void SparseExchange::rejoin(std::int32_t /*root*/, const Deadline& deadline) {
  if (ef21_) ef21_->rejoin(deadline);
}

}  // namespace gradstep
