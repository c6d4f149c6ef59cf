// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "gradstep/reducer.h"

#include "c_api/guard.h"
#include "c_api/handles.h"
#include "c_api/host_tensor.h"
#include "core/options.h"

using namespace gradstep;

namespace {

/// results NULL = none are wanted.
const BufferList& bind_results(gradstep_reducer& reducer, const gradstep_tensor* results, size_t n) {
  return results != nullptr ? reducer.results.bind(reducer.impl->schema(), results, n, Use::write)
                            : reducer.results.bind_none();
}

}  // namespace

gradstep_status gradstep_reducer_options_init(gradstep_reducer_options* o, size_t struct_size) noexcept {
  return guarded([&] { init_struct("o", o, struct_size, default_reducer_options()); });
}

gradstep_status gradstep_reducer_create(gradstep_context* context, gradstep_comm* comm,
                                        const gradstep_reducer_options* options, const gradstep_parameter* parameters,
                                        size_t n, gradstep_reducer** out) noexcept {
  return guarded_math([&] {
    check_out("out", out);
    const auto read = read_struct_or(default_reducer_options(), "options", options);
    const InUse use(comm);
    hand_out(out, std::make_shared<Reducer>(object_of(context), *use->impl, read, Schema(parameters, n)));
  });
}

void gradstep_reducer_destroy(gradstep_reducer* reducer) noexcept { destroy(reducer); }

gradstep_status gradstep_reducer_reduce(gradstep_reducer* reducer, const gradstep_tensor* grads,
                                        const gradstep_tensor* results, size_t n, double weight,
                                        void* stream) noexcept {
  return with(reducer, [&](Reducer& impl) {
    impl.site().use(stream);
    const BufferList& bound = reducer->grads.bind(impl.schema(), grads, n);
    impl.reduce(bound, bind_results(*reducer, results, n), weight);
  });
}

gradstep_status gradstep_reducer_begin(gradstep_reducer* reducer, double weight, void* stream) noexcept {
  return with(reducer, [&](Reducer& impl) {
    impl.site().use(stream);
    impl.begin(weight);
  });
}

gradstep_status gradstep_reducer_push(gradstep_reducer* reducer, size_t index, const gradstep_tensor* grad,
                                      void* stream) noexcept {
  return with(reducer, [&](Reducer& impl) {
    impl.site().use(stream);
    const Schema& schema = impl.schema();
    if (index >= schema.size()) fail_argument("index: is {}, the schema has {} parameters", index, schema.size());
    impl.push(index, gradient_array(schema, "grad", index, check_out("grad", grad)));
  });
}

gradstep_status gradstep_reducer_wait(gradstep_reducer* reducer, const gradstep_tensor* results, size_t n,
                                      void* stream) noexcept {
  return with(reducer, [&](Reducer& impl) {
    impl.site().use(stream);
    impl.wait(bind_results(*reducer, results, n));
  });
}

gradstep_status gradstep_reducer_poll(gradstep_reducer* reducer, int32_t* done) noexcept {
  return with(reducer, [&](Reducer& impl) { check_out("done", done) = impl.is_idle() ? 1 : 0; });
}

gradstep_status gradstep_reducer_set_loss_scale(gradstep_reducer* reducer, double scale) noexcept {
  return with(reducer, [&](Reducer& impl) { impl.memory().set_loss_scale(scale); });
}

gradstep_status gradstep_reducer_cancel(gradstep_reducer* reducer) noexcept {
  return with(reducer, [](Reducer& impl) { impl.cancel(); });
}

gradstep_status gradstep_reducer_gradients(gradstep_reducer* reducer, gradstep_tensor* tensors_out, size_t n,
                                           void* stream) noexcept {
  return with(reducer, [&](Reducer& impl) {
    impl.site().use(stream);
    impl.schema().check_count("tensors_out", tensors_out, n);
    impl.layout().check_brings_all("gradients");
    write_views(impl.schema(), impl.gradients(), tensors_out);
  });
}

gradstep_status gradstep_reducer_norm(gradstep_reducer* reducer, gradstep_tensor* tensor_out, void* stream) noexcept {
  return with(reducer, [&](Reducer& impl) {
    impl.site().use(stream);
    check_out("tensor_out", tensor_out);
    impl.layout().check_brings_all("norm");
    *tensor_out = scalar_view(impl.norm(), impl.schema().device());
  });
}

gradstep_status gradstep_reducer_residual(gradstep_reducer* reducer, size_t index,
                                          gradstep_tensor* tensor_out) noexcept {
  return with(reducer, [&](Reducer& impl) {
    check_out("tensor_out", tensor_out);
    const Array residual = impl.memory().residual(index);
    *tensor_out = view_of(impl.schema(), index, residual.data, residual.dtype);
  });
}

gradstep_status gradstep_reducer_stats(gradstep_reducer* reducer, gradstep_bucket_statistics* records,
                                       size_t record_size, size_t capacity, size_t* count) noexcept {
  return with(reducer, [&](Reducer& impl) {
    check_out("count", count);
    const auto all = impl.bucket_stats();
    write_records<gradstep_bucket_statistics>(records, record_size, capacity, all);
    *count = all.size();
  });
}

gradstep_status gradstep_reducer_comm_stats(gradstep_reducer* reducer, gradstep_comm_statistics* stats) noexcept {
  return with(reducer, [&](Reducer& impl) { write_struct("stats", stats, impl.comm_stats()); });
}
