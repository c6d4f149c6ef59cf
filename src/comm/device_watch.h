// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Deadlines of what is queued on a device while no call of gradstep looks after it: a host may wait for its stream by
// itself, and so may a device's driver, for memory that is given back.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>

#include "backend/queue.h"
#include "core/deadline.h"

namespace gradstep {

/// One user of queues that is looked after, by a thread of the process.
class DeviceWatch {
 public:
  /// look() throws what the work is known to have failed with. fail() makes the work end: it is called in the catch
  /// block of that, or of a TIMEOUT. Both are called on the thread of the watch.
  DeviceWatch(std::function<void()> look, std::function<void()> fail);
  /// Nothing is called afterwards.
  ~DeviceWatch();
  DeviceWatch(const DeviceWatch&) = delete;
  DeviceWatch& operator=(const DeviceWatch&) = delete;

  /// What lies before `end` must be done by the deadline, unless another deadline replaces it. Replaces what was
  /// expected.
  void expect(Event end, const Deadline& deadline);
  /// A thread watches it, or it is done.
  void forget();

 private:
  struct Ward {
    std::function<void()> look;
    std::function<void()> fail;
    std::mutex mutex;  // guards all below
    std::optional<Event> end;
    std::optional<Deadline> deadline;

    void visit() noexcept;
  };
  class Rounds;

  std::shared_ptr<Ward> ward_;
};

}  // namespace gradstep
