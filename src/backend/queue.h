// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// An order of work on a device. What is asked of a backend is put into a queue, and done in the order in which it was
// put there; queues among themselves are ordered by events alone.
#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <utility>

namespace gradstep {

/// A point in the work of a queue. Copies are the same point; a default one lies behind all others.
class Event {
 public:
  class Point {
   public:
    virtual ~Point() = default;
    /// Has the work before it been done? Never blocks.
    virtual bool is_reached() = 0;
  };

  Event() = default;
  explicit Event(std::shared_ptr<Point> point) : point_(std::move(point)) {}

  bool is_reached() const { return point_ == nullptr || point_->is_reached(); }
  const std::shared_ptr<Point>& point() const { return point_; }

 private:
  std::shared_ptr<Point> point_;
};

class Queue {
 public:
  explicit Queue(bool is_host) : is_host_(is_host) {}
  virtual ~Queue() = default;
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;

  /// Work is done when the call that asks for it returns, and its memory is the host's: nothing need be waited for.
  bool is_host() const { return is_host_; }
  /// The point after all that is in the queue now.
  virtual Event record() = 0;
  /// What is put in from here on begins after `event`.
  virtual void wait(const Event& event) = 0;
  /// What is put in from here on begins after all that `earlier`, of the same backend, has now.
  virtual void follow(Queue& earlier) { wait(earlier.record()); }
  /// Has all that is in the queue been done? Never blocks. A point that is recorded only to ask lies ahead for a while.
  virtual bool is_idle() = 0;
  /// Returns when all that is in the queue has been done. Throws what it failed with, once.
  virtual void finish() = 0;
  /// Throws INVALID_STATE where `what` asks for something that cannot be done now, as inside a capture.
  virtual void check_not_capturing(const char* /*what*/) const {}

  // Bytes. `to` and `from` are the backend's memory, `host` is the host's.
  /// `host` may be used again when it returns.
  virtual void upload(void* to, const void* host, std::size_t bytes) = 0;
  /// An answer to the host: returns when the bytes are there, and so all that was asked before has been done.
  virtual void download(void* host, const void* from, std::size_t bytes) = 0;
  virtual void copy(void* to, const void* from, std::size_t bytes) = 0;
  virtual void zero(void* to, std::size_t bytes) = 0;

 private:
  bool is_host_;
};

/// One number, as a download.
template <class T>
T read(Queue& queue, const T* from) {
  if (queue.is_host()) return *from;
  T value;
  queue.download(&value, from, sizeof value);
  return value;
}

template <class T>
void write(Queue& queue, T* to, const T& value) {
  if (queue.is_host()) {
    *to = value;
  } else {
    queue.upload(to, &value, sizeof value);
  }
}

/// The queue of work that is done at once, on the thread that asks for it. It has no state: one serves all.
class HostQueue final : public Queue {
 public:
  HostQueue() : Queue(/*is_host=*/true) {}
  Event record() override { return {}; }
  void wait(const Event& /*event*/) override {}
  bool is_idle() override { return true; }
  void finish() override {}
  void upload(void* to, const void* host, std::size_t bytes) override { copy(to, host, bytes); }
  void download(void* host, const void* from, std::size_t bytes) override { copy(host, from, bytes); }
  void copy(void* to, const void* from, std::size_t bytes) override {
    if (bytes > 0) std::memcpy(to, from, bytes);
  }
  void zero(void* to, std::size_t bytes) override {
    if (bytes > 0) std::memset(to, 0, bytes);
  }
};

}  // namespace gradstep
