// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "calls.h"

namespace gradstep::fuzz {

gradstep_status use_comm(Host& host) {
  HostileValues& values = host.values();
  gradstep_comm* comm = host.pick(host.handles.comms);
  const gradstep_tensor input = host.carried(Buffers::grads);
  const gradstep_tensor output = host.carried(Buffers::updates);
  const std::int32_t number = values.once_in(4) ? values.int32() : 0;
  std::int32_t answer = 0;
  std::array<std::int64_t, 4> counts = {values.int64(), values.int64(), 0, 1};
  std::array<char, 64> text{};
  std::size_t length = 0;
  gradstep_status status = GRADSTEP_OK;
  switch (values.below(13)) {
    case 0:
      return gradstep_comm_all_reduce(comm, &input, number, nullptr);
    case 1:
      return gradstep_comm_all_gather(comm, &input, &output, nullptr);
    case 2:
      return gradstep_comm_all_gather_v(comm, &input, &output, counts.data(), nullptr);
    case 3:
      return gradstep_comm_reduce_scatter(comm, &input, &output, number, nullptr);
    case 4:
      return gradstep_comm_broadcast(comm, &input, number, nullptr);
    case 5:
      return gradstep_comm_send(comm, &input, number, nullptr);
    case 6:
      return gradstep_comm_recv(comm, &output, number, nullptr);
    case 7:
      return gradstep_comm_barrier(comm);
    case 8:
      return gradstep_comm_vote(comm, number, &answer);
    case 9:
      return host.make(host.handles.comms, gradstep_comm_destroy, [&](gradstep_comm** out) {
        return values.once_in(2) ? gradstep_comm_dup(comm, out) : gradstep_comm_split(comm, number, 0, out);
      });
    case 10:
      return gradstep_comm_abort(comm);
    case 11:
      return gradstep_comm_engine(comm, text.data(), values.below(text.size() + 1), &length);
    default:
      return gradstep_comm_status(comm, &status, text.data(), values.below(text.size() + 1), &length);
  }
}

gradstep_status use_tensor_list(Host& host) {
  HostileValues& values = host.values();
  auto& lists = host.handles.tensor_lists;
  gradstep_tensor_list* list = lists[values.below(lists.size())];
  const std::size_t index = values.below(Host::kMost);
  const gradstep_tensor tensor = host.tensor(Buffers::grads, index);
  switch (values.below(5)) {
    case 0:
      return host.make(lists, gradstep_tensor_list_destroy,
                       [](gradstep_tensor_list** out) { return gradstep_tensor_list_create(out); });
    case 1:
      return gradstep_tensor_list_set_data(list, values.below(8), reinterpret_cast<std::uintptr_t>(tensor.data),
                                           static_cast<std::uint64_t>(values.int64()));
    case 2:
      return gradstep_tensor_list_clear(list);
    case 3:
      return gradstep_optimizer_step(host.pick(host.handles.optimizers), host.tensors(Buffers::params),
                                     gradstep_tensor_list_data(list), gradstep_tensor_list_size(list), nullptr);
    default:
      return gradstep_tensor_list_push(list, reinterpret_cast<std::uintptr_t>(tensor.data) + tensor.byte_offset,
                                       tensor.dtype.code, tensor.dtype.bits, tensor.device.device_type,
                                       tensor.device.device_id, tensor.ndim, tensor.shape, tensor.strides);
  }
}

gradstep_status use_parameter_list(Host& host) {
  HostileValues& values = host.values();
  auto& lists = host.handles.parameter_lists;
  gradstep_parameter_list* list = lists[values.below(lists.size())];
  const gradstep_tensor tensor = host.tensor(Buffers::params, values.below(Host::kMost));
  switch (values.below(5)) {
    case 0:
      return host.make(lists, gradstep_parameter_list_destroy,
                       [](gradstep_parameter_list** out) { return gradstep_parameter_list_create(out); });
    case 1:
      return gradstep_parameter_list_clear(list);
    case 2:
      return host.make(host.handles.accumulators, gradstep_accumulator_destroy, [&](gradstep_accumulator** out) {
        return gradstep_accumulator_create(host.pick(host.handles.contexts), nullptr,
                                           gradstep_parameter_list_data(list), gradstep_parameter_list_size(list), out);
      });
    case 3: {
      const std::array<std::int64_t, 40> numbers{};
      return gradstep_parameter_list_set_part(list, values.below(Host::kMost),
                                              values.once_in(8) ? nullptr : numbers.data(),
                                              values.once_in(8) ? nullptr : numbers.data());
    }
    default:
      return gradstep_parameter_list_push(list, host.name(), tensor.dtype.code, tensor.dtype.bits,
                                          tensor.device.device_type, tensor.device.device_id, tensor.ndim, tensor.shape,
                                          values.int32() % 8, values.byte());
  }
}

gradstep_status compute_number(Host& host) {
  HostileValues& values = host.values();
  double value = 0;
  std::array<gradstep_cost, 4> costs{};
  std::array<char, 64> text{};
  std::size_t count = 0;
  switch (values.below(4)) {
    case 0: {
      auto options = options_of(host, gradstep_cost_options_init);
      if (values.once_in(2)) options.elements = 1000;
      if (values.once_in(2)) options.ranks = 4;
      if (values.once_in(2)) options.bandwidth = 1e9;
      if (values.once_in(2)) options.latency = 1e-5;
      return gradstep_predict_costs(&options, costs.data(), host.struct_size(sizeof costs[0]),
                                    values.below(costs.size() + 1), &count);
    }
    case 1:
      return gradstep_build_info(text.data(), values.below(text.size() + 1), &count);
    case 2:
      return gradstep_backend_status(values.once_in(4) ? nullptr : "unknown", text.data(), text.size(), &count);
    default:
      return gradstep_schedule_value(host.schedule(), values.int64(), &value);
  }
}

}  // namespace gradstep::fuzz
