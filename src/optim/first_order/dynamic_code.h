// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// The codes of saved states that do not name theirs: the dynamic code of Dettmers, Lewis, Shleifer and Zettlemoyer
// 2022, "8-bit optimizers via block-wise quantization", which gradstep kept 8-bit state in before kernels/block_code.h.
#pragma once

#include <cstddef>
#include <cstdint>

namespace gradstep {

/// Decodes `count` codes of whole blocks, the last may be shorter, and encodes the numbers as kernels::BlockCode.
/// `factors` are f32, one a block, finite; neither input need be aligned.
void recode_dynamic(const std::byte* codes, const std::byte* factors, std::int64_t count, bool is_signed,
                    std::uint8_t* new_codes, float* new_factors);

}  // namespace gradstep
