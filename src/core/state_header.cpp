// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// The text is read as a stream of events: a tree of it would cost several times its memory, and nlohmann's parsers of
// trees either keep the last of two equal keys in silence or walk through all earlier ones at the end of each object.
#include "core/state_header.h"

#include <nlohmann/json.hpp>

#include "core/array.h"
#include "core/json_text.h"

namespace gradstep {

namespace {

using Json = nlohmann::json;

/// Where the reader stands. Every event that a place does not expect is an error.
enum class Place {
  before,
  header,    // in the outermost object
  metadata,  // in its "__metadata__"
  entry,     // in a tensor's object
  shape,     // in the list of that name
  data_offsets,
  after,
};

class HeaderReader final : public nlohmann::json_sax<Json> {
 public:
  StateHeader header;

  bool start_object(std::size_t /*elements*/) override {
    if (place_ == Place::before) {
      place_ = Place::header;
    } else if (place_ == Place::header && key_ == kMetadataKey) {
      place_ = Place::metadata;
    } else if (place_ == Place::header) {
      const auto [place, is_new] = header.entries.try_emplace(key_);
      if (!is_new) twice(key_);
      entry_ = &place->second;
      fields_ = {};
      place_ = Place::entry;
    } else {
      unexpected();
    }
    return true;
  }

  bool key(std::string& name) override {
    if (place_ == Place::header) {
      if (name == kMetadataKey && std::exchange(has_metadata_, true)) twice(name);
      key_ = std::move(name);
    } else if (place_ == Place::metadata) {
      name_ = std::move(name);
    } else {
      bool* field = field_of(name);
      if (field == nullptr) other_fields();
      if (std::exchange(*field, true)) twice(name);
      name_ = std::move(name);
    }
    return true;
  }

  bool end_object() override {
    if (place_ == Place::entry) {
      if (!fields_.dtype) lacks("dtype");
      if (!fields_.shape) lacks("shape");
      if (!fields_.data_offsets) lacks("data_offsets");
    }
    place_ = place_ == Place::header ? Place::after : Place::header;
    return true;
  }

  bool string(std::string& value) override {
    if (place_ == Place::metadata) {
      if (!header.metadata.try_emplace(name_, std::move(value)).second) twice(name_);
    } else if (place_ == Place::entry && name_ == "dtype") {
      entry_->type = std::move(value);
    } else {
      unexpected();
    }
    return true;
  }

  bool start_array(std::size_t /*elements*/) override {
    if (place_ != Place::entry || name_ == "dtype") unexpected();
    place_ = name_ == "shape" ? Place::shape : Place::data_offsets;
    offsets_.clear();
    return true;
  }

  bool number_unsigned(std::uint64_t value) override {
    if (place_ == Place::shape) {
      if (value > static_cast<std::uint64_t>(INT64_MAX)) corrupt("'{}' has a dimension of {}", key_, value);
      if (entry_->shape.size() == kMaxDimensions) corrupt("'{}' has more than {} dimensions", key_, kMaxDimensions);
      entry_->shape.push_back(static_cast<std::int64_t>(value));
    } else if (place_ == Place::data_offsets && offsets_.size() < 2) {
      offsets_.push_back(static_cast<std::int64_t>(std::min<std::uint64_t>(value, INT64_MAX)));
    } else {
      unexpected();
    }
    return true;
  }

  bool end_array() override {
    if (place_ == Place::data_offsets) {
      if (offsets_.size() != 2) other_fields();
      entry_->begin = offsets_[0];
      entry_->end = offsets_[1];
    }
    place_ = Place::entry;
    return true;
  }

  bool null() override { unexpected(); }
  bool boolean(bool /*value*/) override { unexpected(); }
  bool number_integer(std::int64_t /*value*/) override { unexpected(); }
  bool number_float(double /*value*/, const std::string& /*text*/) override { unexpected(); }
  bool binary(Json::binary_t& /*value*/) override { unexpected(); }

  bool parse_error(std::size_t /*position*/, const std::string& /*token*/, const Json::exception& error) override {
    corrupt("its header is not JSON: {}", error.what());
  }

 private:
  struct Fields {
    bool dtype = false;
    bool shape = false;
    bool data_offsets = false;
  };

  bool* field_of(const std::string& name) {
    if (name == "dtype") return &fields_.dtype;
    if (name == "shape") return &fields_.shape;
    return name == "data_offsets" ? &fields_.data_offsets : nullptr;
  }

  [[noreturn]] static void twice(const std::string& name) { corrupt("its header has the key '{}' twice", name); }
  [[noreturn]] void lacks(const char* field) const { corrupt("the entry '{}' has no '{}'", key_, field); }
  [[noreturn]] void other_fields() const {
    corrupt("'{}' has other fields than dtype, shape and two data_offsets", key_);
  }
  [[noreturn]] void unexpected() const {
    switch (place_) {
      case Place::before:
        corrupt("its header is no JSON object");
      case Place::header:
        if (key_ == kMetadataKey) corrupt("its metadata is no JSON object");
        corrupt("the entry '{}' is no JSON object", key_);
      case Place::metadata:
        corrupt("its metadata '{}' is no text", name_);
      case Place::shape:
        corrupt("'{}' has a shape that is no list of sizes", key_);
      default:
        other_fields();
    }
  }

  Place place_ = Place::before;
  std::string key_;   // in the outermost object
  std::string name_;  // in the one within
  bool has_metadata_ = false;
  StateHeader::Entry* entry_ = nullptr;
  Fields fields_;
  std::vector<std::int64_t> offsets_;
};

}  // namespace

/// Keys in the order of their bytes, that of the metadata among them.
std::string state_header_text(const StateHeader& header) {
  std::map<std::string_view, const StateHeader::Entry*> keys{{kMetadataKey, nullptr}};
  for (const auto& [key, entry] : header.entries) keys.emplace(key, &entry);
  std::string json;
  append_json_object(json, keys, [&](const StateHeader::Entry* entry) {
    if (entry == nullptr) {
      append_json_object(json, header.metadata, [&](const std::string& text) { append_json(json, text); });
      return;
    }
    const std::int64_t offsets[] = {entry->begin, entry->end};
    json += R"({"data_offsets":)";
    append_json(json, offsets);
    json += R"(,"dtype":)";
    append_json(json, std::string_view(entry->type));
    json += R"(,"shape":)";
    append_json(json, entry->shape);
    json += '}';
  });
  return json;
}

StateHeader read_state_header(std::string_view text) {
  HeaderReader reader;
  Json::sax_parse(text.begin(), text.end(), &reader);
  return std::move(reader.header);
}

}  // namespace gradstep
