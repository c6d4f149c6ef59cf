// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "gradstep/reducer.h"
#include "kernels/scaled_code.h"

namespace gradstep {

gradstep_reducer_options default_reducer_options();

/// The options with everything that is unset replaced by what the mode says. Throws INVALID_ARGUMENT for a field out of
/// range, or one that the mode cannot take.
gradstep_reducer_options checked_reducer_options(const gradstep_reducer_options& options);

/// As texts name it: "sparse_topk". `mode` is valid.
const char* mode_name(std::int32_t mode);

/// Modes that send numbers in codes.
inline constexpr std::int32_t kCodedModes[] = {GRADSTEP_REDUCER_INT8, GRADSTEP_REDUCER_INT4, GRADSTEP_REDUCER_FP8_E4M3,
                                               GRADSTEP_REDUCER_FP8_E5M2};

bool is_coded(std::int32_t mode);
/// In which one of these modes sends.
kernels::NumberCode code_of(std::int32_t mode);

}  // namespace gradstep
