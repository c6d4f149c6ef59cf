// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "c_api/tensor_binding.h"
#include "core/handle.h"
#include "reduce/reducer.h"

struct gradstep_reducer {
  static constexpr std::uint64_t kMagic = 0x4753524544554345;  // "GSREDUCE"
  static constexpr const char* kName = "reducer";

  gradstep::HandleHeader header{kMagic};
  std::shared_ptr<gradstep::Reducer> impl;
  gradstep::TensorBinding grads{"grads", gradstep::Role::gradient};
  gradstep::TensorBinding results{"results", gradstep::Role::gradient};

  gradstep::BusyFlag& busy() const { return impl->busy(); }
};
