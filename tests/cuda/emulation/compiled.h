// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Kernels as nvcc compiles them (../ptx), to be run in place of what the C++ compiler makes of the same sources:
// GRADSTEP_EMULATED_PTX is a folder with the PTX of a plugin. Into GRADSTEP_EMULATED_PTX_COVERAGE, another one, each
// process writes what has run, and into GRADSTEP_EMULATED_PTX_TRAFFIC what was read and written: ../ptx_report reads
// it.
#pragma once

#include <fstream>
#include <string>
#include <typeinfo>

#include "cuda/ptx/machine.h"

namespace gradstep::emulation {

struct CompiledKernel {
  const ptx::Program* program = nullptr;
  const ptx::Function* kernel = nullptr;
};

/// Is the folder named?
bool has_compiled_kernels();
/// What runs a kernel object of this type. Ends the program if nothing does.
CompiledKernel find_compiled_kernel(const std::type_info& type);
/// Where its accesses are counted; NULL if they are not.
ptx::Amounts* traffic_of(const ptx::Function& kernel);

/// The type of the kernel object that it runs.
std::string type_of(const ptx::Function& kernel);
/// A report of this process, in the folder that a variable of the environment names.
std::ofstream report(const char* variable);

}  // namespace gradstep::emulation
