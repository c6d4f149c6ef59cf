// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "gradstep/updater.h"

#include "c_api/guard.h"
#include "c_api/handles.h"
#include "core/options.h"

using namespace gradstep;

namespace {

void write_applied(int32_t* applied_out, bool applied) {
  if (applied_out != nullptr) *applied_out = applied ? 1 : 0;
}

}  // namespace

gradstep_status gradstep_updater_options_init(gradstep_updater_options* o, size_t struct_size) noexcept {
  return guarded([&] { init_struct("o", o, struct_size, default_updater_options()); });
}

gradstep_status gradstep_updater_create(gradstep_context* context, gradstep_optimizer* optimizer,
                                        gradstep_accumulator* accumulator, gradstep_reducer* reducer,
                                        const gradstep_updater_options* options, gradstep_updater** out) noexcept {
  return guarded_math([&] {
    check_out("out", out);
    const auto read = read_struct_or(default_updater_options(), "options", options);
    const auto step = object_of(optimizer);
    const auto accumulate = accumulator != nullptr ? object_of(accumulator) : nullptr;
    const auto reduce = reducer != nullptr ? object_of(reducer) : nullptr;
    const auto outer = read.outer != nullptr ? object_of(read.outer) : nullptr;
    hand_out(out, std::make_shared<Updater>(object_of(context), step, accumulate, reduce, read, outer));
  });
}

void gradstep_updater_destroy(gradstep_updater* updater) noexcept { destroy(updater); }

gradstep_status gradstep_updater_push(gradstep_updater* updater, const gradstep_tensor* params,
                                      const gradstep_tensor* grads, size_t n, double weight, void* stream,
                                      int32_t* applied_out) noexcept {
  return with(updater, [&](Updater& impl) {
    impl.use(stream);
    write_applied(applied_out, false);
    write_applied(applied_out, impl.push(updater->buffers.bind(impl.schema(), params, grads, nullptr, n), weight));
  });
}

gradstep_status gradstep_updater_flush(gradstep_updater* updater, const gradstep_tensor* params, size_t n, void* stream,
                                       int32_t* applied_out) noexcept {
  return with(updater, [&](Updater& impl) {
    impl.use(stream);
    write_applied(applied_out, false);
    write_applied(applied_out, impl.flush(updater->params.bind(impl.schema(), params, n, Use::write)));
  });
}

gradstep_status gradstep_updater_recover(gradstep_updater* updater, gradstep_comm* comm, const gradstep_tensor* params,
                                         size_t n, void* stream) noexcept {
  return with(updater, [&](Updater& impl) {
    impl.use(stream);
    const BufferList& bound = updater->params.bind(impl.schema(), params, n, Use::write);
    if (comm == nullptr) return impl.recover(nullptr, bound);
    const InUse use(comm);
    impl.recover(use->impl.get(), bound);
  });
}

gradstep_status gradstep_updater_poll(gradstep_updater* updater, int32_t* done) noexcept {
  return with(updater, [&](Updater& impl) { check_out("done", done) = impl.is_idle() ? 1 : 0; });
}

gradstep_status gradstep_updater_stats(gradstep_updater* updater, gradstep_updater_statistics* stats) noexcept {
  return with(updater, [&](Updater& impl) { write_struct("stats", stats, impl.stats()); });
}
