// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/log.h"

#include "core/own_thread.h"

namespace gradstep {

void Log::put(gradstep_log_level level, FunctionRef<std::string()> text) noexcept {
  call_host_quietly([&] {
    if (on_own_thread) {
      const std::lock_guard lock(mutex_);
      kept_.push_back({level, text()});
      has_kept_.store(true, std::memory_order_release);
      return;
    }
    deliver();
    write_(user_, level, text().c_str());
  });
}

void Log::deliver_kept() noexcept {
  std::vector<Record> records;
  {
    const std::lock_guard lock(mutex_);
    records.swap(kept_);
    has_kept_.store(false, std::memory_order_release);
  }
  for (const Record& record : records) {
    call_host_quietly([&] { write_(user_, record.level, record.text.c_str()); });
  }
}

}  // namespace gradstep
