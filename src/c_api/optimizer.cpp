// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "gradstep/optimizer.h"

#include <cmath>
#include <cstring>
#include <optional>

#include "c_api/any_device.h"
#include "c_api/guard.h"
#include "c_api/handles.h"
#include "c_api/host_tensor.h"
#include "core/options.h"
#include "core/shape.h"
#include "core/text.h"
#include "gradstep/shampoo.h"
#include "gradstep/sharding.h"
#include "optim/first_order/first_order_optimizer.h"
#include "optim/first_order/typed_options.h"
#include "optim/shampoo/shampoo.h"
#include "reduce/reducer.h"

using namespace gradstep;

namespace {

template <class Options>
std::shared_ptr<Optimizer> make(std::shared_ptr<Context> context, const Options& options, Schema schema) {
  return std::make_shared<FirstOrderOptimizer>(std::move(context), make_rule(options), std::move(schema));
}
std::shared_ptr<Optimizer> make(std::shared_ptr<Context> context, const gradstep_shampoo_options& options,
                                Schema schema) {
  return std::make_shared<Shampoo>(std::move(context), options, std::move(schema));
}

template <class Options>
std::int64_t bytes_of(const Options& options, const Schema& schema) {
  return FirstOrderOptimizer::state_bytes(make_rule(options), schema);
}
std::int64_t bytes_of(const gradstep_shampoo_options& options, const Schema& schema) {
  return Shampoo::state_bytes(options, schema);
}

/// The body of every `create_*`.
template <class Options>
gradstep_status create(gradstep_context* context, const Options* options, const gradstep_parameter* parameters,
                       size_t n, gradstep_optimizer** out) noexcept {
  return guarded_math([&] {
    check_out("out", out);
    const Options read = read_struct("options", options);
    hand_out(out, make(object_of(context), read, Schema(parameters, n)));
  });
}

/// The body of every `*_state_bytes`.
template <class Options>
gradstep_status state_bytes(const Options* options, const gradstep_parameter* parameters, size_t n,
                            int64_t* bytes) noexcept {
  return guarded_math([&] {
    check_out("bytes", bytes);
    const Schema schema = schema_of_any_device(parameters, n);
    *bytes = bytes_of(read_struct("options", options), schema);
  });
}

gradstep_step_options default_step_options() {
  gradstep_step_options options{};
  options.grad_scale = 1;
  return options;
}

/// The numbers in a host's small tensor on `device`; NULL stays NULL.
template <class T>
T* numbers_of(const char* argument, const gradstep_tensor* tensor, DType dtype, gradstep_device device,
              std::int64_t count = 1) {
  if (tensor == nullptr) return nullptr;
  if (!same_device(home_of(tensor->device), device)) {
    fail_argument("{}: is on {}, the parameters are on {}", argument, device_text(tensor->device), device_text(device));
  }
  const Array array = to_array(argument, 0, *tensor);
  if (!array.present()) fail_argument("{}: data is NULL", argument);
  if (array.dtype != dtype || array.size != count || !array.contiguous()) {
    fail_argument("{}: is {}{} {}, expected {} ({})", argument, array.contiguous() ? "" : "strided ",
                  name_of(array.dtype), shape_text(*tensor), name_of(dtype), count);
  }
  return static_cast<T*>(array.data);
}

StepGuards guards_of(const gradstep_step_options& options, Optimizer& optimizer) {
  const gradstep_device device = optimizer.schema().device();
  StepGuards guards;
  guards.grad_scale = options.grad_scale;
  guards.max_norm = options.max_norm;
  guards.clip_value = options.clip_value;
  guards.skip_nonfinite = options.skip_nonfinite != 0;
  check_guards(guards);
  guards.norm = numbers_of<const double>("options.grad_norm", options.grad_norm, DType::f64, device);
  guards.found_inf = numbers_of<float>("options.found_inf", options.found_inf, DType::f32, device);
  const auto* factor =
      numbers_of<const float>("options.grad_scale_tensor", options.grad_scale_tensor, DType::f32, device);
  if (factor != nullptr && optimizer.site().is_host() && !std::isfinite(options.grad_scale * double{*factor})) {
    fail(GRADSTEP_ERR_NUMERIC, "options.grad_scale_tensor: holds {}, expected a finite number", *factor);
  }
  guards.grad_scale_factor = factor;
  guards.outcome = numbers_of<double>("options.outcome", options.outcome, DType::f64, device, 4);
  return guards;
}

void write_result(gradstep_step_result* result, const StepOutcome& outcome) {
  gradstep_step_result written{};
  written.applied = outcome.applied ? 1 : 0;
  written.grad_norm = outcome.grad_norm;
  written.clip_coefficient = outcome.clip_coefficient;
  write_struct("options.result", result, written);
}

// Inline, for a call of so many arguments is a twentieth of a tiny step.
inline void step(gradstep_optimizer* optimizer, const gradstep_tensor* params, const gradstep_tensor* grads,
                 const gradstep_tensor* updates, size_t n, const gradstep_step_options* options, void* stream) {
  const InUse use(optimizer);
  Optimizer& impl = *use->impl;
  impl.site().use(stream);
  const StepGuards guards = options != nullptr ? guards_of(*options, impl) : StepGuards{};
  const bool disjoint = options != nullptr && options->disjoint != 0;
  const StepOutcome outcome =
      impl.step(optimizer->buffers.bind(impl.schema(), params, grads, updates, n, disjoint), guards);
  if (options == nullptr || options->result == nullptr) return;
  write_result(options->result, impl.site().is_host() ? outcome : impl.last_outcome());
}

/// A number about the whole optimizer.
gradstep_metric metric(const char* name, int64_t value) {
  gradstep_metric record{};
  std::strncpy(record.name, name, sizeof record.name - 1);
  record.parameter = record.block = record.axis = -1;
  record.value = static_cast<double>(value);
  return record;
}

gradstep_sharding_options checked_sharding(const gradstep_sharding_options* options) {
  const auto read = read_struct_or({}, "options", options);
  check_choice("options.gradients", read.gradients, 2, "0 (local) or 1 (reduced)");
  check_choice("options.average", read.average, 3, "0 (unset), 1 (sum) or 2 (mean)");
  check_choice("options.preconditioners", read.preconditioners, 2, "0 (replicated) or 1 (owned)");
  return read;
}

gradstep_tensor state_view(Optimizer& impl, size_t index, const char* name, const Array& array) {
  gradstep_tensor tensor = view_of(impl.schema(), index, array.data, array.dtype);
  const auto shape = impl.state().shape(index, name);
  tensor.ndim = static_cast<int32_t>(shape.size());
  tensor.shape = const_cast<int64_t*>(shape.data());  // as in view_of(schema, ...)
  return tensor;
}

/// The host's tensor for a state of parameter `index`, or for this rank's part of it, checked.
Array state_tensor(Optimizer& impl, size_t index, const char* name, const gradstep_tensor* tensor,
                   const char* argument = "tensor", bool is_part = false) {
  check_out(argument, tensor);
  const Array host = to_array(argument, tensor);
  if (index >= impl.schema().size()) return host;  // the state's own check says what is wrong
  const Parameter& parameter = impl.schema()[index];
  const auto shape = is_part ? std::span(parameter.shape) : impl.state().shape(index, name);
  if (shape_text(*tensor) != shape_text(shape) || !is_float(host.dtype)) {
    fail_argument("{}: is {} {}, state '{}' of parameter '{}' has shape {}", argument, name_of(host.dtype),
                  shape_text(*tensor), name != nullptr ? name : "NULL", parameter.name, shape_text(shape));
  }
  return host;
}

}  // namespace

