// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace gradstep {

/// FNV-1a, 64 bits. To go on with more bytes, give what came out as `state`.
inline std::uint64_t hash_bytes(const void* data, std::size_t bytes, std::uint64_t state = 0xcbf29ce484222325U) {
  const auto* p = static_cast<const unsigned char*>(data);
  for (std::size_t i = 0; i < bytes; ++i) state = (state ^ p[i]) * 0x100000001b3U;
  return state;
}

}  // namespace gradstep
