// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Shampoo's state as hosts and files see it.
#include <algorithm>
#include <array>
#include <cstring>

#include "backend/host_copies.h"
#include "core/error.h"
#include "core/text.h"
#include "optim/shampoo/shampoo.h"

namespace gradstep {

namespace {

constexpr std::array<const char*, 7> kStateNames = {
    "momentum",       "diagonal_momentum",         "diagonal_statistics",           "diagonal_exp_avg",
    "master_weights", "statistics.{block}.{axis}", "preconditioners.{block}.{axis}"};

bool is_known(const std::string& name) {
  const auto starts_with = [&](const char* prefix) { return name.compare(0, std::strlen(prefix), prefix) == 0; };
  return std::find(kStateNames.begin(), kStateNames.end(), name) < kStateNames.begin() + 5 ||
         starts_with("statistics.") || starts_with("preconditioners.");
}

}  // namespace

std::span<const char* const> Shampoo::state_names() const { return kStateNames; }

ShampooState::Named Shampoo::find_state(std::size_t index, const char* name) const {
  if (index >= schema().size()) fail_argument("index: is {}, the schema has {} parameters", index, schema().size());
  if (name == nullptr) fail_argument("name: is NULL");
  const ShampooState::Named named = parameters_[index].find(name);
  if (named.matrix != nullptr) return named;
  if (is_known(name)) {
    fail(GRADSTEP_ERR_INVALID_STATE, "state '{}' of parameter '{}' does not exist", name, schema()[index].name);
  }
  fail_argument("name: '{}' is not a state of shampoo, expected one of {}", name, join(kStateNames, ", "));
}

std::span<const std::int64_t> Shampoo::state_shape(std::size_t index, const char* name) const {
  if (index < schema().size() && name != nullptr) {
    const ShampooState::Named named = parameters_[index].find(name);
    if (named.matrix != nullptr && !named.shape.empty()) return named.shape;
  }
  return Optimizer::state_shape(index, name);
}

Array Shampoo::state(std::size_t index, const char* name) {
  if (is_sharded()) fail(GRADSTEP_ERR_UNSUPPORTED, "state '{}' is shared by ranks: get_state copies it", name);
  roots_.settle(step_count());
  const StateMatrix& matrix = *find_state(index, name).matrix;
  if (matrix.is_coded()) fail(GRADSTEP_ERR_UNSUPPORTED, "state '{}' is stored in codes: get_state copies it", name);
  return compact_array(matrix.view().numbers, matrix.size(), DType::f32);
}

void Shampoo::get_state(std::size_t index, const char* name, const Array& host) {
  roots_.settle(step_count());
  const ShampooState::Named named = find_state(index, name);
  const StateMatrix& matrix = *named.matrix;
  const bool travels = is_sharded() && named.owner >= 0;
  Array own = compact_array(matrix.view().numbers, matrix.size(), DType::f32);
  Buffer scratch;
  if (matrix.is_coded() || travels) {
    scratch = site().allocate(static_cast<std::size_t>(own.bytes()), /*zeroed=*/false);
    own.data = scratch.data();
    if (matrix.is_here()) preconditioning_->decode(matrix.view(), scratch.as<float>(), site().queue());
  }
  if (travels) {
    const Deadline deadline = sharding()->comm().deadline();
    sharding()->data().broadcast(scratch.data(), own.bytes(), named.owner, deadline);
    sharding()->data().settle(deadline);
  }
  copy_to_host(*context(), site(), own, host);
}

void Shampoo::set_state(std::size_t index, const char* name, const Array& host) {
  roots_.settle(step_count());
  const StateMatrix& matrix = *find_state(index, name).matrix;
  const Buffer scratch =
      site().allocate(static_cast<std::size_t>(matrix.size() * size_of(DType::f32)), /*zeroed=*/false);
  copy_from_host(*context(), site(), host, compact_array(scratch.data(), matrix.size(), DType::f32));
  if (matrix.is_here()) preconditioning_->encode(scratch.as<float>(), matrix.view(), site().queue());
  parameters_[index].used = true;
}

std::vector<StoredState> Shampoo::stored_states() {
  plan();
  roots_.settle(step_count());
  roots_.complete_all();
  std::vector<StoredState> stored;
  for (std::size_t i = 0; i < parameters_.size(); ++i) parameters_[i].append_stored(i, schema()[i], stored);
  roots_.append_pending(stored);
  return stored;
}

std::vector<std::uint8_t> Shampoo::state_flags() const {
  std::vector<std::uint8_t> flags;
  flags.reserve(parameters_.size());
  for (const ShampooState& state : parameters_) flags.push_back(state.used ? 1 : 0);
  return flags;
}

void Shampoo::set_state_flags(std::span<const std::uint8_t> flags) {
  for (std::size_t i = 0; i < parameters_.size(); ++i) parameters_[i].used = flags[i] != 0;
}

std::int64_t Shampoo::other_bytes() const {
  return Optimizer::other_bytes() + preconditioning_->bytes() +
         static_cast<std::int64_t>(staging_.bytes() + blocks_.bytes() + roots_.bytes());
}

void Shampoo::append_metrics(std::vector<gradstep_metric>& metrics) {
  // Over several ranks that would be collective: there, metrics are as of the last step.
  if (!is_sharded()) roots_.settle(step_count());
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const ShampooState& state = parameters_[i];
    if (!state.preconditioned) continue;
    for (const Factor& factor : state.factors) {
      if (!factor.statistic.is_here()) continue;
      const auto append = [&](const char* name, double value) {
        gradstep_metric record{};
        std::strncpy(record.name, name, sizeof record.name - 1);
        record.parameter = static_cast<std::int64_t>(i);
        record.block = static_cast<std::int64_t>(factor.block);
        record.axis = static_cast<std::int64_t>(factor.axis);
        record.value = value;
        metrics.push_back(record);
      };
      append("inverse_pth_root_errors", factor.error);
      append("root_max_eigenvalue", factor.max_eigenvalue);
      append("root_iterations", factor.iterations);
      append("root_retries", static_cast<double>(factor.retries));
      append("root_failures", static_cast<double>(factor.failures));
      append("preconditioner_age", static_cast<double>(step_count() - factor.refreshed));
    }
  }
}

}  // namespace gradstep