gradstep_status gradstep_sgd_options_init(gradstep_sgd_options* o, size_t struct_size) noexcept {
  return guarded([&] { init_struct("o", o, struct_size, default_options<gradstep_sgd_options>()); });
}

gradstep_status gradstep_rmsprop_options_init(gradstep_rmsprop_options* o, size_t struct_size) noexcept {
  return guarded([&] { init_struct("o", o, struct_size, default_options<gradstep_rmsprop_options>()); });
}

gradstep_status gradstep_adagrad_options_init(gradstep_adagrad_options* o, size_t struct_size) noexcept {
  return guarded([&] { init_struct("o", o, struct_size, default_options<gradstep_adagrad_options>()); });
}

gradstep_status gradstep_adam_options_init(gradstep_adam_options* o, size_t struct_size) noexcept {
  return guarded([&] { init_struct("o", o, struct_size, default_options<gradstep_adam_options>()); });
}

gradstep_status gradstep_shampoo_options_init(gradstep_shampoo_options* o, size_t struct_size) noexcept {
  return guarded([&] { init_struct("o", o, struct_size, default_shampoo_options()); });
}

gradstep_status gradstep_step_options_init(gradstep_step_options* o, size_t struct_size) noexcept {
  return guarded([&] { init_struct("o", o, struct_size, default_step_options()); });
}

