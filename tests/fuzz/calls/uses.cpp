// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cstddef>

#include "calls.h"

namespace gradstep::fuzz {

namespace {

gradstep_tensor numbers(void* data, gradstep_dtype dtype, std::int64_t& count) {
  return {data, {GRADSTEP_DEVICE_CPU, 0}, 1, dtype, &count, nullptr, 0};
}

constexpr gradstep_dtype kF64 = {GRADSTEP_TYPE_FLOAT, 64, 1};

}  // namespace

gradstep_status step(Host& host) {
  gradstep_optimizer* optimizer = host.pick(host.handles.optimizers);
  const gradstep_tensor* params = host.tensors(Buffers::params);
  const gradstep_tensor* grads = host.tensors(Buffers::grads);
  if (host.values().once_in(2)) {
    return gradstep_optimizer_step(optimizer, params, grads, host.count(), host.device_stream());
  }
  const gradstep_tensor* updates = host.values().once_in(2) ? host.tensors(Buffers::updates) : nullptr;
  if (host.values().once_in(4)) updates = grads;
  using Options = gradstep_step_options;
  Options options = options_of(host, gradstep_step_options_init, offsetof(Options, grad_norm), sizeof(Options));
  double norm = host.values().number();
  float found = host.values().once_in(8) ? 1 : 0;
  float scale = static_cast<float>(host.values().number());
  std::array<double, 4> outcome{};
  std::int64_t one = 1;
  std::int64_t four = 4;
  gradstep_tensor norm_view = numbers(&norm, kF64, one);
  gradstep_tensor found_view = numbers(&found, kF32, one);
  gradstep_tensor scale_view = numbers(&scale, kF32, one);
  gradstep_tensor outcome_view = numbers(outcome.data(), kF64, four);
  gradstep_step_result result{};
  result.struct_size = host.struct_size(sizeof result);
  if (host.values().once_in(4)) options.grad_norm = &norm_view;
  if (host.values().once_in(4)) options.found_inf = host.values().once_in(16) ? &norm_view : &found_view;
  if (host.values().once_in(2)) options.result = &result;
  if (host.values().once_in(4)) options.grad_scale_tensor = host.values().once_in(16) ? &norm_view : &scale_view;
  if (host.values().once_in(4)) options.outcome = host.values().once_in(16) ? &norm_view : &outcome_view;
  return gradstep_optimizer_step_ex(optimizer, params, grads, updates, host.count(), &options, host.device_stream());
}

gradstep_status ask_optimizer(Host& host) {
  HostileValues& values = host.values();
  gradstep_optimizer* optimizer = host.pick(host.handles.optimizers);
  std::int64_t count = 0;
  std::int32_t groups = 0;
  std::int32_t done = 0;
  double value = 0;
  std::array<gradstep_metric, 4> metrics{};
  gradstep_memory memory{};
  memory.struct_size = host.struct_size(sizeof memory);
  std::array<char, 64> text{};
  std::size_t length = 0;
  switch (values.below(8)) {
    case 0:
      return gradstep_optimizer_get_value(optimizer, values.int32(), host.name(), &value);
    case 1:
      return gradstep_optimizer_group_count(optimizer, &groups);
    case 2:
      return gradstep_optimizer_step_count(optimizer, &count);
    case 3:
      return gradstep_optimizer_state_names(optimizer, text.data(), values.below(text.size() + 1), &length);
    case 4:
      return gradstep_optimizer_metrics(optimizer, metrics.data(), host.struct_size(sizeof metrics[0]),
                                        values.below(metrics.size() + 1), &length);
    case 5:
      return gradstep_optimizer_memory(optimizer, &memory);
    case 6:
      return gradstep_optimizer_state(optimizer, values.below(Host::kMost + 1), host.name(), host.views());
    default:
      return gradstep_optimizer_poll(optimizer, &done);
  }
}

gradstep_status change_optimizer(Host& host) {
  HostileValues& values = host.values();
  gradstep_optimizer* optimizer = host.pick(host.handles.optimizers);
  const std::size_t index = values.below(Host::kMost);
  const gradstep_tensor tensor = host.tensor(Buffers::updates, index);
  const auto sharding = options_of(host, gradstep_sharding_options_init);
  switch (values.below(10)) {
    case 0:
      return gradstep_optimizer_set_value(optimizer, values.int32(), host.name(), values.number());
    case 1:
      return gradstep_optimizer_set_schedule(optimizer, values.int32(), host.name(), host.schedule());
    case 2:
      return gradstep_optimizer_add_parameters(optimizer, host.parameters(), host.count());
    case 3:
      return gradstep_optimizer_set_step_count(optimizer, values.int64());
    case 4:
      return gradstep_optimizer_get_state(optimizer, index, host.name(), &tensor, host.device_stream());
    case 5:
      return gradstep_optimizer_set_state(optimizer, index, host.name(), &tensor, host.device_stream());
    case 6:
      return gradstep_optimizer_copy_state(optimizer, host.pick(host.handles.optimizers));
    case 7: {
      static double number;  // optimizers borrow it
      number = values.number();
      std::int64_t one = 1;
      const gradstep_tensor borrowed = numbers(&number, kF64, one);
      return gradstep_optimizer_set_tensor(optimizer, values.int32(), host.name(), &borrowed);
    }
    case 8:
      return gradstep_optimizer_attach_shards(optimizer, values.once_in(4) ? nullptr : host.pick(host.handles.comms));
    default:
      return gradstep_optimizer_attach_comm(optimizer, values.once_in(4) ? nullptr : host.pick(host.handles.comms),
                                            &sharding);
  }
}

gradstep_status use_accumulator(Host& host) {
  HostileValues& values = host.values();
  gradstep_accumulator* accumulator = host.pick(host.handles.accumulators);
  std::int32_t ready = 0;
  std::int64_t count = 0;
  double number = 0;
  const double weight = values.once_in(4) ? values.number() : 1;
  switch (values.below(12)) {
    case 0:
      return gradstep_accumulator_flush(accumulator, host.device_stream(), &ready);
    case 1:
      return gradstep_accumulator_reset(accumulator, host.device_stream());
    case 2:
      return gradstep_accumulator_gradients(accumulator, host.views(), host.count(), host.device_stream());
    case 3:
      return gradstep_accumulator_sums(accumulator, host.views(), host.count(), host.device_stream());
    case 4:
      return gradstep_accumulator_weight(accumulator, &number);
    case 5:
      return gradstep_accumulator_norm(accumulator, host.views(), host.device_stream());
    case 6:
      return gradstep_accumulator_count(accumulator, &count);
    case 7:
      return gradstep_accumulator_skipped(accumulator, &count);
    case 8: {
      const gradstep_tensor* grads = values.once_in(2) ? host.tensors(Buffers::grads) : nullptr;
      return gradstep_accumulator_add_ex(accumulator, grads, grads != nullptr ? host.count() : 0, host.rows(), 1,
                                         weight, host.device_stream(), &ready);
    }
    case 9:
      return gradstep_accumulator_poll(accumulator, &ready);
    default:
      return gradstep_accumulator_add(accumulator, host.tensors(Buffers::grads), host.count(), weight,
                                      host.device_stream(), &ready);
  }
}

gradstep_status use_reducer(Host& host) {
  HostileValues& values = host.values();
  gradstep_reducer* reducer = host.pick(host.handles.reducers);
  const std::size_t index = values.below(Host::kMost);
  const gradstep_tensor tensor = host.tensor(Buffers::grads, index);
  const double weight = values.once_in(4) ? values.number() : 1;
  const gradstep_tensor* results = values.once_in(2) ? host.tensors(Buffers::updates) : nullptr;
  std::array<gradstep_bucket_statistics, 3> records{};
  gradstep_comm_statistics stats{};
  stats.struct_size = host.struct_size(sizeof stats);
  std::size_t count = 0;
  std::int32_t done = 0;
  switch (values.below(13)) {
    case 0:
      return gradstep_reducer_begin(reducer, weight, host.device_stream());
    case 1:
    case 2:
      return gradstep_reducer_push(reducer, index, &tensor, host.device_stream());
    case 3:
      return gradstep_reducer_wait(reducer, results, host.count(), host.device_stream());
    case 4:
      return gradstep_reducer_cancel(reducer);
    case 5:
      return gradstep_reducer_gradients(reducer, host.views(), host.count(), host.device_stream());
    case 6:
      return gradstep_reducer_norm(reducer, host.views(), host.device_stream());
    case 7:
      return gradstep_reducer_residual(reducer, index, host.views());
    case 8:
      return gradstep_reducer_stats(reducer, records.data(), host.struct_size(sizeof records[0]),
                                    values.below(records.size() + 1), &count);
    case 9:
      return gradstep_reducer_comm_stats(reducer, &stats);
    case 10:
      return gradstep_reducer_poll(reducer, &done);
    case 11:
      return gradstep_reducer_set_loss_scale(reducer, values.number());
    default:
      return gradstep_reducer_reduce(reducer, host.tensors(Buffers::grads), results, host.count(), weight,
                                     host.device_stream());
  }
}

gradstep_status use_updater(Host& host) {
  HostileValues& values = host.values();
  gradstep_updater* updater = host.pick(host.handles.updaters);
  std::int32_t applied = 0;
  gradstep_updater_statistics stats{};
  stats.struct_size = host.struct_size(sizeof stats);
  switch (values.below(8)) {
    case 0:
      return gradstep_updater_flush(updater, host.tensors(Buffers::params), host.count(), nullptr, &applied);
    case 1:
      return gradstep_updater_recover(updater, values.once_in(3) ? nullptr : host.pick(host.handles.comms),
                                      host.tensors(Buffers::params), host.count(), nullptr);
    case 2:
      return gradstep_updater_stats(updater, &stats);
    case 3:
      return gradstep_updater_poll(updater, &applied);
    default:
      return gradstep_updater_push(updater, host.tensors(Buffers::params), host.tensors(Buffers::grads), host.count(),
                                   values.once_in(4) ? values.number() : 1, host.device_stream(), &applied);
  }
}

gradstep_status save_or_load(Host& host) {
  HostileValues& values = host.values();
  Handles& h = host.handles;
  gradstep_load_options options{};
  options.struct_size = host.struct_size(sizeof options);
  options.allow_unchecked = values.once_in(2) ? 1 : 0;
  switch (values.below(8)) {
    case 0:
      return gradstep_optimizer_save(host.pick(h.optimizers), host.stream());
    case 1:
      return gradstep_optimizer_load(host.pick(h.optimizers), host.stream(), &options);
    case 2:
      return gradstep_accumulator_save(host.pick(h.accumulators), host.stream());
    case 3:
      return gradstep_accumulator_load(host.pick(h.accumulators), host.stream(), &options);
    case 4:
      return gradstep_reducer_save(host.pick(h.reducers), host.stream());
    case 5:
      return gradstep_reducer_load(host.pick(h.reducers), host.stream(), &options);
    case 6:
      return gradstep_updater_save(host.pick(h.updaters), host.stream());
    default:
      return gradstep_updater_load(host.pick(h.updaters), host.stream(), &options);
  }
}

}  // namespace gradstep::fuzz
