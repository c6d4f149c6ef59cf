// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// The plugin, for programs that are linked with the library's own objects, and its emulated device if it has one.
#pragma once

#include <dlfcn.h>

#include <cstdlib>
#include <stdexcept>
#include <string>

#include "cuda/emulation/control.h"

namespace gradstep::test {

/// Makes the plugin of this build the one that contexts find, unless the environment names a folder: builds are carried
/// to machines with a GPU. Returns NULL where it is not built with the emulation.
inline const emulation::Control* find_emulation() {
  setenv("GRADSTEP_PLUGIN_DIR", GRADSTEP_TEST_PLUGIN_DIR, /*overwrite=*/0);
  const std::string path = std::string(std::getenv("GRADSTEP_PLUGIN_DIR")) + "/libgradstep_cuda.so";
  void* plugin = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (plugin == nullptr) throw std::runtime_error(dlerror());
  const auto find = reinterpret_cast<const emulation::Control* (*)()>(dlsym(plugin, "gradstep_cuda_emulation"));
  return find != nullptr ? find() : nullptr;
}

inline const emulation::Control& emulated_cuda() {
  static const emulation::Control* const control = find_emulation();
  if (control == nullptr) throw std::runtime_error("the plugin is not built with the emulation");
  return *control;
}

}  // namespace gradstep::test
