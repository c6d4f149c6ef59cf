// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "optim/sharding.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <numeric>

#include "comm/compare_ranks.h"
#include "core/error.h"
#include "core/hash.h"

namespace gradstep {

namespace {

constexpr std::int64_t kRegionAlignment = 64;

/// What ranks tell each other, and sum.
enum Control : std::size_t {
  kFoundInf,
  kWantsNorm,
  kWeight,
  kAnyGradient,
  kFirstParameter  // 1 for each that has a gradient
};

GradientExchange exchange_of(const gradstep_sharding_options& options) {
  GradientExchange exchange;
  exchange.gradients = options.gradients;
  exchange.average = options.average == GRADSTEP_AVERAGE_UNSET ? GRADSTEP_AVERAGE_MEAN : options.average;
  return exchange;
}

std::int64_t aligned(std::int64_t bytes) {
  return (bytes + kRegionAlignment - 1) / kRegionAlignment * kRegionAlignment;
}

/// What must be equal on all ranks before state is dealt out: the schema, then these.
constexpr std::size_t kRuleFact = Schema::kDigestSize;
constexpr std::size_t kStepFact = kRuleFact + 1;

std::array<std::uint64_t, kStepFact + 1> facts_of(const Schema& schema, const std::string& rule,
                                                  std::int64_t step_count, const gradstep_sharding_options& options) {
  std::array<std::uint64_t, kStepFact + 1> facts{};
  const auto digest = schema.digest(/*arithmetic=*/false);
  std::copy(digest.begin(), digest.end(), facts.begin());
  const std::int32_t words[] = {options.gradients, options.average, options.preconditioners};
  facts[kRuleFact] = hash_bytes(words, sizeof words, hash_bytes(rule.data(), rule.size()));
  facts[kStepFact] = static_cast<std::uint64_t>(step_count);
  return facts;
}

const char* fact(std::size_t i) {
  if (i < kRuleFact) return Schema::kDigestWords[i];
  return i == kRuleFact ? "the rule or its options" : "the step count";
}

}  // namespace

Sharding::Sharding(const Context& context, const Site& site, std::shared_ptr<Communicator> channel,
                   const Schema& schema, const std::string& rule, std::int64_t step_count,
                   const gradstep_sharding_options& options, Dealing dealing, const Deadline& deadline)
    : site_(site),
      comm_(std::move(channel)),
      data_(*comm_, context, site),
      options_(options),
      exchange_(exchange_of(options)),
      dealing_(dealing) {
  own_norm_.work = &own_work_;
  compare_ranks(*comm_, facts_of(schema, rule, step_count, options), fact, deadline);
  deal_out(schema);
  gradient_regions_ = regions(schema, /*arithmetic=*/true);
  if (!is_whole()) param_regions_ = regions(schema, /*arithmetic=*/false);
  const auto end_of = [](const std::vector<Region>& all) {
    return all.empty() ? 0 : all.back().offset + all.back().elements * size_of(all.back().dtype);
  };
  arena_ = site_.allocate(static_cast<std::size_t>(std::max(end_of(gradient_regions_), end_of(param_regions_))),
                          /*zeroed=*/false);

  gradient_slices_.resize(schema.size());
  gradients_in_.resize(schema.size());
  for (Region& region : gradient_regions_) {
    const std::int64_t own = is_whole() ? 0 : region.counts[static_cast<std::size_t>(comm_->rank())];
    region.own = site_.allocate(static_cast<std::size_t>(own * size_of(region.dtype)), /*zeroed=*/false);
    std::int64_t at = 0;
    for (std::size_t k = 0; k < region.parameters.size(); ++k) {
      const std::size_t i = region.parameters[k];
      Array& mine = gradient_slices_[i];
      mine = arena_array(region, region.first[k], schema[i].size);
      gradients_in_.set(i, mine);
      if (is_whole()) continue;
      mine.data = region.own.as<std::byte>() + at * size_of(region.dtype);
      mine.size = slice(i).size;
      at += mine.size;
    }
  }
  whole_slices_ = gradient_slices_;
  if (!is_whole()) stage_slices(schema);
  for (std::size_t i = 0; i < schema.size(); ++i) {
    work_.append(schema[i].size);
    own_work_.append(slice(i).size);
    part_.append_part(slice(i).begin, slice(i).size);
    may_be_unused_.push_back(schema[i].may_be_unused);
  }
}

/// Where this rank's slices of the parameters lie in the arena.
void Sharding::stage_slices(const Schema& schema) {
  staged_slices_.resize(schema.size());
  params_in_.resize(schema.size());
  params_out_.resize(schema.size());
  for (const Region& region : param_regions_) {
    for (std::size_t k = 0; k < region.parameters.size(); ++k) {
      const std::size_t i = region.parameters[k];
      const Array whole = arena_array(region, region.first[k], schema[i].size);
      params_in_.set(i, whole);
      params_out_.set(i, whole);
      staged_slices_[i] = arena_array(region, region.first[k] + slice(i).begin, slice(i).size);
    }
  }
}

// A chunk goes to the rank in whose share of all elements its middle lies.
void Sharding::deal_out(const Schema& schema) {
  const auto ranks = static_cast<std::size_t>(comm_->world_size());
  slices_.assign(ranks, std::vector<Slice>(schema.size()));
  chunk_counts_.assign(ranks, 0);
  std::int64_t total = 0;
  for (const Parameter& parameter : schema) total += parameter.size;
  std::int64_t before = 0;
  for (std::size_t i = 0; i < schema.size(); ++i) {
    for (std::int64_t offset = 0; offset < schema[i].size; offset += kChunk) {
      const std::int64_t length = std::min(kChunk, schema[i].size - offset);
      const double middle = static_cast<double>(before) + static_cast<double>(length) / 2;
      const auto share = static_cast<std::size_t>(middle * static_cast<double>(ranks) / static_cast<double>(total));
      const std::size_t rank = std::min(share, ranks - 1);
      before += length;
      for (std::size_t r = is_whole() ? 0 : rank; r < (is_whole() ? ranks : rank + 1); ++r) {
        Slice& slice = slices_[r][i];
        if (slice.size == 0) slice.begin = offset;
        slice.size += length;
        ++chunk_counts_[r];
      }
    }
  }
  for (const std::int64_t chunks : chunk_counts_) {
    partial_bytes_.push_back(chunks * static_cast<std::int64_t>(sizeof(double)));
  }
}

std::vector<Sharding::Region> Sharding::regions(const Schema& schema, bool arithmetic) {
  std::vector<Region> all;
  for (std::size_t i = 0; i < schema.size(); ++i) {
    const DType dtype = arithmetic ? arithmetic_dtype(schema[i].dtype) : schema[i].dtype;
    auto region = std::find_if(all.begin(), all.end(), [&](const Region& r) { return r.dtype == dtype; });
    if (region == all.end()) {
      region = all.insert(all.end(), Region{});
      region->dtype = dtype;
      region->counts.resize(slices_.size());
    }
    region->parameters.push_back(i);
    region->first.push_back(region->elements);
    region->elements += schema[i].size;
    for (std::size_t r = 0; r < slices_.size(); ++r) region->counts[r] += slices_[r][i].size;
  }
  std::int64_t offset = 0;
  for (Region& region : all) {
    region.offset = offset;
    offset = aligned(offset + region.elements * size_of(region.dtype));
    for (const std::int64_t count : region.counts) region.bytes.push_back(count * size_of(region.dtype));
    region.own_first = std::accumulate(region.counts.begin(), region.counts.begin() + comm_->rank(), std::int64_t{0});
  }
  return all;
}

Array Sharding::arena_array(const Region& region, std::int64_t first, std::int64_t count) const {
  Array array;
  array.data = arena_.as<std::byte>() + region.offset + first * size_of(region.dtype);
  array.size = count;
  array.dtype = region.dtype;
  return array;
}

void Sharding::keep_own(Region& region) {
  if (is_whole()) return;
  const std::int64_t count = region.counts[static_cast<std::size_t>(comm_->rank())];
  const Array own = arena_array(region, region.own_first, count);
  site_.queue().copy(region.own.data(), own.data, static_cast<std::size_t>(own.bytes()));
}

Sharding::Agreement Sharding::bring_gradients(const BufferList& grads, const GradientExchange& exchange, Agreement own,
                                              const Deadline& deadline) {
  const double ranks = comm_->world_size();
  const bool local = exchange.gradients == GRADSTEP_SHARDED_GRADIENTS_LOCAL;
  const bool weighted = local && exchange.average == GRADSTEP_AVERAGE_WEIGHTED;
  control_.assign(kFirstParameter + grads.size(), 0);
  control_[kFoundInf] = own.found_inf ? 1 : 0;
  control_[kWantsNorm] = own.wants_norm ? 1 : 0;
  control_[kWeight] = exchange.weight;
  for (std::size_t i = 0; i < grads.size(); ++i) {
    if (grads[i].data == nullptr || grads[i].size == 0) continue;
    control_[kAnyGradient] = 1;
    control_[kFirstParameter + i] = 1;
  }
  Array control;
  control.data = control_.data();
  control.size = static_cast<std::int64_t>(control_.size());
  control.dtype = DType::f64;
  comm_->all_reduce(control, GRADSTEP_REDUCE_SUM, 1, deadline);
  if (control_[kWantsNorm] != 0 && control_[kWantsNorm] != ranks) {
    fail(GRADSTEP_ERR_MISMATCH, "{} of {} ranks ask for clipping by norm or for a check of finiteness, the others not",
         control_[kWantsNorm], ranks);
  }
  Agreement agreed = own;
  agreed.found_inf = control_[kFoundInf] != 0;
  agreed.any_gradient = control_[kAnyGradient] != 0;

  if (is_whole() && !local) {
    gradient_slices_.assign(grads.begin(), grads.end());
    gradients_version_ = grads.version;
    return agreed;
  }
  const double weight_sum = control_[kWeight];
  show_gradients(grads.arrays, local);
  site_.backend().copy(gradients_in_.plan(local ? work_ : part_, grads), weighted ? exchange.weight : 1, 1,
                       site_.queue());
  double divisor = 1;
  if (weighted) divisor = weight_sum > 0 ? weight_sum : 1;
  if (local && exchange.average == GRADSTEP_AVERAGE_MEAN) divisor = ranks;
  for (Region& region : gradient_regions_) {
    if (is_whole()) {
      const Array all = arena_array(region, 0, region.elements);
      data_.all_reduce(all, GRADSTEP_REDUCE_SUM, divisor, deadline);
      if (weighted && !(weight_sum > 0)) site_.queue().zero(all.data, static_cast<std::size_t>(all.bytes()));
      continue;
    }
    if (local) {
      data_.reduce_scatter_v(arena_array(region, 0, region.elements), region.counts, GRADSTEP_REDUCE_SUM, divisor,
                             deadline);
    }
    keep_own(region);
    if (weighted && !(weight_sum > 0)) site_.queue().zero(region.own.data(), region.own.bytes());
  }
  return agreed;
}

/// As after a dense reducer: a parameter that may not stay unused has a gradient, of zeros if need be.
void Sharding::show_gradients(std::span<const Array> grads, bool local) {
  for (std::size_t i = 0; i < grads.size(); ++i) {
    const bool present = local ? !may_be_unused_[i] || control_[kFirstParameter + i] > 0 : grads[i].data != nullptr;
    const void* shown = gradient_slices_[i].data;
    gradient_slices_[i] = whole_slices_[i];
    if (!present) gradient_slices_[i].data = nullptr;
    if (gradient_slices_[i].data != shown) gradients_version_ = new_version();
  }
}

const double* Sharding::norm(const Deadline& deadline) {
  const std::int64_t all = std::accumulate(chunk_counts_.begin(), chunk_counts_.end(), std::int64_t{0});
  const auto rank = static_cast<std::size_t>(comm_->rank());
  const std::int64_t first =
      is_whole() ? 0 : std::accumulate(chunk_counts_.begin(), chunk_counts_.begin() + comm_->rank(), std::int64_t{0});
  const std::int64_t count = is_whole() ? chunk_counts_[rank] : all;
  const std::size_t needed = static_cast<std::size_t>(count + 1) * sizeof(double);
  if (squares_.bytes() < needed) squares_ = site_.allocate(needed, /*zeroed=*/false);
  double* norm = squares_.as<double>();
  double* partials = norm + 1;
  own_norm_.arrays = gradients();
  site_.backend().square_chunks(own_norm_, partials + first, site_.queue());
  if (!is_whole()) data_.all_gather_v(partials + first, partials, partial_bytes_, deadline);
  site_.backend().fold(partials, count, norm, site_.queue());
  return norm;
}

void Sharding::stage(const BufferList& params) {
  site_.backend().copy(params_in_.plan(part_, params), 1, 1, site_.queue());
}

void Sharding::publish(const BufferList& targets, const Deadline& deadline) {
  for (const Region& region : param_regions_) {
    const Array own = arena_array(region, region.own_first, 0);
    data_.all_gather_v(own.data, arena_array(region, 0, 0).data, region.bytes, deadline);
  }
  data_.settle(deadline);
  site_.backend().copy(params_out_.plan(work_, targets), 1, 1, site_.queue());
}

void Sharding::gather(std::size_t parameter, const Array& own, std::int64_t per_block, void* whole,
                      const Deadline& deadline) const {
  std::vector<std::int64_t> bytes;
  for (const std::vector<Slice>& rank : slices_) {
    bytes.push_back((rank[parameter].size + per_block - 1) / per_block * size_of(own.dtype));
  }
  if (site_.is_host()) return comm_->all_gather_v(own.data, whole, bytes, deadline);
  std::vector<std::byte> staged(static_cast<std::size_t>(own.bytes()));
  site_.queue().download(staged.data(), own.data, staged.size());
  comm_->all_gather_v(staged.data(), whole, bytes, deadline);
}

std::int64_t Sharding::bytes() const {
  std::size_t bytes = arena_.bytes();
  for (const Region& region : gradient_regions_) bytes += region.own.bytes();
  return static_cast<std::int64_t>(bytes + squares_.bytes());
}

}  // namespace gradstep
