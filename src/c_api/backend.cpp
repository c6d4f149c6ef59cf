// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "gradstep/backend.h"

#include <string_view>

#include "backend/plugin_loader.h"
#include "c_api/guard.h"
#include "comm/engines/device_engine.h"
#include "comm/engines/engine_table.h"

using namespace gradstep;

namespace {

/// Throws unless `name` works here.
void check_available(const char* name) {
  check_out("name", name);
  if (std::string_view(name) == "cpu") return;
  if (std::string_view(name) == "cuda") {
    make_plugin_backend("cuda", {GRADSTEP_DEVICE_CUDA, 0}, std::make_shared<Allocator>(nullptr));
    return;
  }
  const EngineEntry* engine = find_engine(name);
  if (engine == nullptr || engine->is_choice) {
    fail_argument("name: '{}' is unknown, expected cpu, cuda, {}", name,
                  engine_names([](const EngineEntry& e) { return !e.is_choice; }));
  }
  if (engine->is_plugin) find_plugin(name);
  if (engine->name == "nccl") check_device_engine({GRADSTEP_DEVICE_CUDA, 0});
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
