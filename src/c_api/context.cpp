// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "gradstep/context.h"

#include "c_api/guard.h"
#include "c_api/handles.h"
#include "core/options.h"
#include "cpu/cpu_backend.h"

using namespace gradstep;

gradstep_status gradstep_context_options_init(gradstep_context_options* o, size_t struct_size) noexcept {
  return guarded([&] { init_struct("o", o, struct_size, default_context_options()); });
}

gradstep_status gradstep_context_create(const gradstep_context_options* options, gradstep_context** out) noexcept {
  return guarded([&] {
    const auto read = options != nullptr ? read_known_fields("options", options) : default_context_options();
    auto impl = std::make_shared<Context>(read);  // owns the callbacks: from here on every failure releases them
    if (options != nullptr) check_unknown_fields("options", options);
    check_out("out", out);
    watch_forks();
    impl->add_backend({GRADSTEP_DEVICE_CPU, 0}, cpu::make_backend(*impl));
    hand_out(out, std::move(impl));
  });
}

void gradstep_context_destroy(gradstep_context* context) noexcept { destroy(context); }
