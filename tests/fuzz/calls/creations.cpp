// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <iterator>
#include <utility>
#include <vector>

#include "calls.h"

namespace gradstep::fuzz {

namespace {

template <class Options>
Options rule_options_of(Host& host, gradstep_status (*init)(Options*, std::size_t)) {
  Options options = options_of(host, init);
  if (!host.values().once_in(16)) options.learning_rate = 0.125;
  return options;
}

template <class Options>
gradstep_status create_optimizer(Host& host, gradstep_status (*init)(Options*, std::size_t),
                                 gradstep_status (*create)(gradstep_context*, const Options*, const gradstep_parameter*,
                                                           std::size_t, gradstep_optimizer**),
                                 gradstep_status (*state_bytes)(const Options*, const gradstep_parameter*, std::size_t,
                                                                std::int64_t*)) {
  const Options options = rule_options_of(host, init);
  if (host.values().once_in(8)) {
    std::int64_t bytes = 0;
    return state_bytes(&options, host.parameters(), host.count(), &bytes);
  }
  return host.make(host.handles.optimizers, gradstep_optimizer_destroy, [&](gradstep_optimizer** out) {
    return create(host.pick(host.handles.contexts), &options, host.parameters(), host.count(), out);
  });
}

/// A rule by its name: names, numbers and texts that it takes, and others.
gradstep_status create_named_optimizer(Host& host) {
  static constexpr const char* kRules[] = {"sgd", "rmsprop", "adagrad", "adam", "lion", "other", nullptr};
  static constexpr const char* kNames[] = {"beta1",       "beta2", "weight_decay", "momentum", "nesterov",
                                           "state_dtype", "seed",  "maximize",     "other",    nullptr};
  static constexpr const char* kTexts[] = {"bf16", "int8", "copy", "tf", "-12", "other"};
  HostileValues& values = host.values();
  const char* rule = kRules[values.below(std::size(kRules))];
  std::vector<gradstep_option> options;
  if (!values.once_in(16)) options.push_back({"learning_rate", 0.125, nullptr});
  for (std::size_t left = values.below(4); left > 0; --left) {
    const char* text = values.once_in(3) ? kTexts[values.below(std::size(kTexts))] : nullptr;
    options.push_back({kNames[values.below(std::size(kNames))], values.number(), text});
  }
  if (values.once_in(8)) {
    std::int64_t bytes = 0;
    return gradstep_rule_state_bytes(rule, options.data(), options.size(), host.parameters(), host.count(), &bytes);
  }
  return host.make(host.handles.optimizers, gradstep_optimizer_destroy, [&](gradstep_optimizer** out) {
    return gradstep_optimizer_create(host.pick(host.handles.contexts), rule, options.data(), options.size(),
                                     host.parameters(), host.count(), out);
  });
}

}  // namespace

gradstep_status make_context(Host& host) {
  const gradstep_context_options options = host.context_options();
  return host.make(host.handles.contexts, gradstep_context_destroy, [&](gradstep_context** out) {
    return gradstep_context_create(host.values().once_in(16) ? nullptr : &options, out);
  });
}

gradstep_status make_optimizer(Host& host) {
  switch (host.values().below(6)) {
    case 0:
      return create_optimizer(host, gradstep_sgd_options_init, gradstep_optimizer_create_sgd, gradstep_sgd_state_bytes);
    case 1:
      return create_optimizer(host, gradstep_rmsprop_options_init, gradstep_optimizer_create_rmsprop,
                              gradstep_rmsprop_state_bytes);
    case 2:
      return create_optimizer(host, gradstep_adagrad_options_init, gradstep_optimizer_create_adagrad,
                              gradstep_adagrad_state_bytes);
    case 3:
      return create_optimizer(host, gradstep_adam_options_init, gradstep_optimizer_create_adam,
                              gradstep_adam_state_bytes);
    case 4:
      return create_named_optimizer(host);
    default:
      return create_optimizer(host, gradstep_shampoo_options_init, gradstep_optimizer_create_shampoo,
                              gradstep_shampoo_state_bytes);
  }
}

gradstep_status make_accumulator(Host& host) {
  using Options = gradstep_accumulator_options;
  Options options = options_of(host, gradstep_accumulator_options_init, offsetof(Options, schedule),
                               offsetof(Options, schedule) + sizeof(void*));
  if (host.values().once_in(4)) options.schedule = host.schedule();
  return host.make(host.handles.accumulators, gradstep_accumulator_destroy, [&](gradstep_accumulator** out) {
    return gradstep_accumulator_create(host.pick(host.handles.contexts), &options, host.parameters(), host.count(),
                                       out);
  });
}

gradstep_status make_comm(Host& host) {
  HostileValues& values = host.values();
  using Options = gradstep_comm_options;
  Options options = options_of(host, gradstep_comm_options_init, offsetof(Options, engine),
                               offsetof(Options, network_interface) + sizeof(void*));
  options.timeout_ms = values.once_in(16) ? values.int64() : 5;
  if (options.timeout_ms > 5) options.timeout_ms = 5;  // no call waits for long here
  gradstep_context* context = host.pick(host.handles.contexts);
  if (values.once_in(2)) {
    const gradstep_comm_vtable vtable = host.vtable();
    return host.make(host.handles.comms, gradstep_comm_destroy, [&](gradstep_comm** out) {
      return gradstep_comm_create_host_ex(context, &vtable, Host::user_of(vtable), &options, out);
    });
  }
  if (values.once_in(2)) {
    constexpr std::array<const char*, 6> kEngines = {"self", "self", "local", "shm", "", nullptr};
    options.engine = kEngines[values.below(kEngines.size())];
    return host.make(host.handles.comms, gradstep_comm_destroy,
                     [&](gradstep_comm** out) { return gradstep_comm_create(context, &options, out); });
  }
  std::array<gradstep_comm*, 2> made{};
  constexpr std::array<std::int32_t, 5> kSizes = {1, 2, 0, -1, INT32_MIN};
  const gradstep_status status =
      gradstep_comm_create_local_ex(context, kSizes[values.below(kSizes.size())], &options, made.data());
  for (gradstep_comm* comm : made) {
    if (comm == nullptr) continue;
    auto& slot = host.handles.comms[values.below(host.handles.comms.size())];
    gradstep_comm_destroy(std::exchange(slot, comm));
  }
  return status;
}

gradstep_status make_reducer(Host& host) {
  const auto options = options_of(host, gradstep_reducer_options_init);
  return host.make(host.handles.reducers, gradstep_reducer_destroy, [&](gradstep_reducer** out) {
    return gradstep_reducer_create(host.pick(host.handles.contexts), host.pick(host.handles.comms), &options,
                                   host.parameters(), host.count(), out);
  });
}

gradstep_status make_updater(Host& host) {
  using Options = gradstep_updater_options;
  Options options = options_of(host, gradstep_updater_options_init, offsetof(Options, outer),
                               offsetof(Options, outer) + sizeof(void*));
  if (host.values().once_in(4)) options.outer = host.pick(host.handles.optimizers);
  gradstep_accumulator* accumulator = host.values().once_in(2) ? host.pick(host.handles.accumulators) : nullptr;
  gradstep_reducer* reducer = host.values().once_in(2) ? host.pick(host.handles.reducers) : nullptr;
  return host.make(host.handles.updaters, gradstep_updater_destroy, [&](gradstep_updater** out) {
    return gradstep_updater_create(host.pick(host.handles.contexts), host.pick(host.handles.optimizers), accumulator,
                                   reducer, &options, out);
  });
}

gradstep_status destroy_one(Host& host) {
  Handles& h = host.handles;
  const auto destroy = [&](auto& some, auto function) {
    function(std::exchange(some[host.values().below(some.size())], nullptr));
    return gradstep_status{GRADSTEP_OK};
  };
  switch (host.values().below(6)) {
    case 0:
      return destroy(h.contexts, gradstep_context_destroy);
    case 1:
      return destroy(h.comms, gradstep_comm_destroy);
    case 2:
      return destroy(h.accumulators, gradstep_accumulator_destroy);
    case 3:
      return destroy(h.optimizers, gradstep_optimizer_destroy);
    case 4:
      return destroy(h.reducers, gradstep_reducer_destroy);
    default:
      return destroy(h.updaters, gradstep_updater_destroy);
  }
}

}  // namespace gradstep::fuzz
