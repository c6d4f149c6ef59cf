// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "rules/text/code.h"

namespace gradstep::rules::text {

/// A program in f32 or f64, as CUDA C++ that includes cuda/device/program.h: `gradstep::cuda::Text`, which its
/// ProgramRule takes, and `T`. Equal programs have equal sources.
std::string print_cuda(const Code& code, bool is_double);

}  // namespace gradstep::rules::text
