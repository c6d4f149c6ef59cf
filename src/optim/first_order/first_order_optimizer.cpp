// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "optim/first_order/first_order_optimizer.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "backend/host_copies.h"
#include "comm/all_or_none.h"
#include "core/error.h"
#include "core/hash.h"
#include "kernels/random.h"
#include "kernels/stored.h"

namespace gradstep {

namespace {

std::span<const Schedule> schedules_of(const HyperParameters& hyper_parameters, std::int32_t group) {
  return {&hyper_parameters.schedule(group, 0), hyper_parameters.field_count()};
}

/// A stream of random bits of its own for each parameter.
std::uint64_t random_key(const std::string& name, std::uint64_t seed) {
  return kernels::mix64(hash_bytes(name.data(), name.size()) ^ kernels::mix64(seed));
}

void check_storage(const StateStorage& storage, const Schema& schema) {
  if (storage.format == StateFormat::native) return;
  for (const Parameter& parameter : schema) {
    if (parameter.dtype == DType::f64) {
      fail(GRADSTEP_ERR_UNSUPPORTED, "options.state_dtype: parameter '{}' is f64, whose state is f64 (native)",
           parameter.name);
    }
  }
}

/// Over all parameters, so those of the smallest type.
kernels::StepLimits limits_of(const Rule& rule, const Schema& schema, const HyperParameters& hyper_parameters) {
  kernels::StepLimits limits;
  for (const Parameter& parameter : schema) {
    const bool wide = parameter.dtype == DType::f64;
    const double largest = wide ? kernels::kLargestStored<double> : double{kernels::kLargestStored<float>};
    limits.gradient =
        std::min(limits.gradient, rule.largest_gradient(schedules_of(hyper_parameters, parameter.group), largest));
    limits.multiplier = std::min(limits.multiplier,
                                 wide ? std::numeric_limits<double>::max() : double{std::numeric_limits<float>::max()});
  }
  return limits;
}

}  // namespace

FirstOrderOptimizer::FirstOrderOptimizer(std::shared_ptr<Context> context, Rule rule, Schema parameters)
    : Optimizer(std::move(context), std::move(parameters), rule.fields(), rule.values()),
      rule_(std::move(rule)),
      state_(*this->context(), site(), rule_) {
  for (std::int32_t g = 0; g < group_count(); ++g) rule_.check(schedules_of(hyper_parameters(), g));
  prepare(schema(), hyper_parameters());
  list_work();
}

std::int64_t FirstOrderOptimizer::state_bytes(const Rule& rule, const Schema& schema) {
  check_storage(rule.storage(), schema);
  const HyperParameters hyper_parameters(rule.fields(), rule.values(), schema.group_count());
  std::int64_t bytes = 0;
  for (const Parameter& parameter : schema) {
    const std::uint32_t states = rule.states(schedules_of(hyper_parameters, parameter.group));
    bytes += __builtin_popcount(states) * stored_bytes(rule.storage().format, parameter.dtype, parameter.size);
    if (wants_master(rule.storage(), parameter)) bytes += parameter.size * size_of(DType::f32);
  }
  return bytes;
}

std::vector<FirstOrderState::Want> FirstOrderOptimizer::wants(const Schema& schema,
                                                              const HyperParameters& hyper_parameters) const {
  std::vector<FirstOrderState::Want> wants;
  for (std::size_t i = 0; i < schema.size(); ++i) {
    const std::uint32_t states = rule_.states(schedules_of(hyper_parameters, schema[i].group));
    const std::uint32_t master = wants_master(rule_.storage(), schema[i]) ? 1U << FirstOrderState::kMaster : 0U;
    wants.push_back({&schema[i], states | master, slice_of(schema, i)});
  }
  return wants;
}

void FirstOrderOptimizer::prepare(const Schema& schema, const HyperParameters& hyper_parameters) {
  // Everything that can throw happens on the side; the swaps below cannot.
  check_storage(rule_.storage(), schema);
  const std::vector<FirstOrderState::Want> wanted = wants(schema, hyper_parameters);
  std::vector<std::uint64_t> keys;
  std::vector<std::uint8_t> flags = state_flags();
  flags.resize(schema.size(), 0);
  for (std::size_t i = 0; i < schema.size(); ++i) {
    keys.push_back(random_key(schema[i].name, rule_.storage().seed));
    if (state_.begins_anew(i, wanted[i].slots)) flags[i] = 0;
  }
  std::vector<rules::KernelId> kernels;
  for (std::int32_t g = 0; g < hyper_parameters.group_count(); ++g) {
    kernels.push_back(rule_.kernel(schedules_of(hyper_parameters, g)));
  }
  const kernels::StepLimits limits = limits_of(rule_, schema, hyper_parameters);
  std::vector<UpdateItem> items(schema.size());
  Buffer constants = site().allocate(kernels.size() * sizeof(rules::GroupConstants), /*zeroed=*/true);
  Buffer used = site().allocate(schema.size(), /*zeroed=*/true);
  FirstOrderState::Growth growth = state_.grow(wanted);

  state_.commit(std::move(growth), wanted);
  random_keys_.swap(keys);
  kernels_.swap(kernels);
  items_.swap(items);
  used_ = std::move(used);
  constants_ = std::move(constants);
  step_plan().rule = rule_.form();
  step_plan().constants = {constants_.as<rules::GroupConstants>(), kernels_.size()};
  step_plan().limits = limits;
  step_plan().prepared.forget();
  write_flags(flags);
}

void FirstOrderOptimizer::write_flags(std::span<const std::uint8_t> flags) {
  site().queue().upload(used_.data(), flags.data(), flags.size());
  plan_.all_used = std::ranges::all_of(flags, [](std::uint8_t flag) { return flag != 0; });
  step_plan().all_used = plan_.all_used;
  filled_ = false;
}

void FirstOrderOptimizer::fill_items() {
  for (std::size_t i = 0; i < items_.size(); ++i) {
    const auto group = static_cast<std::size_t>(schema()[i].group);
    UpdateItem& item = items_[i];
    item = {};
    item.param = params()[i];
    item.gradient = grads()[i];
    if (!updates().empty()) item.update = updates()[i];
    item.kernel = kernels_[group];
    item.constants = constants_.as<rules::GroupConstants>() + group;
    item.used = used_.as<std::uint8_t>() + i;
    item.stochastic = rule_.storage().stochastic_rounding;
    item.random_key = random_keys_[i];
    state_.show(i, item);
  }
  plan_.work = &work();
  plan_.items = items_;
  plan_.maximize = rule_.maximize();
  plan_.prepared.forget();
  filled_ = true;
}

void FirstOrderOptimizer::apply(double clip_value) {
  if (buffers_changed() || !filled_) fill_items();
  plan_.clip_value = clip_value;
  site().backend().update(plan_, scalars(), site().queue());
  if (plan_.all_used || !site().is_host()) return;
  const std::span used(used_.as<std::uint8_t>(), used_.bytes());
  plan_.all_used = std::ranges::all_of(used, [](std::uint8_t flag) { return flag != 0; });
  step_plan().all_used = plan_.all_used;
}

void FirstOrderOptimizer::check_gives_updates() const {
  if (!rule_.storage().master_weights) return;
  for (const Parameter& parameter : schema()) {
    if (wants_master(rule_.storage(), parameter)) {
      fail(GRADSTEP_ERR_UNSUPPORTED,
           "updates: parameter '{}' has master weights, which only a step in place can follow", parameter.name);
    }
  }
}

Array FirstOrderOptimizer::state(std::size_t index, const char* name) {
  const std::size_t slot = state_.find(schema(), index, name);
  if (state_.is_coded(slot)) {
    fail(GRADSTEP_ERR_UNSUPPORTED, "state '{}' is stored in 8-bit codes: get_state copies it", name);
  }
  if (is_sharded()) {
    fail(GRADSTEP_ERR_UNSUPPORTED, "state '{}' is spread over the ranks: get_state gathers it", name);
  }
  return state_.numbers(index, slot);
}

void FirstOrderOptimizer::get_state(std::size_t index, const char* name, const Array& host) {
  const std::size_t slot = state_.find(schema(), index, name);
  const std::int64_t total = schema()[index].size;
  Array own = state_.numbers(index, slot);
  Buffer decoded;
  Buffer whole;
  all_or_none(is_sharded() ? &sharding()->comm() : nullptr, "read its state", [&] {
    if (state_.is_coded(slot)) {
      decoded = site().allocate(static_cast<std::size_t>(own.size * size_of(DType::f32)), /*zeroed=*/false);
      site().backend().decode(state_.codes(index, slot), decoded.as<float>(), site().queue());
      own.data = decoded.data();
      own.dtype = DType::f32;
    }
    if (is_sharded()) whole = context()->allocate(static_cast<std::size_t>(total * size_of(own.dtype)), false);
  });
  if (is_sharded()) {
    gather({index, name, own, state_.slice(index).begin, total, false}, whole.data());
    Site(context()->cpu()).copy(host, compact_array(whole.data(), total, own.dtype));
  } else {
    copy_to_host(*context(), site(), own, host);
  }
}

void FirstOrderOptimizer::set_state(std::size_t index, const char* name, const Array& host) {
  const std::size_t slot = state_.find(schema(), index, name);
  const Slice slice = state_.slice(index);
  const Array own = state_.numbers(index, slot);
  if (state_.is_coded(slot) || slice.size != host.size) {
    // Whole and in the arithmetic type, of which this rank's part is taken.
    const DType dtype = arithmetic_dtype(schema()[index].dtype);
    const Buffer staged = site().allocate(static_cast<std::size_t>(host.size * size_of(dtype)), /*zeroed=*/false);
    copy_from_host(*context(), site(), host, compact_array(staged.data(), host.size, dtype));
    const Array part = compact_array(staged.as<std::byte>() + slice.begin * size_of(dtype), slice.size, dtype);
    if (state_.is_coded(slot)) {
      site().backend().encode(static_cast<const float*>(part.data), state_.codes(index, slot), site().queue());
    } else {
      site().copy(own, part);
    }
  } else {
    copy_from_host(*context(), site(), host, own);
  }
  write(site().queue(), used_.as<std::uint8_t>() + index, std::uint8_t{1});
}

void FirstOrderOptimizer::prepare_slices(const Sharding* next, bool keep, const Deadline& deadline) {
  const bool gathers = keep && is_sharded();
  Buffer whole;
  all_or_none(gathers ? &sharding()->comm() : nullptr, "allocate its part of the state", deadline, [&] {
    std::vector<Slice> slices;
    for (std::size_t i = 0; i < schema().size(); ++i) {
      slices.push_back(next != nullptr ? next->slice(i) : Slice{0, schema()[i].size});
    }
    state_.prepare_slices(slices);
    unused_ = keep ? Buffer{} : site().allocate(used_.bytes(), /*zeroed=*/true);
    if (gathers) whole = context()->allocate(static_cast<std::size_t>(state_.largest()), /*zeroed=*/false);
  });
  if (!keep) return;
  state_.fill_slices([&](const StoredState& stored, const Buffer& part, std::int64_t begin) {
    const std::int64_t first = begin * size_of(stored.array.dtype);
    if (gathers) {
      gather(stored, whole.data(), deadline);
      site().queue().upload(part.data(), whole.as<std::byte>() + first, part.bytes());
    } else {
      site().queue().copy(part.data(), static_cast<const std::byte*>(stored.array.data) + first, part.bytes());
    }
  });
}

void FirstOrderOptimizer::commit_slices() noexcept {
  state_.commit_slices();
  filled_ = false;
  if (unused_.bytes() == 0) return;
  used_ = std::move(unused_);
  plan_.all_used = step_plan().all_used = false;
}

void FirstOrderOptimizer::discard_slices() noexcept {
  state_.discard_slices();
  unused_ = {};
}

/// Ranks step as one only by the same formulas, on state of the same form.
std::string FirstOrderOptimizer::sharding_key() const {
  std::string key = rule_.key();
  for (const rules::KernelId kernel : kernels_) key += fmt::format(" {}", static_cast<int>(kernel));
  return key;
}

std::vector<std::uint8_t> FirstOrderOptimizer::state_flags() const {
  std::vector<std::uint8_t> flags(used_.bytes());
  site().queue().download(flags.data(), used_.data(), flags.size());
  return flags;
}

void FirstOrderOptimizer::set_state_flags(std::span<const std::uint8_t> flags) { write_flags(flags); }

std::int64_t FirstOrderOptimizer::other_bytes() const {
  return Optimizer::other_bytes() +
         static_cast<std::int64_t>(items_.capacity() * sizeof(UpdateItem) + used_.bytes() + constants_.bytes() +
                                   random_keys_.capacity() * sizeof(std::uint64_t) + state_.bytes());
}

}  // namespace gradstep
