// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace gradstep {

/// "a, b, c" for the names that `name(item)` gives.
template <class Items, class Name>
std::string join(const Items& items, const char* separator, Name&& name) {
  std::string text;
  bool first = true;
  for (const auto& item : items) {
    if (!first) text.append(separator);
    text.append(name(item));
    first = false;
  }
  return text;
}

template <class Items>
std::string join(const Items& items, const char* separator) {
  return join(items, separator, [](const char* item) { return item; });
}

/// The place of the first byte that is not part of UTF-8 (RFC 3629); the length if there is none.
std::size_t utf8_prefix(std::string_view text);

}  // namespace gradstep
