// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/engine.h"

#include <string_view>

#include "comm/gather_stages.h"

namespace gradstep {

namespace {

void check_vtable(const gradstep_comm_vtable& vtable) {
  if (vtable.world_size < 1) fail_argument("vtable.world_size: is {}, expected 1 or more", vtable.world_size);
  if (vtable.rank < 0 || vtable.rank >= vtable.world_size) {
    fail_argument("vtable.rank: is {}, expected 0 to {}", vtable.rank, vtable.world_size - 1);
  }
  if ((vtable.send == nullptr) != (vtable.recv == nullptr)) {
    fail_argument("vtable.{}: is NULL, but vtable.{} is given: give both or none",
                  vtable.send == nullptr ? "send" : "recv", vtable.send == nullptr ? "recv" : "send");
  }
  if (vtable.send_recv != nullptr && vtable.send == nullptr) {
    fail_argument("vtable.send_recv: is given without vtable.send and vtable.recv");
  }
  if (vtable.all_gather == nullptr && vtable.send == nullptr) fail_argument("vtable.all_gather: is NULL");
}

}  // namespace

std::shared_ptr<Engine> Engine::make(std::string_view name, const gradstep_comm_vtable& vtable, void* user,
                                     Medium medium, const Extras& extras) {
  std::shared_ptr<Engine> engine;
  try {
    check_vtable(vtable);
    engine.reset(new Engine(name, vtable, medium, extras));
  } catch (...) {
    if (vtable.release != nullptr) call_host_quietly([&] { vtable.release(user); });
    throw;
  }
  engine->user_ = user;
  engine->has_user_ = true;
  if (extras.carry != nullptr) extras.carry(user, &engine->said_);
  return engine;
}

Engine::~Engine() {
  if (has_user_ && vtable_.release != nullptr) call_host_quietly([this] { vtable_.release(user_); });
}

void Engine::abort() noexcept {
  if (turn_.in_forked_child() || aborted_.exchange(true, std::memory_order_acq_rel)) return;
  if (any_thread() && vtable_.abort != nullptr) call_host_quietly([this] { vtable_.abort(user_); });
}

void Engine::check() const {
  if (vtable_.poll == nullptr) return;
  set_last_error("");
  const gradstep_status status = call_host("poll", [this] { return vtable_.poll(user_); });
  if (status != GRADSTEP_OK) throw_engine_error(*this, "poll", status);
}

std::shared_ptr<Engine> Engine::dup(const std::shared_ptr<Engine>& engine, const Deadline& deadline) {
  if (engine->vtable_.dup == nullptr) return engine;
  gradstep_comm_vtable vtable{};
  vtable.struct_size = sizeof vtable;
  void* user = nullptr;
  call_engine(*engine, "dup", deadline,
              [&](std::int64_t timeout_ms) { return engine->vtable_.dup(engine->user_, timeout_ms, &vtable, &user); });
  auto copy = Engine::make(engine->name_, vtable, user, engine->medium_, engine->extras_);
  if (copy->rank() != engine->rank() || copy->world_size() != engine->world_size()) {
    fail(GRADSTEP_ERR_MISMATCH, "{}: dup gave rank {} of {}, expected rank {} of {}", engine->name_, copy->rank(),
         copy->world_size(), engine->rank(), engine->world_size());
  }
  return copy;
}

std::shared_ptr<Engine> Engine::split(std::span<const std::int32_t> members, const Deadline& deadline) const {
  gradstep_comm_vtable vtable{};
  vtable.struct_size = sizeof vtable;
  void* user = nullptr;
  call_engine(*this, "split", deadline, [&](std::int64_t timeout_ms) {
    return extras_.split(user_, members.data(), static_cast<std::int32_t>(members.size()), timeout_ms, &vtable, &user);
  });
  if (members.empty()) return nullptr;
  return Engine::make(name_, vtable, user, medium_, extras_);
}

Engine::Use::Use(Engine& engine, const Deadline& deadline) : engine_(engine) {
  std::unique_lock lock(engine_.turn_->mutex);
  if (!engine_.turn_->freed.wait_until(lock, deadline.time(), [&] { return !engine_.turn_->taken; })) {
    fail(GRADSTEP_ERR_TIMEOUT, "{}: another communicator held the shared channel until the deadline", engine_.name());
  }
  engine_.turn_->taken = true;
}

Engine::Use::~Use() {
  {
    const std::lock_guard lock(engine_.turn_->mutex);
    engine_.turn_->taken = false;
  }
  engine_.turn_->freed.notify_one();
}

void throw_engine_error(const Engine& engine, const char* what, gradstep_status status) {
  const bool known = status_name(status) != std::string_view("GRADSTEP_ERR_UNKNOWN") && status < 0;
  const std::string text = last_error();
  if (!known) {
    fail(GRADSTEP_ERR_CALLBACK, "{}: {} returned the unknown status {}{}{}", engine.name(), what, status,
         text.empty() ? "" : ": ", text);
  }
  fail(status, "{}: {}: {}", engine.name(), what, text.empty() ? status_name(status) : text);
}

std::int32_t gather_rounds(const Engine& engine, std::int64_t bytes) {
  return engine.is_over_network() ? gather_stages(engine.world_size(), bytes) : 1;
}

}  // namespace gradstep