gradstep_status gradstep_optimizer_create_sgd(gradstep_context* context, const gradstep_sgd_options* options,
                                              const gradstep_parameter* parameters, size_t n,
                                              gradstep_optimizer** out) noexcept {
  return create(context, options, parameters, n, out);
}

gradstep_status gradstep_optimizer_create_rmsprop(gradstep_context* context, const gradstep_rmsprop_options* options,
                                                  const gradstep_parameter* parameters, size_t n,
                                                  gradstep_optimizer** out) noexcept {
  return create(context, options, parameters, n, out);
}

gradstep_status gradstep_optimizer_create_adagrad(gradstep_context* context, const gradstep_adagrad_options* options,
                                                  const gradstep_parameter* parameters, size_t n,
                                                  gradstep_optimizer** out) noexcept {
  return create(context, options, parameters, n, out);
}

gradstep_status gradstep_optimizer_create_adam(gradstep_context* context, const gradstep_adam_options* options,
                                               const gradstep_parameter* parameters, size_t n,
                                               gradstep_optimizer** out) noexcept {
  return create(context, options, parameters, n, out);
}

gradstep_status gradstep_optimizer_create_shampoo(gradstep_context* context, const gradstep_shampoo_options* options,
                                                  const gradstep_parameter* parameters, size_t n,
                                                  gradstep_optimizer** out) noexcept {
  return create(context, options, parameters, n, out);
}

void gradstep_optimizer_destroy(gradstep_optimizer* optimizer) noexcept { destroy(optimizer); }

gradstep_status gradstep_optimizer_step(gradstep_optimizer* optimizer, const gradstep_tensor* params,
                                        const gradstep_tensor* grads, size_t n, void* stream) noexcept {
  return guarded_math([&] { step(optimizer, params, grads, nullptr, n, nullptr, stream); });
}

gradstep_status gradstep_optimizer_update(gradstep_optimizer* optimizer, const gradstep_tensor* params,
                                          const gradstep_tensor* grads, const gradstep_tensor* updates, size_t n,
                                          void* stream) noexcept {
  return guarded_math([&] {
    if (n > 0) check_out("updates", updates);
    step(optimizer, params, grads, updates, n, nullptr, stream);
  });
}

gradstep_status gradstep_optimizer_step_ex(gradstep_optimizer* optimizer, const gradstep_tensor* params,
                                           const gradstep_tensor* grads, const gradstep_tensor* updates, size_t n,
                                           const gradstep_step_options* options, void* stream) noexcept {
  return guarded_math([&] {
    const auto read = options != nullptr ? read_struct("options", options) : default_step_options();
    if (read.result != nullptr) struct_size_of("options.result", read.result);
    step(optimizer, params, grads, updates, n, &read, stream);
  });
}

gradstep_status gradstep_optimizer_set_value(gradstep_optimizer* optimizer, int32_t group, const char* name,
                                             double value) noexcept {
  return with(optimizer, [&](Optimizer& impl) { impl.set_schedule(group, name, Schedule(value)); });
}

gradstep_status gradstep_optimizer_set_schedule(gradstep_optimizer* optimizer, int32_t group, const char* name,
                                                const gradstep_schedule* schedule) noexcept {
  return guarded_math([&] {
    const Schedule owned("schedule", schedule);  // first: from here on its callback is released whatever happens
    const InUse use(optimizer);
    use->impl->set_schedule(group, name, owned);
  });
}

gradstep_status gradstep_optimizer_set_tensor(gradstep_optimizer* optimizer, int32_t group, const char* name,
                                              const gradstep_tensor* tensor) noexcept {
  return with(optimizer, [&](Optimizer& impl) {
    check_out("tensor", tensor);
    const auto* number = numbers_of<const double>("tensor", tensor, DType::f64, impl.schema().device());
    impl.set_schedule(group, name, Schedule::in_memory(number));
  });
}

gradstep_status gradstep_optimizer_get_value(gradstep_optimizer* optimizer, int32_t group, const char* name,
                                             double* value) noexcept {
  return with(optimizer, [&](Optimizer& impl) { check_out("value", value) = impl.get_value(group, name); });
}

