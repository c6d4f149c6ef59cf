// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "comm/communicator.h"
#include "core/handle.h"

struct gradstep_comm {
  static constexpr std::uint64_t kMagic = 0x4753434f4d4d554e;  // "GSCOMMUN"
  static constexpr const char* kName = "comm";

  gradstep::HandleHeader header{kMagic};
  std::shared_ptr<gradstep::Communicator> impl;
  gradstep::BusyFlag flag;  // of the handle: abort and status pass it by, and so do reducers and optimizers

  gradstep::BusyFlag& busy() { return flag; }
};
