// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// An engine is a filled gradstep_comm_vtable and its user: ours (self, local, shm, gloo, mpi, nccl) and the hosts'
// alike.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>

#include "comm/call.h"
#include "core/deadline.h"
#include "core/error.h"
#include "core/fork_safe.h"
#include "core/host_callback.h"
#include "gradstep/comm.h"

struct gradstep_plugin_ring;

namespace gradstep {

class Engine {
 public:
  /// How bytes get to the other ranks.
  enum class Medium : std::uint8_t { network, memory };

  /// As gradstep_plugin_engine::split, which the table that hosts fill does not have.
  using Split = gradstep_status (*)(void* user, const std::int32_t* members, std::int32_t count,
                                    std::int64_t timeout_ms, gradstep_comm_vtable* vtable, void** group_user);

  /// From now on `*said` goes with every message of the engine, and is compared with what the peers say. It outlives
  /// the engine's use.
  using Carry = void (*)(void* user, Said* said);

  /// Collective: all ranks end with the same bits.
  using ReduceByRing = gradstep_status (*)(void* user, const gradstep_plugin_ring* ring, std::int64_t timeout_ms);

  /// What our engines have beside the table; each may be NULL.
  struct Extras {
    Split split;
    Carry carry;
    ReduceByRing reduce_by_ring;
  };

  /// Takes `user` over, and releases it once, also where this fails. Throws INVALID_ARGUMENT for a vtable that cannot
  /// work.
  static std::shared_ptr<Engine> make(std::string_view name, const gradstep_comm_vtable& vtable, void* user,
                                      Medium medium = Medium::network, const Extras& extras = {});
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  const std::string& name() const { return name_; }
  const gradstep_comm_vtable& vtable() const { return vtable_; }
  void* user() const { return user_; }
  std::int32_t rank() const { return vtable_.rank; }
  std::int32_t world_size() const { return vtable_.world_size; }
  Medium medium() const { return medium_; }
  bool shares_memory() const { return medium_ == Medium::memory; }
  bool any_thread() const { return vtable_.any_thread != 0; }
  bool point_to_point() const { return vtable_.send != nullptr; }
  /// What ranks say of their calls goes with their messages, and an engine that finds a difference fails with MISMATCH
  /// on all of them.
  bool carries_calls() const { return extras_.carry != nullptr; }
  /// What this rank says: set it before each call.
  Said& said() { return said_; }
  /// Whether it takes a message of the receiver's for the sender of another to hear what the receiver calls.
  bool needs_answers() const { return carries_calls() && !said_.senders_hear; }
  /// False where it only gathers.
  bool can_exchange() const { return point_to_point() || vtable_.exchange != nullptr || world_size() == 1; }
  /// A gradstep engine for networks, whose calls wait for messages on their way.
  bool is_over_network() const { return carries_calls() && !shares_memory() && world_size() > 1; }

  /// Whether memory of this type of device can be given to its functions.
  bool reaches(std::int32_t device_type) const {
    return device_type != GRADSTEP_DEVICE_CPU && (vtable_.device_types >> device_type & 1U) != 0;
  }

  /// Throws if the engine says that it is of no more use.
  void check() const;

  /// Makes calls in progress return, if the engine can. Any thread; further calls of abort do nothing.
  void abort() noexcept;
  bool aborted() const noexcept { return aborted_.load(std::memory_order_acquire); }

  /// A second channel between the same ranks (collective), or this one where the engine has no dup.
  static std::shared_ptr<Engine> dup(const std::shared_ptr<Engine>& engine, const Deadline& deadline);

  bool can_split() const { return extras_.split != nullptr; }
  /// A channel of the group's own, whose rank i is rank members[i] here; NULL for a rank that is in no group.
  /// Collective among all ranks. Needs can_split().
  std::shared_ptr<Engine> split(std::span<const std::int32_t> members, const Deadline& deadline) const;

  bool has_ring() const { return extras_.reduce_by_ring != nullptr; }
  /// Needs has_ring(). Returns its status.
  gradstep_status reduce_by_ring(const gradstep_plugin_ring& ring, std::int64_t timeout_ms) const {
    return extras_.reduce_by_ring(user_, &ring, timeout_ms);
  }

  /// One collective at a time per user; communicators that share an engine wait for each other here.
  class Use {
   public:
    Use(Engine& engine, const Deadline& deadline);
    ~Use();
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;

   private:
    Engine& engine_;
  };

 private:
  Engine(std::string_view name, const gradstep_comm_vtable& vtable, Medium medium, const Extras& extras)
      : name_(name), vtable_(vtable), medium_(medium), extras_(extras) {}

  struct Turn {
    std::mutex mutex;
    std::condition_variable freed;
    bool taken = false;
  };

  std::string name_;
  gradstep_comm_vtable vtable_;
  void* user_ = nullptr;
  bool has_user_ = false;
  Medium medium_;
  Extras extras_;
  Said said_;
  std::atomic<bool> aborted_{false};
  ForkSafe<Turn> turn_{std::in_place};
};

/// Throws what `status`, returned by the engine's function `what`, stands for. The text is the thread's last error.
[[noreturn]] void throw_engine_error(const Engine& engine, const char* what, gradstep_status status);

/// Runs one function of the engine: call(timeout_ms) returns its status. Throws TIMEOUT if no time is left.
template <class Call>
void call_engine(const Engine& engine, const char* what, const Deadline& deadline, Call&& call) {
  if (engine.aborted()) fail(GRADSTEP_ERR_ABORTED, "{}: {}: the channel was aborted", engine.name(), what);
  const std::int64_t left = deadline.remaining_ms();
  if (left == 0) fail(GRADSTEP_ERR_TIMEOUT, "{}: {}: the deadline passed", engine.name(), what);
  set_last_error("");
  gradstep_status status = GRADSTEP_OK;
  try {
    status = call(left);
  } catch (const std::exception& thrown) {
    fail(GRADSTEP_ERR_CALLBACK, "{}: {} threw: {}", engine.name(), what, thrown.what());
  } catch (...) {
    fail(GRADSTEP_ERR_CALLBACK, "{}: {} threw an exception of an unknown type", engine.name(), what);
  }
  if (status != GRADSTEP_OK) throw_engine_error(engine, what, status);
}

}  // namespace gradstep