gradstep_status gradstep_optimizer_group_count(gradstep_optimizer* optimizer, int32_t* count) noexcept {
  return with(optimizer, [&](Optimizer& impl) { check_out("count", count) = impl.hyper_parameters().group_count(); });
}

gradstep_status gradstep_optimizer_add_parameters(gradstep_optimizer* optimizer, const gradstep_parameter* parameters,
                                                  size_t n) noexcept {
  return with(optimizer, [&](Optimizer& impl) { impl.add_parameters(parameters, n); });
}

gradstep_status gradstep_optimizer_step_count(gradstep_optimizer* optimizer, int64_t* count) noexcept {
  return with(optimizer, [&](Optimizer& impl) { check_out("count", count) = impl.step_count(); });
}

gradstep_status gradstep_optimizer_set_step_count(gradstep_optimizer* optimizer, int64_t count) noexcept {
  return with(optimizer, [&](Optimizer& impl) { impl.set_step_count(count); });
}

gradstep_status gradstep_optimizer_state_names(gradstep_optimizer* optimizer, char* buf, size_t cap,
                                               size_t* len) noexcept {
  return with(optimizer, [&](Optimizer& impl) { write_text(join(impl.state().names(), ","), buf, cap, len); });
}

gradstep_status gradstep_optimizer_state(gradstep_optimizer* optimizer, size_t index, const char* name,
                                         gradstep_tensor* tensor_out) noexcept {
  return with(optimizer, [&](Optimizer& impl) {
    check_out("tensor_out", tensor_out);
    impl.check_state_is_whole();
    *tensor_out = state_view(impl, index, name, impl.state().view(index, name));
  });
}

gradstep_status gradstep_optimizer_get_state(gradstep_optimizer* optimizer, size_t index, const char* name,
                                             const gradstep_tensor* tensor, void* stream) noexcept {
  return with(optimizer, [&](Optimizer& impl) {
    impl.site().use(stream);
    impl.check_state_is_whole();
    const Array host = state_tensor(impl, index, name, tensor);
    check_written("tensor", 0, *tensor, host);
    impl.state().get(index, name, host);
  });
}

gradstep_status gradstep_optimizer_average(gradstep_optimizer* optimizer, const gradstep_tensor* tensors, size_t n,
                                           void* stream) noexcept {
  return with(optimizer, [&](Optimizer& impl) {
    impl.schema().check_count("tensors", tensors, n);
    impl.site().use(stream);
    impl.check_state_is_whole();
    std::vector<std::optional<Array>> wanted(n);
    for (size_t i = 0; i < n; ++i) {
      const std::string argument = "tensors[" + std::to_string(i) + "]";
      if (is_left_out(impl.schema()[i], tensors[i])) continue;
      const char* own = impl.own_average(i).state;
      const char* name = own != nullptr ? own : kWeightAverage;
      wanted[i] = state_tensor(impl, i, name, &tensors[i], argument.c_str(), /*is_part=*/true);
      check_written("tensors", i, tensors[i], *wanted[i]);
    }
    for (size_t i = 0; i < n; ++i) {
      if (wanted[i]) impl.state().check_average(i, impl.own_average(i));
    }
    for (size_t i = 0; i < n; ++i) {
      if (wanted[i]) impl.state().get_average(i, impl.own_average(i), impl.average_share(i), *wanted[i]);
    }
  });
}

gradstep_status gradstep_optimizer_set_state(gradstep_optimizer* optimizer, size_t index, const char* name,
                                             const gradstep_tensor* tensor, void* stream) noexcept {
  return with(optimizer, [&](Optimizer& impl) {
    impl.site().use(stream);
    impl.state().set(index, name, state_tensor(impl, index, name, tensor));
  });
}

gradstep_status gradstep_optimizer_copy_state(gradstep_optimizer* destination, gradstep_optimizer* source) noexcept {
  return with(destination, [&](Optimizer& impl) {
    if (source == destination) return;
    const InUse use(source, "source");
    impl.copy_state(*use->impl);
  });
}

