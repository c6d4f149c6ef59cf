// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/plugin_loader.h"

#include <filesystem>
#include <map>
#include <mutex>

#include "core/error.h"
#include "core/platform/dynamic_library.h"
#include "core/platform/system.h"
#include "gradstep_build_id.h"

namespace gradstep {

namespace {

const gradstep_plugin_host_api kHostApi = {
    sizeof(gradstep_plugin_host_api), 0, [](const char* text) { set_last_error(text); },
    [](gradstep_status status, const char* text) { throw_error(status, text); }, [] { return translate_exception(); }};

std::filesystem::path own_directory() {
  std::error_code ignored;
  const auto path = std::filesystem::canonical(platform::path_of_library(&kHostApi), ignored);
  return ignored ? "." : path.parent_path();
}

struct Registry {
  std::mutex mutex;
  std::map<void*, gradstep_plugin_api> plugins;  // by their handles: the same file opens as the same handle
};

// Deliberately leaked: plugins stay open until the process ends, after static destructors too.
Registry& registry() {
  static auto* instance = new Registry;
  return *instance;
}

}  // namespace

const char* build_id() { return GRADSTEP_BUILD_ID; }

const gradstep_plugin_api& load_plugin(const std::string& path) {
  Registry& loaded = registry();
  const std::lock_guard lock(loaded.mutex);
  void* handle = platform::open_library(path);
  if (handle == nullptr)
    fail(GRADSTEP_ERR_BACKEND_UNAVAILABLE, "plugin '{}' cannot be opened: {}", path, platform::library_error());
  if (const auto found = loaded.plugins.find(handle); found != loaded.plugins.end()) return found->second;
  const auto entry =
      reinterpret_cast<gradstep_plugin_entry_function>(platform::find_symbol(handle, GRADSTEP_PLUGIN_ENTRY));
  if (entry == nullptr) {
    platform::close_library(handle);
    fail(GRADSTEP_ERR_BACKEND_UNAVAILABLE, "'{}' is not a gradstep plugin: it has no {}", path, GRADSTEP_PLUGIN_ENTRY);
  }
  gradstep_plugin_api api{};
  api.struct_size = sizeof api;
  const char* plugin_build_id = "unknown";
  const gradstep_status status = entry(build_id(), &kHostApi, &api, &plugin_build_id);
  if (status != GRADSTEP_OK) {
    fail(GRADSTEP_ERR_BACKEND_UNAVAILABLE, "plugin '{}' is of build {}, this libgradstep is of build {}", path,
         plugin_build_id, build_id());
  }
  return loaded.plugins.emplace(handle, api).first->second;
}

const gradstep_plugin_api& find_plugin(const std::string& name) {
  const std::string file = "libgradstep_" + name + platform::kLibrarySuffix;
  if (const std::string directory = platform::environment("GRADSTEP_PLUGIN_DIR"); !directory.empty()) {
    return load_plugin(directory + "/" + file);  // in UTF-8, as paths of <filesystem> are not everywhere
  }
  const std::filesystem::path own = own_directory();
  const auto installed = own / "gradstep" / file;  // by packages: what is not linked with is not among the libraries
  std::error_code ignored;
  const bool beside = exists(own / file, ignored) || !exists(installed, ignored);
  return load_plugin((beside ? own / file : installed).string());
}

namespace {

const gradstep_plugin_backend& backend_of(const std::string& plugin, gradstep_device device) {
  const gradstep_plugin_backend* backend = find_plugin(plugin).backend;
  if (backend == nullptr || backend->device_type != device.device_type) {
    fail(GRADSTEP_ERR_BACKEND_UNAVAILABLE, "plugin '{}' has no backend for it", plugin);
  }
  return *backend;
}

}  // namespace

std::unique_ptr<Backend> make_plugin_backend(const std::string& name, gradstep_device device,
                                             const std::shared_ptr<Allocator>& allocator) {
  return std::unique_ptr<Backend>(backend_of(name, device).create(allocator, device.device_id));
}

std::shared_ptr<void> make_own_stream(gradstep_device device) {
  if (device.device_type != GRADSTEP_DEVICE_CUDA) return nullptr;
  const gradstep_plugin_backend& backend = backend_of("cuda", device);
  return {backend.create_stream(device.device_id),
          [&backend, device](void* stream) { backend.destroy_stream(device.device_id, stream); }};
}

}  // namespace gradstep
