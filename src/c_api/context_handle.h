// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "backend/context.h"
#include "core/handle.h"

struct gradstep_context {
  static constexpr std::uint64_t kMagic = 0x4753434f4e544558;  // "GSCONTEX"
  static constexpr const char* kName = "context";

  gradstep::HandleHeader header{kMagic};
  std::shared_ptr<gradstep::Context> impl;
};

namespace gradstep {

/// Creating handles on a context is allowed from several threads at once. What is returned keeps the context alive,
/// also when a callback destroys the handle meanwhile.
inline std::shared_ptr<Context> context_of(gradstep_context* context) {
  const Kept kept(context);
  return kept->impl;
}

}  // namespace gradstep
