// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// The engine of CUDA devices' memory, over NCCL.
#pragma once

#include "backend/plugin.h"

namespace gradstep::cuda {

extern const gradstep_plugin_device_engine kNcclEngine;

}  // namespace gradstep::cuda
