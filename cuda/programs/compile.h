// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// From programs to machine code.
#pragma once

#include <cstdint>
#include <string>

#include "rules/text/code.h"

namespace gradstep::cuda {

enum class ProgramKernel : std::uint8_t {
  plain,    ///< update() of items for which is_plain() is true
  staged,   ///< of any items
  measure,  ///< measure_sums()
};

/// The source of a kernel, whose name is gradstep_program.
std::string program_source(const rules::text::Code& code, bool is_double, ProgramKernel kernel);

/// What NVRTC makes of a source for devices of compute capability `major`.`minor`: machine code, or PTX of the newest
/// older architecture where it does not know that one. Throws BACKEND_UNAVAILABLE where there is no NVRTC, and DEVICE,
/// with its words, if it refuses.
std::string compile_program(const std::string& source, int major, int minor);

}  // namespace gradstep::cuda
