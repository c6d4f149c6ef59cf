// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace gradstep {

/// Bytes that cannot be guessed, from the system: for secrets, and for names in folders that others may write to. At
/// most 256. Throws IO.
void fill_random(void* bytes, std::size_t size);

}  // namespace gradstep
