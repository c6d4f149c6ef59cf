// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "libraries/driver.h"

#include "libraries/library.h"

namespace gradstep::cuda {

namespace {

DriverFunctions open_driver() {
  constexpr const char* kSonames[] = {"libcuda.so.1"};
  const Library library("CUDA's driver", "a CUDA device that is not the thread's current one", kSonames);
  DriverFunctions functions{};
  library.find(functions.get_device, "cuDeviceGet");
  library.find(functions.retain_primary_context, "cuDevicePrimaryCtxRetain");
  library.find(functions.push_context, "cuCtxPushCurrent_v2");
  library.find(functions.pop_context, "cuCtxPopCurrent_v2");
  return functions;
}

}  // namespace

const DriverFunctions& driver_functions() {
  static const DriverFunctions functions = open_driver();
  return functions;
}

}  // namespace gradstep::cuda
