// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "core/json_text.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "core/json_events.h"
#include "core/text.h"

namespace gradstep {

namespace {

/// One byte of a text in UTF-8.
void append_character(std::string& json, char c) {
  constexpr std::string_view kEscaped = "\"\\\b\f\n\r\t";
  constexpr std::string_view kLetters = "\"\\bfnrt";
  if (const std::size_t found = kEscaped.find(c); found != std::string_view::npos) {
    json += {'\\', kLetters[found]};
  } else if (static_cast<unsigned char>(c) < 0x20) {
    json += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
  } else {
    json += c;
  }
}

class ShapesReader final : public JsonEvents {
 public:
  using JsonEvents::JsonEvents;
  std::map<std::string, std::vector<std::int64_t>> shapes;

  bool start_object(std::size_t /*elements*/) override {
    if (std::exchange(has_begun_, true)) unexpected();
    return true;
  }
  bool key(std::string& name) override {
    const auto [place, is_new] = shapes.try_emplace(std::move(name));
    if (!is_new) corrupt("its metadata '{}' has the key '{}' twice", what(), place->first);
    shape_ = &place->second;
    return true;
  }
  bool start_array(std::size_t /*elements*/) override {
    if (shape_ == nullptr || std::exchange(in_list_, true)) unexpected();
    return true;
  }
  bool number_unsigned(std::uint64_t value) override {
    if (!in_list_ || value > static_cast<std::uint64_t>(INT64_MAX)) unexpected();
    shape_->push_back(static_cast<std::int64_t>(value));
    return true;
  }
  bool end_array() override {
    in_list_ = false;
    return true;
  }
  bool end_object() override { return true; }

 private:
  bool has_begun_ = false;
  bool in_list_ = false;
  std::vector<std::int64_t>* shape_ = nullptr;
};

class NamesReader final : public JsonEvents {
 public:
  using JsonEvents::JsonEvents;
  std::vector<std::string> names;

  bool start_array(std::size_t /*elements*/) override {
    if (std::exchange(has_begun_, true)) unexpected();
    return true;
  }
  bool string(std::string& value) override {
    if (!has_begun_) unexpected();
    names.push_back(std::move(value));
    return true;
  }
  bool end_array() override { return true; }

 private:
  bool has_begun_ = false;
};

}  // namespace

void append_json(std::string& json, std::string_view text) {
  if (const std::size_t at = utf8_prefix(text); at < text.size()) {
    fail(GRADSTEP_ERR_UNSUPPORTED, "a name cannot be written: byte {}, 0x{:02X}, is not UTF-8", at,
         static_cast<unsigned char>(text[at]));
  }
  json += '"';
  for (const char c : text) append_character(json, c);
  json += '"';
}

void append_json(std::string& json, std::int64_t number) { json += std::to_string(number); }

/// By the digits that all files so far have.
void append_json(std::string& json, double number) {
  char digits[64];
  if (!std::isfinite(number)) {
    json += "null";
  } else {
    json.append(digits, nlohmann::detail::to_chars(digits, digits + sizeof digits, number));
  }
}

void append_json(std::string& json, std::span<const std::int64_t> list) {
  append_json_list(json, list, [&](std::int64_t number) { append_json(json, number); });
}

std::map<std::string, std::vector<std::int64_t>> read_json_shapes(std::string_view text, const char* what) {
  ShapesReader reader(what, "no object of lists of sizes");
  reader.read(text);
  return std::move(reader.shapes);
}

std::vector<std::string> read_json_names(std::string_view text, const char* what) {
  NamesReader reader(what, "no list of names");
  reader.read(text);
  return std::move(reader.names);
}

}  // namespace gradstep
