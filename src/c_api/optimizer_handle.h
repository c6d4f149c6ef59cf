// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "c_api/tensor_binding.h"
#include "core/handle.h"
#include "optim/optimizer.h"

struct gradstep_optimizer {
  static constexpr std::uint64_t kMagic = 0x47534f5054494d49;  // "GSOPTIMI"
  static constexpr const char* kName = "optimizer";

  gradstep::HandleHeader header{kMagic};
  std::shared_ptr<gradstep::Optimizer> impl;
  gradstep::StepBinding buffers;

  gradstep::BusyFlag& busy() const { return impl->busy(); }
};
