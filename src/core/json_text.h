// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// JSON with the host's names in it, as text.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "core/error.h"

namespace gradstep {

/// Throws UNSUPPORTED if a name is not UTF-8, which is all that JSON can hold.
template <class Json>
std::string json_text(const Json& json) {
  try {
    return json.dump();
  } catch (const nlohmann::json::type_error& error) {
    fail(GRADSTEP_ERR_UNSUPPORTED, "a name cannot be written: {}", error.what());
  }
}

}  // namespace gradstep
