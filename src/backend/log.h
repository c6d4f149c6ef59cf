// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// The host's log sink.
#pragma once

#include <fmt/core.h>

#include <atomic>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "core/function_ref.h"
#include "core/host_callback.h"
#include "gradstep/context.h"

namespace gradstep {

class Log {
 public:
  /// Owns options.log_user from here on.
  explicit Log(const gradstep_context_options& options)
      : write_(options.log),
        user_(options.log_user),
        level_(options.log_level),
        owner_(options.log_release, options.log_user) {}

  bool wants(gradstep_log_level level) const noexcept { return write_ != nullptr && level <= level_; }

  /// A record formatted as by fmt::format. No call fails by its record: what the host throws, and text that finds no
  /// memory, are dropped. On a thread of gradstep's own the record is kept for the next one of the host's.
  template <class... Args>
  void write(gradstep_log_level level, fmt::format_string<Args...> format, Args&&... args) noexcept {
    if (wants(level)) put(level, [&] { return fmt::format(format, std::forward<Args>(args)...); });
  }

  /// Hands over what was kept; on a thread that is inside gradstep by a call of the host's.
  void deliver() noexcept {
    if (has_kept_.load(std::memory_order_acquire)) deliver_kept();
  }

 private:
  struct Record {
    gradstep_log_level level;
    std::string text;
  };

  void put(gradstep_log_level level, FunctionRef<std::string()> text) noexcept;
  void deliver_kept() noexcept;

  void (*write_)(void* user, std::int32_t level, const char* text);
  void* user_;
  std::int32_t level_;
  CallbackOwner owner_;
  std::atomic<bool> has_kept_{false};
  std::mutex mutex_;  // guards kept_
  std::vector<Record> kept_;
};

}  // namespace gradstep
