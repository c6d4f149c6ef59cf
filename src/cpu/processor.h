// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// What the processor says of itself. The compilers' own __builtin_cpu_supports is not asked: linked with the runtime of
// zig, which the wheels are built by, it says that there is nothing.
#pragma once

namespace gradstep::cpu {

/// Instructions that the processor has and whose registers the operating system saves.
struct Processor {
  bool is_intel = false;
  bool has_avx2 = false;  ///< and F16C, which is older
  bool has_fma = false;
  bool has_avx512 = false;  ///< F, BW, DQ and VL
  bool has_avx512_bf16 = false;
};

/// Asked once; from any thread, and while the library is loaded.
const Processor& processor();

}  // namespace gradstep::cpu
