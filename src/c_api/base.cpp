// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "gradstep/base.h"

#include <cstring>

#include "c_api/guard.h"
#include "comm/communicators.h"
#include "comm/engines/engine_table.h"
#include "core/json_text.h"
#include "cpu/cpu_backend.h"
#include "gradstep_build_id.h"

namespace gradstep {

void write_text(const std::string& text, char* buf, size_t cap, size_t* len) {
  const size_t needed = text.size() + 1;
  if (buf == nullptr && cap == 0) {
    if (len != nullptr) *len = needed;
    return;
  }
  if (buf == nullptr) fail_argument("buf: is NULL with cap = {}", cap);
  if (cap < needed) fail_argument("cap: is {}, expected at least {}", cap, needed);
  std::memcpy(buf, text.c_str(), needed);
  if (len != nullptr) *len = needed;
}

namespace {

std::string build_info_text() {
  std::string json;
  const auto text = [&](std::string_view value) { append_json(json, value); };
  json += R"({"version":)";
  text(GRADSTEP_VERSION_STRING);
  json += R"(,"abi_version":)";
  append_json(json, std::int64_t{GRADSTEP_ABI_VERSION});
  json += R"(,"build_id":)";
  text(GRADSTEP_BUILD_ID);
  json += R"(,"compiler":)";
  text(__VERSION__);
  json += R"(,"instruction_sets":)";
  append_json_list(json, cpu::compiled_instruction_sets(), text);
  json += R"(,"instruction_set":)";
  text(cpu::chosen_instruction_set());
  std::vector<std::string_view> engines;
  for (const EngineEntry& engine : kEngines) {
    if (!engine.is_choice && (kConnectsProcesses || !connects_processes(engine))) engines.push_back(engine.name);
  }
  json += R"(,"backends":["cpu"],"engines":)";
  append_json_list(json, engines, text);
  return json + "}";
}

}  // namespace
}  // namespace gradstep

using namespace gradstep;

uint32_t gradstep_abi_version(void) noexcept { return GRADSTEP_ABI_VERSION; }

const char* gradstep_version_string(void) noexcept { return GRADSTEP_VERSION_STRING; }

gradstep_status gradstep_build_info(char* buf, size_t cap, size_t* len) noexcept {
  return guarded([&] { write_text(build_info_text(), buf, cap, len); });
}

const char* gradstep_status_name(gradstep_status status) noexcept { return status_name(status); }

const char* gradstep_last_error(void) noexcept { return last_error(); }

void gradstep_set_last_error(const char* text) noexcept { set_last_error(text); }
