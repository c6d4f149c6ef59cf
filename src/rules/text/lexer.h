// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// The words of a rule that is written as text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gradstep::rules::text {

/// Where in the text. Both begin at 1; columns are bytes.
struct Place {
  int line = 1;
  int column = 1;
};

struct Token {
  enum class Kind : std::uint8_t { name, number, symbol, line_end, text_end };
  Kind kind = Kind::text_end;
  std::string_view text;  ///< of the rule's text
  double number = 0;
  Place place;

  bool is(std::string_view symbol) const { return kind == Kind::symbol && text == symbol; }
  /// As an error names it.
  std::string shown() const;
};

/// Throws INVALID_ARGUMENT: "text: line 3, column 7: expected ..., found ...".
[[noreturn]] void fail_at(Place place, const std::string& what);

/// The last one is a text_end, and the one before it a line_end. Lines go on inside parentheses and brackets; there are
/// no empty ones. Tokens point into `text`. Throws INVALID_ARGUMENT for what no token begins with, and for a text that
/// is not UTF-8.
std::vector<Token> tokens_of(std::string_view text);

/// Equal for texts that differ in comments and blanks alone.
std::string canonical(std::string_view text);

}  // namespace gradstep::rules::text
