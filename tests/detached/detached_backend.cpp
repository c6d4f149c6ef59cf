// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "detached/detached_backend.h"

#include <utility>
#include <vector>

namespace gradstep::test {

void DetachedBackend::Device::deallocate(void* data, std::size_t bytes) noexcept {
  if (data == nullptr) return;
  work.finish_all();
  closed.deallocate(data, bytes);
}

class DetachedBackend::Point final : public Event::Point {
 public:
  Point(const WorkQueues& work, WorkQueues::Point point) : work_(work), point_(point) {}
  bool is_reached() override { return work_.is_reached(point_); }
  WorkQueues::Point point() const { return point_; }

 private:
  const WorkQueues& work_;
  WorkQueues::Point point_;
};

class DetachedBackend::WorkQueue final : public Queue {
 public:
  explicit WorkQueue(WorkQueues& work) : Queue(/*is_host=*/false), work_(work), line_(work.add()) {}

  Event record() override { return Event(std::make_shared<Point>(work_, work_.end_of(line_))); }
  void wait(const Event& event) override {
    const auto* point = static_cast<const Point*>(event.point().get());
    work_.put(line_, [] {}, point != nullptr ? point->point() : WorkQueues::Point{});
  }
  bool is_idle() override { return record().is_reached(); }
  void finish() override { work_.finish(line_); }
  void upload(void* to, const void* host, std::size_t bytes) override {
    const auto* from = static_cast<const std::byte*>(host);
    put([to, staged = std::vector<std::byte>(from, from + bytes)] {
      HostQueue().copy(to, staged.data(), staged.size());
    });
  }
  void download(void* host, const void* from, std::size_t bytes) override {
    put([host, from, bytes] { HostQueue().copy(host, from, bytes); });
    finish();
  }
  void copy(void* to, const void* from, std::size_t bytes) override {
    put([to, from, bytes] { HostQueue().copy(to, from, bytes); });
  }
  void zero(void* to, std::size_t bytes) override {
    put([to, bytes] { HostQueue().zero(to, bytes); });
  }

  void put(std::function<void()> work) { work_.put(line_, std::move(work)); }

 private:
  WorkQueues& work_;
  WorkQueues::Line& line_;
};

DetachedBackend::DetachedBackend(Backend& inner, std::uint64_t seed)
    : DeferringBackend(inner), device_(std::make_shared<Device>(seed)), memory_(device_) {}

// What has not been done works with `inner`, which may be gone before the last buffer.
DetachedBackend::~DetachedBackend() { device_->work.drop_all(); }

Queue& DetachedBackend::queue(void* stream) {
  const std::lock_guard lock(mutex_);
  std::unique_ptr<WorkQueue>& queue = queues_[stream];
  if (queue == nullptr) queue = std::make_unique<WorkQueue>(device_->work);
  return *queue;
}

void DetachedBackend::put_into(Queue& queue, std::function<void()> work) {
  static_cast<WorkQueue&>(queue).put(std::move(work));
}

}  // namespace gradstep::test
