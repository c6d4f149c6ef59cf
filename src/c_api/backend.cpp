// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "gradstep/backend.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "backend/plugin_loader.h"
#include "c_api/guard.h"

using namespace gradstep;

namespace {

constexpr std::array<std::string_view, 5> kBuiltIn = {"cpu", "self", "local", "shm", "host"};
constexpr std::array<std::string_view, 1> kPlugins = {"gloo"};

/// Throws unless `name` works here.
void check_available(const char* name) {
  check_out("name", name);
  if (std::find(kBuiltIn.begin(), kBuiltIn.end(), name) != kBuiltIn.end()) return;
  if (std::find(kPlugins.begin(), kPlugins.end(), name) == kPlugins.end()) {
    fail_argument("name: '{}' is unknown, expected cpu, self, local, shm, host or gloo", name);
  }
  find_plugin(name);
}

}  // namespace

gradstep_status gradstep_backend_load(const char* path) noexcept {
  return guarded([&] {
    check_out("path", path);
    load_plugin(path);
  });
}

int32_t gradstep_backend_available(const char* name) noexcept {
  try {
    check_available(name);
    return 1;
  } catch (...) {
    return 0;
  }
}

gradstep_status gradstep_backend_status(const char* name, char* buf, size_t cap, size_t* len) noexcept {
  return guarded([&] {
    std::string text = "ok";
    try {
      check_available(name);
    } catch (const Error& error) {
      if (error.status() != GRADSTEP_ERR_BACKEND_UNAVAILABLE) throw;
      text = error.what();
    }
    write_text(text, buf, cap, len);
  });
}
