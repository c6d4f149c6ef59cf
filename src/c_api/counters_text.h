// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Statistics in the text format of Prometheus.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace gradstep {

class CountersText {
 public:
  /// `labels` go into every line, NULL = none; `of` is the first part of every name: "comm". Throws INVALID_ARGUMENT.
  CountersText(const char* of, const char* labels);

  /// What the lines after it count: gradstep_<of>_<name>_total.
  void count(const char* name, const char* help);
  void add(std::int64_t value, std::string_view labels = {});
  void add_seconds(std::int64_t nanoseconds, std::string_view labels = {});

  const std::string& text() const { return text_; }

 private:
  void add_text(const std::string& value, std::string_view labels);

  std::string of_;
  std::string labels_;
  std::string name_;
  std::string text_;
};

}  // namespace gradstep
