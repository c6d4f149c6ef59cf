// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// An environment of a test's own, for what reads a launcher's variables.
#pragma once

#include <map>
#include <string>

namespace gradstep::test {

using Variables = std::map<std::string, std::string>;

/// Finds these variables and no others.
struct OwnEnvironment {
  Variables variables;
  const char* operator()(const char* name) const {
    const auto found = variables.find(name);
    return found != variables.end() ? found->second.c_str() : nullptr;
  }
};

}  // namespace gradstep::test
