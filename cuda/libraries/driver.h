// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// What is used of CUDA's driver. Prototypes are those of its reference (cuda.h).
#pragma once

// Types of the driver.
struct CUctx_st;
struct CUfunc_st;
struct CUmod_st;
struct CUstream_st;

namespace gradstep::cuda {

struct DriverFunctions {
  int (*get_device)(int* device, int ordinal);
  int (*retain_primary_context)(CUctx_st** context, int device);
  int (*push_context)(CUctx_st* context);
  int (*pop_context)(CUctx_st** context);
  int (*load_module)(CUmod_st** module, const void* image);
  int (*find_kernel)(CUfunc_st** kernel, CUmod_st* module, const char* name);
  int (*launch)(CUfunc_st* kernel, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                unsigned block_y, unsigned block_z, unsigned shared_bytes, CUstream_st* stream, void** parameters,
                void** extra);
};

/// Throws OUT_OF_MEMORY or DEVICE.
void check_driver(int status, const char* call);

/// The process's own. Throws BACKEND_UNAVAILABLE where there is no driver.
const DriverFunctions& driver_functions();

}  // namespace gradstep::cuda