gradstep_status gradstep_optimizer_metrics(gradstep_optimizer* optimizer, gradstep_metric* records, size_t record_size,
                                           size_t capacity, size_t* count) noexcept {
  return with(optimizer, [&](Optimizer& impl) {
    check_out("count", count);
    std::vector<gradstep_metric> all = {metric("step_count", impl.step_count()),
                                        metric("skipped_steps", impl.skipped_steps())};
    const std::span<const gradstep_metric> own = impl.metrics();
    all.insert(all.end(), own.begin(), own.end());
    write_records<gradstep_metric>(records, record_size, capacity, all);
    *count = all.size();
  });
}

gradstep_status gradstep_optimizer_memory(gradstep_optimizer* optimizer, gradstep_memory* memory) noexcept {
  return with(optimizer, [&](Optimizer& impl) {
    gradstep_memory written{};
    for (const StoredState& stored : impl.state().stored()) written.state_bytes += stored.array.bytes();
    written.other_bytes = impl.other_bytes() + static_cast<std::int64_t>(optimizer->buffers.bytes());
    write_struct("memory", memory, written);
  });
}

gradstep_status gradstep_sgd_state_bytes(const gradstep_sgd_options* options, const gradstep_parameter* parameters,
                                         size_t n, int64_t* bytes) noexcept {
  return state_bytes(options, parameters, n, bytes);
}

gradstep_status gradstep_rmsprop_state_bytes(const gradstep_rmsprop_options* options,
                                             const gradstep_parameter* parameters, size_t n, int64_t* bytes) noexcept {
  return state_bytes(options, parameters, n, bytes);
}

gradstep_status gradstep_adagrad_state_bytes(const gradstep_adagrad_options* options,
                                             const gradstep_parameter* parameters, size_t n, int64_t* bytes) noexcept {
  return state_bytes(options, parameters, n, bytes);
}

gradstep_status gradstep_adam_state_bytes(const gradstep_adam_options* options, const gradstep_parameter* parameters,
                                          size_t n, int64_t* bytes) noexcept {
  return state_bytes(options, parameters, n, bytes);
}

gradstep_status gradstep_shampoo_state_bytes(const gradstep_shampoo_options* options,
                                             const gradstep_parameter* parameters, size_t n, int64_t* bytes) noexcept {
  return state_bytes(options, parameters, n, bytes);
}

gradstep_status gradstep_sharding_options_init(gradstep_sharding_options* o, size_t struct_size) noexcept {
  return guarded([&] { init_struct("o", o, struct_size, gradstep_sharding_options{}); });
}

gradstep_status gradstep_optimizer_attach_comm(gradstep_optimizer* optimizer, gradstep_comm* comm,
                                               const gradstep_sharding_options* options) noexcept {
  return with(optimizer, [&](Optimizer& impl) {
    const auto read = checked_sharding(options);
    if (comm == nullptr) return impl.attach(nullptr, read);
    const InUse use(comm);
    impl.attach(use->impl.get(), read);
  });
}

gradstep_status gradstep_optimizer_attach_shards(gradstep_optimizer* optimizer, gradstep_comm* comm) noexcept {
  return with(optimizer, [&](Optimizer& impl) {
    if (comm == nullptr) return impl.attach(nullptr, {}, {}, /*in_parts=*/true);
    const InUse use(comm);
    impl.attach(use->impl.get(), {}, {}, /*in_parts=*/true);
  });
}

gradstep_status gradstep_optimizer_attach_reducer(gradstep_optimizer* optimizer, gradstep_reducer* reducer,
                                                  const gradstep_sharding_options* options) noexcept {
  return with(optimizer, [&](Optimizer& impl) {
    const auto read = checked_sharding(options);
    const InUse use(reducer);
    Reducer& gradients = *use->impl;
    if (gradients.schema().digest(/*arithmetic=*/true) != impl.schema().digest(/*arithmetic=*/true)) {
      fail_argument("reducer: has other parameters ({}) than the optimizer, expected its {}", gradients.schema().size(),
                    impl.schema().size());
    }
    const auto groups = gradients.layout().groups();
    const bool is_new = gradients.deal(impl.slices_of(groups, gradients.comm().world_size()));
    try {
      impl.attach(&gradients.comm(), read, groups);
    } catch (...) {
      if (is_new) gradients.collect();
      throw;
    }
  });
}

gradstep_status gradstep_optimizer_poll(gradstep_optimizer* optimizer, int32_t* done) noexcept {
  return with(optimizer, [&](Optimizer& impl) { check_out("done", done) = impl.site().is_idle() ? 1 : 0; });
}
