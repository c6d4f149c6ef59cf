// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "libraries/nvrtc.h"

#include <fmt/format.h>

#include <string>

#include "libraries/toolkit.h"

namespace gradstep::cuda {

namespace {

NvrtcFunctions find_nvrtc_functions() {
  const Library library = open_nvrtc();
  NvrtcFunctions functions{};
  library.find(functions.version, "nvrtcVersion");
  library.find(functions.count_architectures, "nvrtcGetNumSupportedArchs");
  library.find(functions.list_architectures, "nvrtcGetSupportedArchs");
  library.find(functions.create, "nvrtcCreateProgram");
  library.find(functions.compile, "nvrtcCompileProgram");
  library.find(functions.log_bytes, "nvrtcGetProgramLogSize");
  library.find(functions.log, "nvrtcGetProgramLog");
  library.find(functions.cubin_bytes, "nvrtcGetCUBINSize");
  library.find(functions.cubin, "nvrtcGetCUBIN");
  library.find(functions.ptx_bytes, "nvrtcGetPTXSize");
  library.find(functions.ptx, "nvrtcGetPTX");
  library.find(functions.destroy, "nvrtcDestroyProgram");
  library.find(functions.error_string, "nvrtcGetErrorString");
  // NVRTC opens its builtins by name alone. In the folder of a Python package no loader finds them.
  int version[2] = {};
  const std::string folder = library.folder();
  if (!folder.empty() && functions.version(&version[0], &version[1]) == 0) {
    std::string reason;
    open_shared_library(fmt::format("{}/libnvrtc-builtins.so.{}.{}", folder, version[0], version[1]).c_str(), reason);
  }
  return functions;
}

}  // namespace

const NvrtcFunctions& nvrtc_functions() {
  static const NvrtcFunctions functions = find_nvrtc_functions();
  return functions;
}

}  // namespace gradstep::cuda
