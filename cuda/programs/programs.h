// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Rules that hosts have written as text, on a device: their programs are printed as CUDA C++ (rules/text/print_cuda.h)
// and compiled by NVRTC when they are first needed; what was made stays until the process ends.
#pragma once

#include <cstdint>

#include "programs/compile.h"
#include "runtime/queue.h"

struct CUfunc_st;  // of the driver

namespace gradstep::cuda {

struct UpdateArguments;   // of device/update_items.h, which kernels alone include
struct MeasureArguments;  // likewise

/// Compiles it if it is not there yet. Throws BACKEND_UNAVAILABLE where there is no NVRTC, and DEVICE, with NVRTC's
/// words, if it refuses.
CUfunc_st* compiled_program(const rules::text::Code& code, bool is_double, ProgramKernel kernel, int device);

void launch_update(const rules::text::Code& code, bool is_double, bool is_plain, const UpdateArguments& arguments,
                   std::int64_t blocks, const CudaQueue& queue);
void launch_measure(const rules::text::Code& code, bool is_double, const MeasureArguments& arguments,
                    const CudaQueue& queue);

}  // namespace gradstep::cuda
