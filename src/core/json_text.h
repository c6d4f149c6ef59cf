// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// JSON, written as text and read as a stream of events. nlohmann's trees have no place here: where memory is short
// their destructors allocate, and end the process.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gradstep {

// Append a value. Texts with names of the host's: UNSUPPORTED if one is not UTF-8, which is all that JSON can hold.
void append_json(std::string& json, std::string_view text);
void append_json(std::string& json, std::int64_t number);
void append_json(std::string& json, double number);  // with a point or an exponent; null if it is not finite
void append_json(std::string& json, std::span<const std::int64_t> list);

/// [a, b, ...] of append(value).
template <class Values, class Append>
void append_json_list(std::string& json, const Values& values, Append append) {
  const char* before = "[";
  for (const auto& value : values) {
    json += before;
    append(value);
    before = ",";
  }
  json += *before == '[' ? "[]" : "]";
}

/// {name: value, ...} of append(name's value), in the order of the map.
template <class Map, class Append>
void append_json_object(std::string& json, const Map& map, Append append) {
  const char* before = "{";
  for (const auto& [name, value] : map) {
    json += before;
    append_json(json, std::string_view(name));
    json += ':';
    append(value);
    before = ",";
  }
  json += *before == '{' ? "{}" : "}";
}

// Throw CORRUPT, with the name `what`, for any other text.
/// {"name": [1, 2], ...}.
std::map<std::string, std::vector<std::int64_t>> read_json_shapes(std::string_view text, const char* what);
/// ["name", ...].
std::vector<std::string> read_json_names(std::string_view text, const char* what);

}  // namespace gradstep
