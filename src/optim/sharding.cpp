// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "optim/sharding.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "core/absence.h"
#include "core/error.h"
#include "core/held_bytes.h"
#include "kernels/norm_scale.h"

namespace gradstep {

namespace {

/// What ranks tell each other, and sum.
enum Control : std::size_t {
  kFoundInf,
  kWantsNorm,
  kWeight,
  kAnyGradient,
  kFailed,
  kFailedRank,
  kFacts,                        // two numbers and their squares
  kFirstParameter = kFacts + 4,  // 1 for each that has a gradient
};

/// Each half of a fact has so many bits: sums of squares are exact for up to 4096 ranks.
constexpr int kFactBits = 20;
constexpr std::uint64_t kFactMask = (std::uint64_t{1} << kFactBits) - 1;

void put_fact(std::uint64_t fact, double* control) {
  control[0] = static_cast<double>(fact & kFactMask);
  control[1] = control[0] * control[0];
}

/// After the sum: numbers are equal where the mean of their squares is the square of their mean.
bool is_fact_equal(const double* control, double ranks) {
  const auto sum = static_cast<std::uint64_t>(control[0]);
  return static_cast<std::uint64_t>(control[1]) * static_cast<std::uint64_t>(ranks) == sum * sum;
}

GradientExchange exchange_of(const gradstep_sharding_options& options) {
  GradientExchange exchange;
  exchange.gradients = options.gradients;
  exchange.average = options.average == GRADSTEP_AVERAGE_UNSET ? GRADSTEP_AVERAGE_MEAN : options.average;
  return exchange;
}

}  // namespace

Sharding::Sharding(const Context& context, const Site& site, std::shared_ptr<Communicator> channel,
                   const Schema& schema, const gradstep_sharding_options& options, const Dealing& dealing,
                   std::unique_ptr<const Parts> parts)
    : site_(site),
      comm_(std::move(channel)),
      data_(*comm_, context, site),
      options_(options),
      exchange_(exchange_of(options)),
      is_whole_(dealing.is_whole),
      takes_slices_(!dealing.groups.empty()),
      owners_(parts ? std::make_unique<PartOwners>(site, data_, schema, std::move(parts), comm_->rank()) : nullptr),
      slices_(owners_ ? owners_->parts().slices() : deal_out(schema, dealing, comm_->world_size())),
      parameters_(site, data_, arena_),
      partials_(site, data_) {
  own_norm_.work = &own_work_;
  if (owners_) {
    options_.gradients = exchange_.gradients = GRADSTEP_SHARDED_GRADIENTS_REDUCED;
    partials_.deal(schema, owners_->parts(), slices_, comm_->rank(), is_whole());
  } else {
    partials_.deal(schema, slices_, comm_->rank(), is_whole());
  }
  if (!takes_slices() && !owners_) gradient_regions_ = arena_regions(schema, dealing, slices_, comm_->rank());
  std::optional<RankBlocks> params;
  if (has_slices()) params.emplace(schema, slices_);
  const std::int64_t params_bytes = params ? params->total_bytes() : 0;
  arena_ = site_.allocate(static_cast<std::size_t>(std::max(arena_bytes(gradient_regions_), params_bytes)),
                          /*zeroed=*/true);  // what lies between blocks travels, too
  place_gradients(schema);
  if (params) parameters_.place(schema, slices_, comm_->rank(), std::move(*params));
  for (std::size_t i = 0; i < schema.size(); ++i) {
    work_.append(schema[i].size);
    own_work_.append(slice(i).size);
    part_.append_part(slice(i).begin, slice(i).size);
    may_be_unused_.push_back(schema[i].may_be_unused);
    has_wide_ = has_wide_ || schema[i].dtype == DType::f64;
  }
}

void Sharding::place_gradients(const Schema& schema) {
  gradient_slices_.resize(schema.size());
  gradients_in_.resize(schema.size());
  for (ArenaRegion& region : gradient_regions_) {
    const std::int64_t own = is_whole() ? 0 : region.counts[static_cast<std::size_t>(comm_->rank())];
    region.own = site_.allocate(static_cast<std::size_t>(own * size_of(region.dtype)), /*zeroed=*/false);
    std::int64_t at = 0;
    for (std::size_t k = 0; k < region.parameters.size(); ++k) {
      const std::size_t i = region.parameters[k];
      Array& mine = gradient_slices_[i];
      mine = region.array(arena_, region.first[k], schema[i].size);
      gradients_in_.set(i, mine);
      if (!is_whole()) {
        mine.data = region.own.as<std::byte>() + at * size_of(region.dtype);
        mine.size = slice(i).size;
        at += mine.size;
      }
      place_if_empty(mine);
    }
  }
  whole_slices_ = gradient_slices_;
}

Sharding::Agreement Sharding::agree(const BufferList& grads, const GradientExchange& exchange, Agreement own,
                                    const Deadline& deadline) {
  const double ranks = comm_->world_size();
  control_.assign(kFirstParameter + grads.size(), 0);
  control_[kFoundInf] = own.found_inf ? 1 : 0;
  control_[kWantsNorm] = own.wants_norm ? 1 : 0;
  control_[kWeight] = exchange.weight;
  control_[kFailed] = own.has_failed ? 1 : 0;
  control_[kFailedRank] = own.has_failed ? comm_->rank() : 0;
  put_fact(own.facts, &control_[kFacts]);
  put_fact(own.facts >> kFactBits, &control_[kFacts + 2]);
  for (std::size_t i = 0; i < grads.size(); ++i) {
    if (is_absent(grads[i])) continue;
    control_[kAnyGradient] = 1;
    control_[kFirstParameter + i] = 1;
  }
  Array control;
  control.data = control_.data();
  control.size = static_cast<std::int64_t>(control_.size());
  control.dtype = DType::f64;
  comm_->all_reduce(control, GRADSTEP_REDUCE_SUM, 1, deadline);
  if (control_[kFailed] != 0) {
    fail(GRADSTEP_ERR_ABORTED, "{} could not begin the step",
         control_[kFailed] == 1 ? fmt::format("rank {}", control_[kFailedRank])
                                : fmt::format("{} of {} ranks", control_[kFailed], ranks));
  }
  Agreement agreed = own;
  agreed.is_equal = is_fact_equal(&control_[kFacts], ranks) && is_fact_equal(&control_[kFacts + 2], ranks);
  if (!agreed.is_equal) return agreed;
  if (control_[kWantsNorm] != 0 && control_[kWantsNorm] != ranks) {
    fail(GRADSTEP_ERR_MISMATCH, "{} of {} ranks ask for clipping by norm or for a check of finiteness, the others not",
         control_[kWantsNorm], ranks);
  }
  agreed.found_inf = control_[kFoundInf] != 0;
  agreed.any_gradient = control_[kAnyGradient] != 0;
  if (owners_) check_presence();
  return agreed;
}

void Sharding::check_presence() const {
  const std::int32_t ranks = comm_->world_size();
  for (std::size_t i = 0; kFirstParameter + i < control_.size(); ++i) {
    const auto present = static_cast<std::int32_t>(control_[kFirstParameter + i]);
    if (present == 0 || present == ranks) continue;
    fail(GRADSTEP_ERR_MISMATCH, "grads[{}]: {} of {} ranks have a gradient of their part, expected all or none", i,
         present, ranks);
  }
}

void Sharding::bring_gradients(const StepBuffers& buffers, const GradientExchange& exchange, const Deadline& deadline) {
  const BufferList& grads = buffers.grads;
  const double ranks = comm_->world_size();
  const bool local = exchange.gradients == GRADSTEP_SHARDED_GRADIENTS_LOCAL;
  const bool weighted = local && exchange.average == GRADSTEP_AVERAGE_WEIGHTED;
  for (std::size_t i = 0; exchange.in_slices && i < grads.size(); ++i) {
    if (is_absent(grads[i]) || grads[i].size == slice(i).size) continue;
    fail(GRADSTEP_ERR_INVALID_STATE, "the reducer's slice of parameter {} has {} elements, the optimizer's {}", i,
         grads[i].size, slice(i).size);
  }
  if (exchange.in_slices || (!has_slices() && !local)) {
    gradients_version_ = grads.version;
    if (owners_ && owners_->have_work()) return owners_->bring(buffers, gradient_slices_, deadline);
    gradient_slices_.assign(grads.begin(), grads.end());
    return;
  }
  const double weight_sum = weighted ? control_[kWeight] : 0;
  show_gradients(grads.arrays, local);
  if (weighted && exchange.weight == 0) {
    // Gradients of weight 0 are not read.
    for (const ArenaRegion& region : gradient_regions_) {
      const Array all = region.all(arena_);
      site_.queue().zero(all.data, static_cast<std::size_t>(all.bytes()));
    }
  } else {
    site_.backend().copy(gradients_in_.plan(local ? work_ : part_, grads), weighted ? exchange.weight : 1, 1,
                         site_.queue());
  }
  const auto keep_own = [&](const ArenaRegion& region) {
    const Array own = region.array(arena_, region.own_first, region.counts[static_cast<std::size_t>(comm_->rank())]);
    site_.queue().copy(region.own.data(), own.data, static_cast<std::size_t>(own.bytes()));
  };
  double divisor = 1;
  if (weighted) divisor = weight_sum > 0 ? weight_sum : 1;
  if (local && exchange.average == GRADSTEP_AVERAGE_MEAN) divisor = ranks;
  for (ArenaRegion& region : gradient_regions_) {
    if (is_whole()) {
      const Array all = region.all(arena_);
      data_.all_reduce(all, GRADSTEP_REDUCE_SUM, divisor, deadline);
      if (weighted && !(weight_sum > 0)) site_.queue().zero(all.data, static_cast<std::size_t>(all.bytes()));
      continue;
    }
    if (local) {
      data_.reduce_scatter_v(region.all(arena_), region.counts, GRADSTEP_REDUCE_SUM, divisor, deadline);
    }
    keep_own(region);
    if (weighted && !(weight_sum > 0)) site_.queue().zero(region.own.data(), region.own.bytes());
  }
}

/// As after a dense reducer: a parameter that may not stay unused has a gradient, of zeros if need be.
void Sharding::show_gradients(std::span<const Array> grads, bool local) {
  for (std::size_t i = 0; i < grads.size(); ++i) {
    const bool present = local ? !may_be_unused_[i] || control_[kFirstParameter + i] > 0 : !is_absent(grads[i]);
    const void* shown = gradient_slices_[i].data;
    gradient_slices_[i] = whole_slices_[i];
    if (!present) gradient_slices_[i].data = nullptr;
    if (gradient_slices_[i].data != shown) gradients_version_ = new_version();
  }
}

std::int32_t Sharding::owner(std::size_t parameter) const {
  const auto has_first = [&](const std::vector<Slice>& slices) {
    return slices[parameter].begin == 0 && slices[parameter].size > 0;
  };
  return static_cast<std::int32_t>(std::ranges::find_if(slices_, has_first) - slices_.begin());
}

/// All ranks fold the same partials, and so agree on whether squares have left f64's range.
const double* Sharding::norm(const Deadline& deadline) {
  const std::int64_t count = partials_.count();
  const std::size_t needed = static_cast<std::size_t>(is_whole() ? 1 : count + 1) * sizeof(double);
  if (squares_.bytes() < needed) squares_ = site_.allocate(needed, /*zeroed=*/false);
  double* norm = squares_.as<double>();
  own_norm_.arrays = gradients();
  if (is_whole()) {
    site_.backend().measure(own_norm_, norm, site_.queue());
    return norm;
  }
  double* partials = norm + 1;
  const auto fold_squares = [&](double scale) {
    const auto measure = [&](double* to) { site_.backend().square_chunks(own_norm_, scale, to, site_.queue()); };
    partials_.gather<double>(measure, partials, deadline);
    site_.backend().fold(partials, count, norm, site_.queue());
  };
  fold_squares(1);
  if (!has_wide_) return norm;
  data_.settle(deadline);
  const double scale = kernels::norm_scale(read(site_.queue(), norm));
  if (scale == 1) return norm;
  fold_squares(scale);
  data_.settle(deadline);
  write(site_.queue(), norm, read(site_.queue(), norm) / scale);
  return norm;
}

const double* Sharding::largest(const Deadline& deadline) {
  own_norm_.arrays = gradients();
  site_.backend().find_largest(own_norm_, &largest_, site_.queue());
  if (!is_whole()) comm_->all_reduce(compact_array(&largest_, 1, DType::f64), GRADSTEP_REDUCE_MAX, 1, deadline);
  return &largest_;
}

std::int64_t Sharding::bytes() const {
  std::size_t bytes = arena_.bytes() + (owners_ ? owners_->bytes() : 0);
  for (const ArenaRegion& region : gradient_regions_) bytes += region.own.bytes();
  bytes += held_bytes(squares_, partials_, work_, own_work_, part_, gradient_slices_, whole_slices_, control_,
                      own_norm_.prepared);
  return static_cast<std::int64_t>(bytes);
}

}  // namespace gradstep
