// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// The header of a saved state: JSON that names every tensor and says where its bytes lie.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"

namespace gradstep {

inline constexpr const char* kMetadataKey = "__metadata__";

template <class... Args>
[[noreturn]] void corrupt(fmt::format_string<Args...> format, Args&&... args) {
  fail(GRADSTEP_ERR_CORRUPT, "the saved state is damaged: {}", fmt::format(format, std::forward<Args>(args)...));
}

struct StateHeader {
  /// A tensor as the header describes it, before anything is known of its neighbours.
  struct Entry {
    std::string type;
    std::vector<std::int64_t> shape;
    std::int64_t begin = 0;
    std::int64_t end = 0;
  };

  std::map<std::string, std::string> metadata;
  std::map<std::string, Entry> entries;
};

/// The text of one. Throws UNSUPPORTED if a name is not UTF-8.
std::string state_header_text(const StateHeader& header);

/// Throws CORRUPT for anything but an object of such entries. Takes time and memory in proportion to the text.
StateHeader read_state_header(std::string_view text);

}  // namespace gradstep
