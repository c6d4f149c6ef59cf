// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "gradstep/accumulator.h"

#include "c_api/guard.h"
#include "c_api/handles.h"
#include "c_api/sparse_rows.h"
#include "core/options.h"

using namespace gradstep;

namespace {

void write_ready(int32_t* ready_out, bool ready) {
  if (ready_out != nullptr) *ready_out = ready ? 1 : 0;
}

}  // namespace

gradstep_status gradstep_accumulator_options_init(gradstep_accumulator_options* o, size_t struct_size) noexcept {
  return guarded([&] { init_struct("o", o, struct_size, default_accumulator_options()); });
}

gradstep_status gradstep_accumulator_create(gradstep_context* context, const gradstep_accumulator_options* options,
                                            const gradstep_parameter* parameters, size_t n,
                                            gradstep_accumulator** out) noexcept {
  return guarded_math([&] {
    const auto read = options != nullptr ? read_known_fields("options", options) : default_accumulator_options();
    std::optional<Schedule> steps;  // taken first: from here on its callback is released whatever happens
    if (read.schedule != nullptr) steps.emplace("options.schedule", read.schedule);
    if (options != nullptr) check_unknown_fields("options", options);
    check_out("out", out);
    hand_out(out, std::make_shared<Accumulator>(object_of(context), read, std::move(steps), Schema(parameters, n)));
  });
}

void gradstep_accumulator_destroy(gradstep_accumulator* accumulator) noexcept { destroy(accumulator); }

gradstep_status gradstep_accumulator_add(gradstep_accumulator* accumulator, const gradstep_tensor* grads, size_t n,
                                         double weight, void* stream, int32_t* ready_out) noexcept {
  return with(accumulator, [&](Accumulator& impl) {
    impl.site().use(stream);
    const BufferList& bound = accumulator->grads.bind(impl.schema(), grads, n);
    write_ready(ready_out, impl.add(bound, {}, weight));
  });
}

gradstep_status gradstep_accumulator_add_ex(gradstep_accumulator* accumulator, const gradstep_tensor* grads, size_t n,
                                            const gradstep_rows* rows, size_t n_rows, double weight, void* stream,
                                            int32_t* ready_out) noexcept {
  return with(accumulator, [&](Accumulator& impl) {
    impl.site().use(stream);
    const bool is_dense = grads != nullptr || n != 0;
    const BufferList& bound =
        is_dense ? accumulator->grads.bind(impl.schema(), grads, n) : accumulator->grads.bind_none();
    write_ready(ready_out, impl.add(bound, read_rows(impl, rows, n_rows), weight));
  });
}

gradstep_status gradstep_accumulator_flush(gradstep_accumulator* accumulator, void* stream,
                                           int32_t* ready_out) noexcept {
  return with(accumulator, [&](Accumulator& impl) {
    impl.site().use(stream);
    write_ready(ready_out, impl.flush());
  });
}

gradstep_status gradstep_accumulator_reset(gradstep_accumulator* accumulator, void* stream) noexcept {
  return with(accumulator, [&](Accumulator& impl) {
    impl.site().use(stream);
    impl.reset();
  });
}

gradstep_status gradstep_accumulator_gradients(gradstep_accumulator* accumulator, gradstep_tensor* tensors_out,
                                               size_t n, void* stream) noexcept {
  return with(accumulator, [&](Accumulator& impl) {
    impl.site().use(stream);
    impl.schema().check_count("tensors_out", tensors_out, n);
    write_views(impl.schema(), impl.results(), tensors_out);
  });
}

gradstep_status gradstep_accumulator_sums(gradstep_accumulator* accumulator, gradstep_tensor* tensors_out, size_t n,
                                          void* stream) noexcept {
  return with(accumulator, [&](Accumulator& impl) {
    impl.site().use(stream);
    impl.schema().check_count("tensors_out", tensors_out, n);
    write_views(impl.schema(), impl.sums(), tensors_out);
  });
}

gradstep_status gradstep_accumulator_weight(gradstep_accumulator* accumulator, double* weight) noexcept {
  return with(accumulator, [&](Accumulator& impl) { check_out("weight", weight) = impl.weight(); });
}

gradstep_status gradstep_accumulator_norm(gradstep_accumulator* accumulator, gradstep_tensor* tensor_out,
                                          void* stream) noexcept {
  return with(accumulator, [&](Accumulator& impl) {
    impl.site().use(stream);
    check_out("tensor_out", tensor_out);
    *tensor_out = scalar_view(impl.norm(), impl.schema().device());
  });
}

gradstep_status gradstep_accumulator_count(gradstep_accumulator* accumulator, int64_t* count) noexcept {
  return with(accumulator, [&](Accumulator& impl) { check_out("count", count) = impl.count(); });
}

gradstep_status gradstep_accumulator_skipped(gradstep_accumulator* accumulator, int64_t* skipped) noexcept {
  return with(accumulator, [&](Accumulator& impl) { check_out("skipped", skipped) = impl.skipped(); });
}

gradstep_status gradstep_accumulator_poll(gradstep_accumulator* accumulator, int32_t* done) noexcept {
  return with(accumulator, [&](Accumulator& impl) { check_out("done", done) = impl.site().is_idle() ? 1 : 0; });
}
