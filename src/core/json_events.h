// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// A base for readers of one form of JSON text, by nlohmann's events. An event that a derived class does not override is
// CORRUPT.
#pragma once

#include <nlohmann/json.hpp>

#include "core/state_header.h"

namespace gradstep {

class JsonEvents : public nlohmann::json_sax<nlohmann::json> {
 public:
  /// "its metadata 'what' is no ...".
  JsonEvents(const char* what, const char* expected) : what_(what), expected_(expected) {}

  void read(std::string_view text) { nlohmann::json::sax_parse(text.begin(), text.end(), this); }

  bool null() override { unexpected(); }
  bool boolean(bool /*value*/) override { unexpected(); }
  bool number_integer(number_integer_t /*value*/) override { unexpected(); }
  bool number_unsigned(number_unsigned_t /*value*/) override { unexpected(); }
  bool number_float(number_float_t /*value*/, const string_t& /*text*/) override { unexpected(); }
  bool string(string_t& /*value*/) override { unexpected(); }
  bool binary(binary_t& /*value*/) override { unexpected(); }
  bool start_object(std::size_t /*elements*/) override { unexpected(); }
  bool key(string_t& /*name*/) override { unexpected(); }
  bool end_object() override { unexpected(); }
  bool start_array(std::size_t /*elements*/) override { unexpected(); }
  bool end_array() override { unexpected(); }
  bool parse_error(std::size_t /*position*/, const std::string& /*token*/,
                   const nlohmann::detail::exception& /*error*/) override {
    unexpected();
  }

 protected:
  const char* what() const { return what_; }
  [[noreturn]] void unexpected() const { corrupt("its metadata '{}' is {}", what_, expected_); }

 private:
  const char* what_;
  const char* expected_;
};

}  // namespace gradstep
