// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "rules/text/lexer.h"

#include <fmt/format.h>

#include <charconv>

#include "core/error.h"
#include "core/text.h"
#include "rules/text/limits.h"

namespace gradstep::rules::text {

namespace {

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {}

  std::vector<Token> run() {
    for (skip(); at_ < text_.size(); skip()) take();
    end_line();
    tokens_.push_back({Token::Kind::text_end, {}, 0, place_});
    return std::move(tokens_);
  }

 private:
  char peek(std::size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }

  void advance(std::size_t bytes) {
    at_ += bytes;
    place_.column += static_cast<int>(bytes);
  }

  /// Blanks, comments and ends of lines.
  void skip() {
    while (at_ < text_.size()) {
      const char c = peek();
      if (c == '#') {
        while (at_ < text_.size() && peek() != '\n') advance(1);
      } else if (c == '\n') {
        if (open_ == 0) end_line();
        advance(1);
        ++place_.line;
        place_.column = 1;
      } else if (c == ' ' || c == '\t' || c == '\r') {
        advance(1);
      } else {
        return;
      }
    }
  }

  void end_line() {
    if (tokens_.empty() || tokens_.back().kind == Token::Kind::line_end) return;
    tokens_.push_back({Token::Kind::line_end, {}, 0, place_});
  }

  void take() {
    const char c = peek();
    if (is_letter(c)) return take_name();
    if (is_digit(c) || (c == '.' && is_digit(peek(1)))) return take_number();
    take_symbol();
  }

  void append(Token::Kind kind, std::size_t bytes, double number = 0) {
    tokens_.push_back({kind, text_.substr(at_, bytes), number, place_});
    advance(bytes);
  }

  void take_name() {
    std::size_t bytes = 1;
    while (is_letter(peek(bytes)) || is_digit(peek(bytes))) ++bytes;
    if (bytes > kMostNameBytes) {
      fail_at(place_, fmt::format("expected a name of at most {} bytes, found one of {}", kMostNameBytes, bytes));
    }
    append(Token::Kind::name, bytes);
  }

  void take_number() {
    const char* const begin = text_.data() + at_;
    double number = 0;
    const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), number);
    const auto bytes = static_cast<std::size_t>(end - begin);
    if (error != std::errc{}) {
      fail_at(place_, fmt::format("expected a number that a double holds, found '{}'", text_.substr(at_, bytes)));
    }
    if (is_letter(peek(bytes)) || peek(bytes) == '.') {
      fail_at(place_, fmt::format("expected a number, found '{}'", text_.substr(at_, bytes + 1)));
    }
    append(Token::Kind::number, bytes, number);
  }

  void take_symbol() {
    static constexpr std::string_view kSymbols[] = {"<=", ">=", "==", "!=", "=", "<", ">", "+", "-",
                                                    "*",  "/",  "^",  "(",  ")", "[", "]", ",", ";"};
    for (const std::string_view symbol : kSymbols) {
      if (text_.substr(at_, symbol.size()) != symbol) continue;
      if (symbol == "(" || symbol == "[") ++open_;
      if ((symbol == ")" || symbol == "]") && open_ > 0) --open_;
      return append(Token::Kind::symbol, symbol.size());
    }
    const char c = peek();
    const bool is_printed = c > ' ' && c <= '~';
    fail_at(place_, fmt::format("expected a name, a number or an operator, found {}",
                                is_printed ? fmt::format("'{}'", c)
                                           : fmt::format("the byte {:#04x}", static_cast<unsigned char>(c))));
  }

  std::string_view text_;
  std::size_t at_ = 0;
  int open_ = 0;  // parentheses and brackets
  Place place_;
  std::vector<Token> tokens_;
};

}  // namespace

std::string Token::shown() const {
  switch (kind) {
    case Kind::line_end:
      return "the end of the line";
    case Kind::text_end:
      return "the end of the text";
    default:
      return fmt::format("'{}'", text);
  }
}

void fail_at(Place place, const std::string& what) {
  fail_argument("text: line {}, column {}: {}", place.line, place.column, what);
}

std::vector<Token> tokens_of(std::string_view text) {
  if (const std::size_t good = utf8_prefix(text); good < text.size()) {
    fail_argument("text: byte {} is not UTF-8", good);
  }
  return Lexer(text).run();
}

std::string canonical(std::string_view text) {
  std::string words;
  for (const Token& token : tokens_of(text)) {
    words += token.text;
    words += token.kind == Token::Kind::line_end ? '\n' : ' ';
  }
  return words;
}

}  // namespace gradstep::rules::text
