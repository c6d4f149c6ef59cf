// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

#include "backend/context.h"
#include "cpu/cpu_backend.h"

namespace gradstep::test {

/// A host's parallel_for that runs nothing when it is called for the `failing`th time.
struct FailingLoops {
  int calls = 0;
  int failing = -1;

  std::shared_ptr<Context> make() {
    auto options = default_context_options();
    options.parallel_for_user = this;
    options.parallel_for = [](void* user, std::int64_t n, void (*body)(void*, std::int64_t),
                              void* body_user) -> gradstep_status {
      auto* own = static_cast<FailingLoops*>(user);
      if (++own->calls == own->failing) return GRADSTEP_ERR_IO;
      for (std::int64_t i = 0; i < n; ++i) body(body_user, i);
      return GRADSTEP_OK;
    };
    auto context = std::make_shared<Context>(options);
    context->add_backend({GRADSTEP_DEVICE_CPU, 0}, cpu::make_backend(*context));
    return context;
  }
};

}  // namespace gradstep::test
