// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "c_api/counters_text.h"

#include <fmt/core.h>

#include "core/error.h"

namespace gradstep {

CountersText::CountersText(const char* of, const char* labels) : of_(of), labels_(labels == nullptr ? "" : labels) {
  if (labels_.find_first_of("\r\n{}") != std::string::npos) {
    fail_argument("labels: '{}' has a line break or a brace, expected name=\"value\",...", labels_);
  }
}

void CountersText::count(const char* name, const char* help) {
  name_ = fmt::format("gradstep_{}_{}_total", of_, name);
  text_ += fmt::format("# HELP {0} {1}\n# TYPE {0} counter\n", name_, help);
}

void CountersText::add(std::int64_t value, std::string_view labels) { add_text(std::to_string(value), labels); }

void CountersText::add_seconds(std::int64_t nanoseconds, std::string_view labels) {
  add_text(fmt::format("{}.{:09}", nanoseconds / 1'000'000'000, nanoseconds % 1'000'000'000), labels);
}

void CountersText::add_text(const std::string& value, std::string_view labels) {
  std::string all(labels);
  if (!all.empty() && !labels_.empty()) all += ',';
  all += labels_;
  text_ += all.empty() ? fmt::format("{} {}\n", name_, value) : fmt::format("{}{{{}}} {}\n", name_, all, value);
}

}  // namespace gradstep
