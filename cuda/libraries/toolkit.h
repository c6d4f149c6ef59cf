// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Which cuBLAS, cuSOLVER and NVRTC: those that the process has, as beside PyTorch or JAX; else those of the newest
// release that the driver can run. cuSOLVER is of cuBLAS's release, and looked for beside it first, for packages keep
// them in folders that no loader searches, and load cuSOLVER only when it is needed; NVRTC is looked for beside a
// cuBLAS that the process has.
#pragma once

#include "libraries/library.h"

namespace gradstep::cuda {

// All throw BACKEND_UNAVAILABLE.
Library open_cublas();
Library open_cusolver(const Library& cublas);
Library open_nvrtc();
/// The process's own.
const Library& cublas_library();

}  // namespace gradstep::cuda
