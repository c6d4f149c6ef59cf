// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "core/handle.h"
#include "updater/updater.h"

struct gradstep_updater {
  static constexpr std::uint64_t kMagic = 0x4753555044415445;  // "GSUPDATE"
  static constexpr const char* kName = "updater";

  gradstep::HandleHeader header{kMagic};
  std::shared_ptr<gradstep::Updater> impl;

  gradstep::BusyFlag& busy() const { return impl->busy(); }
};
