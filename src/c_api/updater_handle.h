// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "c_api/tensor_binding.h"
#include "core/handle.h"
#include "updater/updater.h"

struct gradstep_updater {
  static constexpr std::uint64_t kMagic = 0x4753555044415445;  // "GSUPDATE"
  static constexpr const char* kName = "updater";

  gradstep::HandleHeader header{kMagic};
  std::shared_ptr<gradstep::Updater> impl;
  gradstep::StepBinding buffers;
  gradstep::TensorBinding params{"params", gradstep::Role::parameter};  // of calls without gradients

  gradstep::BusyFlag& busy() const { return impl->busy(); }
};
