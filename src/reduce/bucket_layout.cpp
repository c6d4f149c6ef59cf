// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "reduce/bucket_layout.h"

#include <algorithm>
#include <sstream>

#include "core/absence.h"
#include "core/error.h"
#include "reduce/cost_model.h"
#include "reduce/reducer_options.h"

namespace gradstep {

BucketLayout::BucketLayout(ExchangeResources& resources, const Schema& schema, const Deadline& deadline)
    : resources_(resources), schema_(schema), places_(schema.size()) {
  const std::vector<BucketPlan> plans = plan_buckets(schema, options().fuse_threshold);
  resources.open_channels(plans.size(), deadline);
  std::vector<gradstep_bucket_statistics> found(plans.size());
  const std::vector<BucketChoice> choices = choose(plans, found, deadline);
  Buckets buckets;
  for (std::size_t b = 0; b < plans.size(); ++b) {
    for (std::size_t k = 0; k < plans[b].parameters.size(); ++k) places_[plans[b].parameters[k]] = {b, k};
    buckets.push_back(make_bucket(b, plans[b], choices[b], found[b]));
  }
  buckets_.resize(buckets.size());
  replace(std::move(buckets), is_auto() && comm().world_size() > 1);
}

std::vector<std::vector<std::size_t>> BucketLayout::groups() const {
  std::vector<std::vector<std::size_t>> all;
  for (const auto& bucket : buckets_) all.push_back(bucket->parameters());
  return all;
}

Array BucketLayout::result_of(std::size_t parameter) const {
  Array result = bucket_of(parameter).result_of(places_[parameter].position);
  place_if_empty(result);
  return result;
}

void BucketLayout::deal(const DealtSlices& dealt) {
  const auto rank = static_cast<std::size_t>(comm().rank());
  try {
    for (const auto& bucket : buckets_) bucket->deal(bucket_slices(bucket->plan(), schema_, dealt, rank));
  } catch (...) {
    collect();
    throw;
  }
  is_dealt_ = true;
}

bool BucketLayout::is_dealt_as(const DealtSlices& dealt) const {
  const auto rank = static_cast<std::size_t>(comm().rank());
  return std::ranges::all_of(buckets_, [&](const auto& bucket) {
    return bucket->slices() == bucket_slices(bucket->plan(), schema_, dealt, rank);
  });
}

bool BucketLayout::lends_memory() const {
  return std::ranges::any_of(buckets_, [](const auto& bucket) { return bucket->exchange().scatters(); });
}

void BucketLayout::check_brings_all(const char* what) const {
  if (!is_dealt()) return;
  fail(GRADSTEP_ERR_UNSUPPORTED,
       "{}: each rank of this reducer has its slices of the gradients alone, for the optimizer that was attached with "
       "it",
       what);
}

void BucketLayout::collect() noexcept {
  for (const auto& bucket : buckets_) bucket->collect();
  is_dealt_ = false;
}

std::vector<BucketChoice> BucketLayout::choose(const std::vector<BucketPlan>& plans,
                                               std::span<gradstep_bucket_statistics> found, const Deadline& deadline) {
  const std::int32_t by_hosts = comm().host_sums() != nullptr ? 1 : 0;
  std::vector<BucketChoice> choices(plans.size(), {options().mode, options().sparse_exchange, by_hosts});
  if (!is_auto()) return choices;
  if ((options().candidates & GRADSTEP_CANDIDATE_HOSTS) != 0 && comm().reduction_order() != GRADSTEP_REDUCTION_HOSTS) {
    fail_argument(
        "options.candidates: has the flag hosts ({:#x}), expected a comm of reduction_order {} (HOSTS), found {}",
        static_cast<std::int32_t>(GRADSTEP_CANDIDATE_HOSTS), static_cast<int>(GRADSTEP_REDUCTION_HOSTS),
        comm().reduction_order());
  }
  std::int64_t elements = 0;
  for (const BucketPlan& plan : plans) elements += plan.elements;
  const CostModel costs(resources_, elements, deadline);
  const auto company_of = [&](const BucketPlan& plan) -> Together {
    if (!resources_.has_common_rounds()) return {};
    const auto like = std::ranges::count(plans, plan.dtype, &BucketPlan::dtype);
    return {static_cast<std::size_t>(like), resources_.channels_for(plans.size()),
            comm().reduction_order() != GRADSTEP_REDUCTION_ENGINE};
  };
  for (std::size_t b = 0; b < plans.size(); ++b) {
    choices[b] = costs.choose(plans[b], shapes_of(plans[b], schema_), options(), found[b], company_of(plans[b]));
  }
  // The measures are the same on all ranks; processors may still round predictions that are nearly equal differently.
  const auto bytes = static_cast<std::int64_t>(choices.size() * sizeof(BucketChoice));
  if (bytes > 0) comm().broadcast(choices.data(), bytes, 0, deadline);
  for (std::size_t b = 0; b < plans.size(); ++b) {
    const gradstep_bucket_statistics& stats = found[b];
    resources_.context->log().write(
        GRADSTEP_LOG_INFO,
        "reducer: bucket {} of {} elements: mode auto is {}{}; predicted nanoseconds: dense {}, half {}, int8 {}, int4 "
        "{}, fp8 {}, powersgd {}, sparse_topk gathered {}, split {} (0: no candidate)",
        b, plans[b].elements, mode_name(choices[b].mode), choices[b].by_hosts != 0 ? ", by hosts" : "",
        stats.predicted_dense_nanoseconds, stats.predicted_half_nanoseconds, stats.predicted_int8_nanoseconds,
        stats.predicted_int4_nanoseconds, stats.predicted_fp8_nanoseconds, stats.predicted_powersgd_nanoseconds,
        stats.predicted_sparse_gather_nanoseconds, stats.predicted_sparse_split_nanoseconds);
  }
  return choices;
}

std::unique_ptr<Bucket> BucketLayout::make_bucket(std::size_t index, const BucketPlan& plan, const BucketChoice& choice,
                                                  gradstep_bucket_statistics stats) const {
  gradstep_reducer_options chosen = options();
  chosen.mode = choice.mode;
  chosen.sparse_exchange = choice.sparse_exchange;
  stats.by_hosts = choice.by_hosts;
  return std::make_unique<Bucket>(resources_.of_bucket(index), schema_, plan, chosen, stats);
}

std::vector<BucketChoice> BucketLayout::choices() const {
  std::vector<BucketChoice> all;
  for (const auto& bucket : buckets_) all.push_back(bucket->choice());
  return all;
}

/// Elements, mode, sparse_exchange and by_hosts of each bucket.
std::string BucketLayout::text_of_choices() const {
  std::ostringstream text;
  for (const auto& bucket : buckets_) {
    const BucketChoice& choice = bucket->choice();
    if (&bucket != &buckets_.front()) text << ' ';
    text << bucket->plan().elements << ' ' << choice.mode << ' ' << choice.sparse_exchange << ' ' << choice.by_hosts;
  }
  return text.str();
}

std::vector<BucketChoice> BucketLayout::saved_choices(const LoadedPart& part) const {
  if (!is_auto() || !part.has_text("choices")) return {};
  const auto damaged = [] { fail(GRADSTEP_ERR_CORRUPT, "the saved reducer has choices that cannot be read"); };
  std::istringstream text(part.text("choices"));
  std::vector<BucketChoice> choices;
  bool is_same_plan = true;
  std::int64_t elements = 0;
  while (text >> elements) {
    BucketChoice choice;
    text >> choice.mode >> choice.sparse_exchange >> choice.by_hosts;
    const bool is_known = choice.mode >= 0 && choice.mode <= GRADSTEP_REDUCER_FP8_E5M2 &&
                          choice.sparse_exchange >= GRADSTEP_SPARSE_EXCHANGE_AUTO &&
                          choice.sparse_exchange <= GRADSTEP_SPARSE_EXCHANGE_SPLIT &&
                          (choice.by_hosts == 0 || choice.by_hosts == 1);
    if (!text || !is_known) damaged();
    is_same_plan =
        is_same_plan && choices.size() < buckets_.size() && elements == buckets_[choices.size()]->plan().elements;
    choices.push_back(choice);
  }
  if (!text.eof()) damaged();
  if (!is_same_plan || choices.size() != buckets_.size()) return {};
  return choices;
}

Buckets BucketLayout::buckets_with(std::span<const BucketChoice> choices) const {
  Buckets fresh(buckets_.size());
  for (std::size_t b = 0; b < choices.size(); ++b) {
    const Bucket& present = *buckets_[b];
    BucketChoice choice = choices[b];
    const bool is_allowed =
        is_candidate(options(), choice.mode) && !(is_coded(choice.mode) && present.plan().dtype == DType::f64);
    if (!is_allowed) continue;
    const bool is_free = (options().candidates & GRADSTEP_CANDIDATE_HOSTS) != 0;
    const bool has_hosts = comm().host_sums() != nullptr;
    if (!is_free || !has_hosts) choice.by_hosts = has_hosts ? 1 : 0;
    if (choice == present.choice()) continue;
    fresh[b] = make_bucket(b, present.plan(), choice, present.stats());
    if (const auto& slices = present.slices()) fresh[b]->deal(*slices);
  }
  return fresh;
}

void BucketLayout::replace(Buckets fresh, bool has_chosen) {
  for (std::size_t b = 0; b < fresh.size(); ++b) {
    if (fresh[b] != nullptr) buckets_[b] = std::move(fresh[b]);
  }
  has_memory_ = std::ranges::any_of(buckets_, [](const auto& bucket) { return !bucket->exchange().kept().empty(); });
  has_chosen_ = has_chosen_ || has_chosen;
}

}  // namespace gradstep
