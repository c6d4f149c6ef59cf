// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace gradstep {

/// Bytes that vectors hold, used or not.
template <class... Lists>
constexpr std::size_t list_bytes(const Lists&... lists) {
  return (std::size_t{0} + ... + (lists.capacity() * sizeof(typename Lists::value_type)));
}

}  // namespace gradstep
