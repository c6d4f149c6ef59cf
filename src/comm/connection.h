// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// A rank's engines, and the error that ended their use.
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "backend/context.h"
#include "comm/engine.h"

namespace gradstep {

class Connection {
 public:
  struct Status {
    gradstep_status code = GRADSTEP_OK;
    std::string text;
  };

  /// `context` and `engine` are kept; the engine may reach memory of devices, too.
  Connection(std::shared_ptr<Context> context, std::shared_ptr<Engine> engine);

  /// Equal on all ranks, and another one for each communicator: by it a timeline knows calls of one collective.
  std::int64_t number() const { return number_; }
  void set_number(std::int64_t number) { number_ = number; }
  /// A number for the next communicator that all ranks make of this one; each call gives another.
  std::int64_t next_number();
  const std::shared_ptr<Context>& context() const { return context_; }
  Engine& engine() const { return *engine_; }
  const std::shared_ptr<Engine>& shared_engine() const { return engine_; }
  /// The engine of devices' memory; NULL = only the host's memory travels. May be engine().
  const std::shared_ptr<Engine>& device_engine() const { return device_engine_; }
  void set_device_engine(std::shared_ptr<Engine> engine) { device_engine_ = std::move(engine); }
  bool has_own_device_engine() const { return device_engine_ != nullptr && device_engine_ != engine_; }
  /// The name of what carries the bytes.
  const std::string& name() const { return has_own_device_engine() ? device_engine_->name() : engine_->name(); }
  std::int32_t rank() const { return engine_->rank(); }
  std::int32_t world_size() const { return engine_->world_size(); }

  /// Throws if an engine says that it is of no more use.
  void check_engines() const;

  // The first error stays for good. Any thread.
  void throw_if_broken() const;
  Status status() const;
  void keep_first_error(gradstep_status code, std::string text) noexcept;
  /// keep_first_error(), logs it once, and makes calls of the engines in progress return.
  void break_with(gradstep_status code, std::string text) noexcept;
  /// break_with() the exception in flight.
  void break_with_current() noexcept;
  /// break_with() ABORTED if the host's interrupt asks for it. Throws nothing: what is under way works on the caller's
  /// stack, and ends when the engines are aborted.
  void poll_interrupt() noexcept;

 private:
  void log_failure() noexcept;

  std::int64_t number_ = 0;
  std::uint32_t numbered_ = 0;  // communicators, by next_number()
  std::shared_ptr<Context> context_;
  std::shared_ptr<Engine> engine_;
  std::shared_ptr<Engine> device_engine_;
  mutable std::mutex mutex_;  // guards all below
  Status status_;
  bool logged_ = false;
};

}  // namespace gradstep
