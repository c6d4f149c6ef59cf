// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/connection.h"

#include <utility>

#include "core/error.h"
#include "core/hash.h"

namespace gradstep {

Connection::Connection(std::shared_ptr<Context> context, std::shared_ptr<Engine> engine)
    : context_(std::move(context)), engine_(std::move(engine)) {
  if ((engine_->vtable().device_types & ~(1U << GRADSTEP_DEVICE_CPU)) != 0) device_engine_ = engine_;
}

std::int64_t Connection::next_number() {
  const std::uint64_t place[] = {static_cast<std::uint64_t>(number_), ++numbered_};
  return static_cast<std::int64_t>(hash_bytes(place, sizeof place) >> 32);
}

void Connection::check_engines() const {
  engine_->check();
  if (has_own_device_engine()) device_engine_->check();
}

void Connection::throw_if_broken() const {
  const std::lock_guard lock(mutex_);
  if (status_.code != GRADSTEP_OK) fail(status_.code, "{}", status_.text);
}

Connection::Status Connection::status() const {
  const std::lock_guard lock(mutex_);
  return status_;
}

void Connection::keep_first_error(gradstep_status code, std::string text) noexcept {
  const std::lock_guard lock(mutex_);
  if (status_.code != GRADSTEP_OK) return;
  status_.code = code;
  status_.text = std::move(text);
}

void Connection::log_failure() noexcept {
  Status status;
  {
    const std::lock_guard lock(mutex_);
    if (std::exchange(logged_, true)) return;
    status = status_;
  }
  // The caller asked for an abort.
  const auto level = status.code == GRADSTEP_ERR_ABORTED ? GRADSTEP_LOG_INFO : GRADSTEP_LOG_ERROR;
  context_->log().write(level, "communicator: rank {} of {} by engine {} is broken: {}: {}", rank(), world_size(),
                        name(), status_name(status.code), status.text);
}

void Connection::break_with(gradstep_status code, std::string text) noexcept {
  keep_first_error(code, std::move(text));
  engine_->abort();
  if (has_own_device_engine()) device_engine_->abort();
  log_failure();
}

void Connection::break_with_current() noexcept {
  const gradstep_status code = translate_exception();
  break_with(code, last_error());
}

void Connection::poll_interrupt() noexcept {
  try {
    if (context_->interrupted()) break_with(GRADSTEP_ERR_ABORTED, "the host interrupted the call");
  } catch (...) {
    break_with_current();
  }
}

}  // namespace gradstep
