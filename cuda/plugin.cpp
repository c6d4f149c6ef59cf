// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// libgradstep_cuda.so: the one exported function, and the errors that the library throws for it.
#include "backend/plugin.h"

#include <cstring>

#include "backend.h"
#include "comm/nccl_engine.h"
#include "core/error.h"
#include "gradstep_build_id.h"
#include "runtime/own_stream.h"

namespace gradstep {

namespace {

const gradstep_plugin_host_api* host_api = nullptr;

const gradstep_plugin_backend kBackend = {
    GRADSTEP_DEVICE_CUDA, 0,
    [](const std::shared_ptr<Allocator>& allocator, std::int32_t device) {
      return cuda::make_backend(allocator, device).release();
    },
    [](std::int32_t device) -> void* { return cuda::OwnStream(device).release(); },
    [](std::int32_t device, void* stream) { cuda::OwnStream::destroy(device, static_cast<cudaStream_t>(stream)); }};

}  // namespace

void throw_error(gradstep_status status, std::string text) {
  host_api->fail(status, text.c_str());
  std::terminate();  // it has thrown
}

gradstep_status translate_exception() noexcept { return host_api->translate(); }

}  // namespace gradstep

extern "C" __attribute__((visibility("default"))) gradstep_status
gradstep_plugin_entry(const char* build_id, const gradstep_plugin_host_api* host, gradstep_plugin_api* plugin,
                      const char** plugin_build_id) {
  *plugin_build_id = GRADSTEP_BUILD_ID;
  if (std::strcmp(build_id, GRADSTEP_BUILD_ID) != 0) return GRADSTEP_ERR_INVALID_ARGUMENT;
  gradstep::host_api = host;
  plugin->backend = &gradstep::kBackend;
  plugin->device_engine = &gradstep::cuda::kNcclEngine;
  return GRADSTEP_OK;
}
