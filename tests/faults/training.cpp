// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/faults/training.h"

#include <cmath>
#include <cstring>
#include <ostream>

namespace gradstep::test {

namespace {

constexpr std::int64_t kRows = 300;
constexpr double kRate = 0.5;

gradstep_status first_error(std::initializer_list<gradstep_status> statuses) {
  for (const gradstep_status status : statuses) {
    if (status != GRADSTEP_OK) return status;
  }
  return GRADSTEP_OK;
}

template <class Container>
void append(std::vector<float>& all, const Container& part) {
  all.insert(all.end(), part.begin(), part.end());
}

}  // namespace

std::ostream& operator<<(std::ostream& stream, const Synchronisation& synchronisation) {
  return stream << synchronisation.name;
}

const std::vector<Synchronisation>& synchronisations() {
  static const std::vector<Synchronisation> all = {
      {"dense"},
      {"half", GRADSTEP_REDUCER_HALF},
      {"sparse_topk", GRADSTEP_REDUCER_SPARSE_TOPK},
      {"sparse_threshold", GRADSTEP_REDUCER_SPARSE_THRESHOLD},
      {"adasum_tree", GRADSTEP_REDUCER_ADASUM_TREE},
      {"adasum_nway", GRADSTEP_REDUCER_ADASUM_NWAY},
      {"powersgd", GRADSTEP_REDUCER_POWERSGD},
      {"int8", GRADSTEP_REDUCER_INT8},
      {"int4", GRADSTEP_REDUCER_INT4},
      {"fp8_e4m3", GRADSTEP_REDUCER_FP8_E4M3},
      {"deltas", GRADSTEP_REDUCER_ADASUM_TREE, GRADSTEP_SYNC_DELTAS},
      {"parameters", GRADSTEP_REDUCER_DENSE, GRADSTEP_SYNC_PARAMETERS},
      {"parameters_partial", GRADSTEP_REDUCER_DENSE, GRADSTEP_SYNC_PARAMETERS_PARTIAL},
      {"sharded", GRADSTEP_REDUCER_DENSE, GRADSTEP_SYNC_GRADIENTS, true},
      {"dense_hosts", GRADSTEP_REDUCER_DENSE, GRADSTEP_SYNC_GRADIENTS, false, true},
      {"int8_hosts", GRADSTEP_REDUCER_INT8, GRADSTEP_SYNC_GRADIENTS, false, true},
      {"adasum_hosts", GRADSTEP_REDUCER_ADASUM_TREE, GRADSTEP_SYNC_GRADIENTS, false, true},
  };
  return all;
}

Training::Training(gradstep_context* context, gradstep_comm* comm, const Synchronisation& synchronisation,
                   const std::string& saved_state, const Model& model)
    : context_(context),
      synchronisation_(synchronisation),
      saved_state_(saved_state),
      rank_(rank_of(comm)),
      shape_{kRows, model.columns} {
  for (std::size_t i = 0; i < 2; ++i) {
    parameters_[i].assign(static_cast<std::size_t>(kRows * model.columns), static_cast<float>(i));
    gradients_[i].resize(parameters_[i].size());
    gradstep_parameter& parameter = schema_[i];
    parameter.struct_size = sizeof parameter;
    parameter.shape = shape_.data();
    parameter.ndim = 2;
    parameter.dtype = {GRADSTEP_TYPE_FLOAT, model.bits, 1};
    parameter.device = {GRADSTEP_DEVICE_CPU, 0};
    gradstep_tensor tensor{};
    tensor.device = parameter.device;
    tensor.ndim = 2;
    tensor.dtype = parameter.dtype;
    tensor.shape = shape_.data();
    parameter_tensors_[i] = gradient_tensors_[i] = tensor;
    parameter_tensors_[i].data = parameters_[i].data();
    gradient_tensors_[i].data = gradients_[i].data();
  }
  status = create(comm);
}

Training::~Training() {
  gradstep_updater_destroy(updater_);
  gradstep_reducer_destroy(reducer_);
  gradstep_accumulator_destroy(accumulator_);
  gradstep_optimizer_destroy(optimizer_);
}

std::int32_t Training::rank_of(gradstep_comm* comm) const {
  std::int32_t rank = 0;
  gradstep_comm_rank(comm, &rank);
  return rank;
}

gradstep_status Training::create(gradstep_comm* comm) {
  gradstep_sgd_options rule{};
  gradstep_sgd_options_init(&rule, sizeof rule);
  rule.learning_rate = kRate;
  rule.momentum = steps_first() ? 0 : 0.5;  // what a rank's own step has done can be told without
  gradstep_status made = gradstep_optimizer_create_sgd(context_, &rule, schema_.data(), 2, &optimizer_);
  if (made != GRADSTEP_OK) return made;
  if (synchronisation_.is_sharded) {
    made = shard(comm);
    return made == GRADSTEP_OK ? gradstep_optimizer_save_file(optimizer_, saved_state_.c_str()) : made;
  }
  gradstep_reducer_options reduction{};
  gradstep_reducer_options_init(&reduction, sizeof reduction);
  reduction.mode = synchronisation_.mode;
  reduction.fuse_threshold = 1000;
  if (reduction.mode == GRADSTEP_REDUCER_SPARSE_THRESHOLD) reduction.sparsity = 400;
  gradstep_updater_options chain{};
  gradstep_updater_options_init(&chain, sizeof chain);
  chain.sync = synchronisation_.sync;
  made = first_error({gradstep_accumulator_create(context_, nullptr, schema_.data(), 2, &accumulator_),
                      gradstep_reducer_create(context_, comm, &reduction, schema_.data(), 2, &reducer_)});
  if (made != GRADSTEP_OK) return made;
  return gradstep_updater_create(context_, optimizer_, accumulator_, reducer_, &chain, &updater_);
}

gradstep_status Training::shard(gradstep_comm* comm) {
  return gradstep_optimizer_attach_comm(optimizer_, comm, nullptr);
}

void Training::fill(int number) {
  for (std::size_t i = 0; i < 2; ++i) {
    std::vector<float>& values = gradients_[i];
    const auto seed = static_cast<std::size_t>(31 * number + 7 * rank_) + i;
    for (std::size_t k = 0; k < values.size(); ++k) {
      values[k] = static_cast<float>((k * 7919 + seed) % 1001) - 500.0F;
    }
  }
}

gradstep_status Training::train(int number) {
  fill(number);
  if (synchronisation_.is_sharded) {
    return gradstep_optimizer_step(optimizer_, parameter_tensors_.data(), gradient_tensors_.data(), 2, nullptr);
  }
  return gradstep_updater_push(updater_, parameter_tensors_.data(), gradient_tensors_.data(), 2, 1, nullptr, nullptr);
}

gradstep_status Training::push(int number) {
  fill(number);
  before_ = standing();
  return train(number);
}

Training::Standing Training::standing() {
  Standing now;
  for (std::size_t i = 0; i < 2; ++i) {
    append(now.parameters, parameters_[i]);
    append(now.gradients, gradients_[i]);
    if (synchronisation_.is_sharded) continue;  // there, to look at the state is collective
    if (!steps_first()) {
      std::vector<float> momentum(parameters_[i].size());
      gradstep_tensor tensor = parameter_tensors_[i];
      tensor.data = momentum.data();
      if (gradstep_optimizer_get_state(optimizer_, i, "momentum_buffer", &tensor, nullptr) == GRADSTEP_OK) {
        append(now.state, momentum);
      }
    }
    gradstep_tensor view{};
    if (gradstep_reducer_residual(reducer_, i, &view) == GRADSTEP_OK) {
      const auto* data = static_cast<const float*>(view.data);
      now.residuals.insert(now.residuals.end(), data, data + parameters_[i].size());
    }
  }
  gradstep_optimizer_step_count(optimizer_, &now.steps);
  return now;
}

std::string Training::broken_promise() {
  const Standing now = standing();
  const bool keeps_own_step =
      synchronisation_.sync == GRADSTEP_SYNC_PARAMETERS || synchronisation_.sync == GRADSTEP_SYNC_PARAMETERS_PARTIAL;
  std::vector<float> expected = before_.parameters;
  if (keeps_own_step) {
    for (std::size_t k = 0; k < expected.size(); ++k) expected[k] -= static_cast<float>(kRate) * before_.gradients[k];
  }
  if (now.parameters != expected) return "parameters";
  if (now.gradients != before_.gradients) return "gradients";
  if (now.state != before_.state) return "the optimizer's state";
  if (now.residuals != before_.residuals) return "residuals";
  if (!synchronisation_.is_sharded) {
    // A sharded step may have counted before its parameters were exchanged: its count is lost with the state.
    if (now.steps != before_.steps + (steps_first() ? 1 : 0)) return "the number of steps";
    // The window is there, and another push is told so.
    return train(0) == GRADSTEP_ERR_INVALID_STATE ? "" : "a push into a window that has failed";
  }
  return train(0) == GRADSTEP_ERR_INVALID_STATE ? "" : "a step with a state that is lost";
}

gradstep_status Training::recover(gradstep_comm* comm) {
  rank_ = rank_of(comm);
  if (synchronisation_.is_sharded) {
    gradstep_status done = shard(comm);
    if (done == GRADSTEP_OK) done = gradstep_optimizer_load_file(optimizer_, saved_state_.c_str(), nullptr);
    // The parameters that belong to that file.
    for (std::size_t i = 0; i < 2; ++i) parameters_[i].assign(parameters_[i].size(), static_cast<float>(i));
    return done == GRADSTEP_OK ? train(1) : done;
  }
  gradstep_status done = gradstep_updater_recover(updater_, comm, parameter_tensors_.data(), 2, nullptr);
  if (done == GRADSTEP_OK) done = gradstep_updater_flush(updater_, parameter_tensors_.data(), 2, nullptr, nullptr);
  for (int number = 1; number <= 2 && done == GRADSTEP_OK; ++number) done = train(number);
  return done;
}

double Training::fingerprint() const {
  std::uint64_t hash = 14695981039346656037U;  // FNV-1a
  for (const std::vector<float>& values : parameters_) {
    for (const float value : values) {
      std::uint32_t bits = 0;
      std::memcpy(&bits, &value, sizeof bits);
      hash = (hash ^ bits) * 1099511628211U;
    }
  }
  return static_cast<double>(hash >> 12U);
}

}  // namespace gradstep::test
