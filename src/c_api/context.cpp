// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "gradstep/context.h"

#include <fmt/core.h>

#include <optional>

#include "c_api/guard.h"
#include "c_api/handles.h"
#include "comm/rendezvous/launch.h"
#include "core/options.h"
#include "core/platform/system.h"
#include "core/trace.h"
#include "cpu/cpu_backend.h"

using namespace gradstep;

namespace {

/// GRADSTEP_TRACE, once.
void trace_by_environment() {
  static const bool asked = [] {
    const std::string path = platform::environment("GRADSTEP_TRACE");
    if (path.empty() || trace::is_on) return false;
    const std::optional<std::int32_t> rank = launched_rank(environment_of_process);
    trace::start(fmt::format("{}.{}.json", path, rank ? *rank : static_cast<std::int32_t>(platform::process_number())));
    return true;
  }();
  static_cast<void>(asked);
}

}  // namespace

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
    trace_by_environment();
    impl->add_backend({GRADSTEP_DEVICE_CPU, 0}, cpu::make_backend(*impl));
    hand_out(out, std::move(impl));
  });
}

void gradstep_context_destroy(gradstep_context* context) noexcept { destroy(context); }
