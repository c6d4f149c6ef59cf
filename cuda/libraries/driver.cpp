// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "libraries/driver.h"

#include "core/error.h"
#include "libraries/library.h"

namespace gradstep::cuda {

namespace {

DriverFunctions open_driver() {
  constexpr const char* kSonames[] = {"libcuda.so.1"};
  const Library library("CUDA's driver", "this use of a CUDA device", kSonames);
  DriverFunctions functions{};
  library.find(functions.get_device, "cuDeviceGet");
  library.find(functions.retain_primary_context, "cuDevicePrimaryCtxRetain");
  library.find(functions.push_context, "cuCtxPushCurrent_v2");
  library.find(functions.pop_context, "cuCtxPopCurrent_v2");
  library.find(functions.load_module, "cuModuleLoadData");
  library.find(functions.find_kernel, "cuModuleGetFunction");
  library.find(functions.launch, "cuLaunchKernel");
  return functions;
}

constexpr int kOutOfMemory = 2;  // CUDA_ERROR_OUT_OF_MEMORY

}  // namespace

void check_driver(int status, const char* call) {
  if (status == 0) return;
  fail(status == kOutOfMemory ? GRADSTEP_ERR_OUT_OF_MEMORY : GRADSTEP_ERR_DEVICE, "{}: CUDA's driver's status {}", call,
       status);
}

const DriverFunctions& driver_functions() {
  static const DriverFunctions functions = open_driver();
  return functions;
}

}  // namespace gradstep::cuda
