// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "core/text.h"

namespace gradstep {

std::size_t utf8_prefix(std::string_view text) {
  const auto byte = [&](std::size_t at) { return at < text.size() ? static_cast<unsigned char>(text[at]) : 0U; };
  std::size_t at = 0;
  while (at < text.size()) {
    const unsigned first = byte(at);
    const unsigned second = byte(at + 1);
    const std::size_t length = first < 0x80 ? 1 : first < 0xc2 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
    if (length == 0 || first > 0xf4) return at;
    // What has a shorter form, a half of a surrogate pair, or lies beyond U+10FFFF.
    if ((first == 0xe0 && second < 0xa0) || (first == 0xed && second > 0x9f)) return at;
    if ((first == 0xf0 && second < 0x90) || (first == 0xf4 && second > 0x8f)) return at;
    for (std::size_t i = 1; i < length; ++i) {
      if ((byte(at + i) & 0xc0U) != 0x80) return at;
    }
    at += length;
  }
  return at;
}

}  // namespace gradstep
