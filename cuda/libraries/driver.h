// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// What is used of CUDA's driver. Prototypes are those of its reference (cuda.h).
#pragma once

struct CUctx_st;  // of the driver

namespace gradstep::cuda {

struct DriverFunctions {
  int (*get_device)(int* device, int ordinal);
  int (*retain_primary_context)(CUctx_st** context, int device);
  int (*push_context)(CUctx_st* context);
  int (*pop_context)(CUctx_st** context);
};

/// The process's own. Throws BACKEND_UNAVAILABLE where there is no driver.
const DriverFunctions& driver_functions();

}  // namespace gradstep::cuda
