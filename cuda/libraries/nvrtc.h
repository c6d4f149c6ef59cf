// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// What is used of NVRTC, which compiles CUDA C++ while a program runs. Prototypes are those of its reference (nvrtc.h).
#pragma once

#include <cstddef>

struct nvrtc_program;  // of the library

namespace gradstep::cuda {

struct NvrtcFunctions {
  using Program = nvrtc_program*;

  int (*version)(int* major, int* minor);
  int (*count_architectures)(int* count);
  int (*list_architectures)(int* architectures);
  int (*create)(Program* program, const char* source, const char* name, int headers, const char* const* texts,
                const char* const* names);
  int (*compile)(Program program, int options, const char* const* texts);
  int (*log_bytes)(Program program, std::size_t* bytes);
  int (*log)(Program program, char* text);
  int (*cubin_bytes)(Program program, std::size_t* bytes);
  int (*cubin)(Program program, char* image);
  int (*ptx_bytes)(Program program, std::size_t* bytes);
  int (*ptx)(Program program, char* image);
  int (*destroy)(Program* program);
  const char* (*error_string)(int result);
};

/// The process's own. Throws BACKEND_UNAVAILABLE where there is no NVRTC.
const NvrtcFunctions& nvrtc_functions();

}  // namespace gradstep::cuda
