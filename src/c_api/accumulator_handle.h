// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "accumulate/accumulator.h"
#include "c_api/tensor_binding.h"
#include "core/handle.h"

struct gradstep_accumulator {
  static constexpr std::uint64_t kMagic = 0x47534143434d554c;  // "GSACCMUL"
  static constexpr const char* kName = "accumulator";

  gradstep::HandleHeader header{kMagic};
  std::shared_ptr<gradstep::Accumulator> impl;
  gradstep::TensorBinding grads{"grads", gradstep::Role::gradient};

  gradstep::BusyFlag& busy() const { return impl->busy(); }
};
