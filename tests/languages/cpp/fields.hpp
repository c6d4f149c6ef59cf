// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// fields.hpp: options filled by the keys of a script's line (README.md one folder up has them).
#pragma once

#include <functional>
#include <gradstep/gradstep.hpp>
#include <map>
#include <string>

extern "C" {
#include "../c/script.h"
}

namespace languages {

/// Sets a field of Options to what a line gives under a key.
template <class Options>
using Setters = std::map<std::string, std::function<void(Options&, const script_line*, const char*)>>;

inline void read(const script_line* line, const char* key, double& to) { to = number_of(line, key, 0); }
inline void read(const script_line* line, const char* key, std::int64_t& to) { to = integer_of(line, key, 0); }
inline void read(const script_line* line, const char* key, std::int32_t& to) {
  to = static_cast<std::int32_t>(integer_of(line, key, 0));
}
inline void read(const script_line* line, const char* key, bool& to) { to = integer_of(line, key, 0) != 0; }

/// An enum's words, in the order of its numbers from 0 (field_tables.hpp).
template <class Enum>
const char* words_of();

template <class Enum>
  requires std::is_enum_v<Enum>
void read(const script_line* line, const char* key, Enum& to) {
  const char* word = value_of(line, key);
  const int place = place_in(words_of<Enum>(), word);
  if (place < 0) die(line, "%s: '%s' is none of %s", key, word, words_of<Enum>());
  to = static_cast<Enum>(place);
}

/// The setter of one field.
template <class Options, class Field>
auto field(Field Options::* member) {
  return [member](Options& options, const script_line* line, const char* key) { read(line, key, options.*member); };
}

/// The fields of Options (field_tables.hpp).
template <class Options>
const Setters<Options>& setters();

/// The options that the line gives; keys in `known` ("first,second") are others'. *count: how many fields it gives.
template <class Options>
Options options_of(const script_line* line, const char* known = "", int* count = nullptr) {
  Options options{};
  const auto& fields = setters<Options>();
  for (int k = 0; k < line->n_keys; ++k) {
    const char* key = line->keys[k];
    if (place_in("times,only,fails", key) >= 0 || place_in(known, key) >= 0) continue;
    if (std::string(key).find('.') != std::string::npos) continue;
    const auto found = fields.find(key);
    if (found == fields.end()) die(line, "there is no key '%s'", key);
    found->second(options, line, key);
    if (count != nullptr) ++*count;
  }
  return options;
}

/// The schedule that the line gives, its keys with the prefix.
gradstep::Schedule schedule_of(const script_line* line, const std::string& prefix);

}  // namespace languages
