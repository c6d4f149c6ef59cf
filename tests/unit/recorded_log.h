// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// A context whose log is kept.
#pragma once

#include <algorithm>
#include <mutex>
#include <stdexcept>
#include <string>
#include <vector>

#include "unit/support.h"

namespace gradstep::test {

class RecordedLog {
 public:
  struct Record {
    std::int32_t level;
    std::string text;
  };

  /// A context with this log, which it may outlive no more than its handles.
  std::shared_ptr<Context> context(gradstep_log_level level = GRADSTEP_LOG_DEBUG) {
    auto options = default_context_options();
    options.num_threads = 1;
    options.log_level = level;
    options.log_user = this;
    options.log = [](void* user, std::int32_t at, const char* text) { static_cast<RecordedLog*>(user)->add(at, text); };
    auto made = std::make_shared<Context>(options);
    made->add_backend({GRADSTEP_DEVICE_CPU, 0}, cpu::make_backend(*made));
    return made;
  }

  /// How many records of the level have this part.
  std::int64_t count(gradstep_log_level level, const std::string& part) {
    const std::lock_guard lock(mutex_);
    return std::count_if(records_.begin(), records_.end(), [&](const Record& record) {
      return record.level == level && record.text.find(part) != std::string::npos;
    });
  }
  std::size_t size() {
    const std::lock_guard lock(mutex_);
    return records_.size();
  }
  /// From here on every record throws, after it was kept.
  void throw_always() { throws_ = true; }

 private:
  void add(std::int32_t level, const char* text) {
    const std::lock_guard lock(mutex_);
    records_.push_back({level, text});
    if (throws_) throw std::runtime_error("the host's log");
  }

  std::mutex mutex_;
  std::vector<Record> records_;
  bool throws_ = false;
};

}  // namespace gradstep::test
