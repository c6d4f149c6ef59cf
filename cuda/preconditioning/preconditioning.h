// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Shampoo on a CUDA device. Blocks of one size are gathered side by side, and a phase is a few launches for all of
// them.
#pragma once

#include <memory>

#include "backend/preconditioning.h"
#include "core/memory.h"

namespace gradstep::cuda {

/// Throws BACKEND_UNAVAILABLE where there is no cuBLAS or no cuSOLVER.
std::unique_ptr<Preconditioning> make_preconditioning(int device, const std::shared_ptr<Memory>& memory);

}  // namespace gradstep::cuda
