// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace gradstep {

/// A class with bytes(), or a vector.
template <class Part>
concept SaysBytes = requires(const Part& part) { part.bytes(); } || requires(const Part& part) { part.capacity(); };

template <SaysBytes Part>
constexpr std::size_t held_bytes_of(const Part& part) {
  if constexpr (requires { part.bytes(); }) {
    return static_cast<std::size_t>(part.bytes());
  } else {
    using Element = typename Part::value_type;
    return part.capacity() * sizeof(Element);  // NOLINT(bugprone-sizeof-expression): some are pointers
  }
}

/// Bytes that the parts hold: bytes(), or the capacity of a vector.
template <SaysBytes... Parts>
constexpr std::size_t held_bytes(const Parts&... parts) {
  return (std::size_t{0} + ... + held_bytes_of(parts));
}

}  // namespace gradstep
