// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "detached/detached_backend.h"

#include <sys/mman.h>

#include <exception>
#include <utility>
#include <vector>

#include "core/error.h"

namespace gradstep::test {

namespace {

constexpr std::size_t kSpace = std::size_t{1} << 32;  // of addresses; memory is taken as it is used
constexpr std::size_t kPage = 4096;

constexpr std::size_t rounded(std::size_t bytes, std::size_t to) { return (bytes + to - 1) / to * to; }

}  // namespace

ClosedMemory::ClosedMemory()
    : begin_(static_cast<std::byte*>(
          mmap(nullptr, kSpace, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0))) {
  if (begin_ == MAP_FAILED) fail(GRADSTEP_ERR_OUT_OF_MEMORY, "no address space for a detached device");
}

ClosedMemory::~ClosedMemory() { munmap(begin_, kSpace); }

void* ClosedMemory::allocate(std::size_t bytes) {
  if (bytes == 0) return nullptr;
  const std::lock_guard lock(mutex_);
  ++allocations_;
  const std::size_t size = rounded(bytes, kAlignment);
  if (const auto found = free_.find(size); found != free_.end()) {
    std::byte* data = found->second;
    free_.erase(found);
    return data;
  }
  if (used_ + size > kSpace) fail(GRADSTEP_ERR_OUT_OF_MEMORY, "a detached device has no {} bytes", bytes);
  std::byte* data = begin_ + used_;
  used_ += size;
  if (open_ > 0) mprotect(begin_, rounded(used_, kPage), PROT_READ | PROT_WRITE);
  return data;
}

void ClosedMemory::deallocate(void* data, std::size_t bytes) noexcept {
  if (data == nullptr) return;
  if (before_deallocation) before_deallocation();
  const std::lock_guard lock(mutex_);
  free_.emplace(rounded(bytes, kAlignment), static_cast<std::byte*>(data));
}

void ClosedMemory::open() {
  const std::lock_guard lock(mutex_);
  if (open_++ == 0) mprotect(begin_, rounded(used_, kPage), PROT_READ | PROT_WRITE);
}

void ClosedMemory::close() {
  const std::lock_guard lock(mutex_);
  if (--open_ == 0) mprotect(begin_, rounded(used_, kPage), PROT_NONE);
}

class DetachedBackend::WorkQueue final : public Queue {
 public:
  explicit WorkQueue(DetachedBackend& backend) : Queue(/*is_host=*/false), backend_(backend) {}

  Event record() override;
  void wait(const Event& event) override {
    put([] {}, event);
  }
  void finish() override {
    backend_.wait_for(*this);
    if (failure_ != nullptr) std::rethrow_exception(std::exchange(failure_, nullptr));
  }
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

  void put(std::function<void()> work, const Event& after = {}) {
    const std::lock_guard lock(backend_.mutex_);
    pending_.push_back({std::move(work), after});
    ++asked_;
  }
  bool is_empty() const { return pending_.empty(); }
  bool is_ready() const { return !is_empty() && pending_.front().after.is_reached(); }
  std::int64_t asked() const { return asked_; }
  std::int64_t done() const { return asked_ - static_cast<std::int64_t>(pending_.size()); }

  void do_first() {
    const Work first = std::move(pending_.front());
    try {
      first.work();
    } catch (...) {
      if (failure_ == nullptr) failure_ = std::current_exception();
    }
    pending_.pop_front();
  }

 private:
  struct Work {
    std::function<void()> work;
    Event after;
  };

  DetachedBackend& backend_;
  std::deque<Work> pending_;
  std::int64_t asked_ = 0;
  std::exception_ptr failure_;
};

class DetachedBackend::Point final : public Event::Point {
 public:
  Point(const WorkQueue& queue, std::int64_t place) : queue_(queue), place_(place) {}
  bool is_reached() override { return queue_.done() >= place_; }

 private:
  const WorkQueue& queue_;
  std::int64_t place_;
};

Event DetachedBackend::WorkQueue::record() {
  const std::lock_guard lock(backend_.mutex_);
  return Event(std::make_shared<Point>(*this, asked_));
}

DetachedBackend::DetachedBackend(Backend& inner, std::uint64_t seed)
    : DeferringBackend(inner), closed_(std::make_shared<ClosedMemory>()), memory_(closed_), random_(seed) {
  closed_->before_deallocation = [this] {
    ++waits_;
    work_until([this] {
      for (const auto& [stream, queue] : queues_) {
        if (!queue->is_empty()) return false;
      }
      return true;
    });
  };
}

DetachedBackend::~DetachedBackend() { closed_->before_deallocation = nullptr; }

Queue& DetachedBackend::queue(void* stream) {
  const std::lock_guard lock(mutex_);
  std::unique_ptr<WorkQueue>& queue = queues_[stream];
  if (queue == nullptr) queue = std::make_unique<WorkQueue>(*this);
  return *queue;
}

void DetachedBackend::put_into(Queue& queue, std::function<void()> work) {
  static_cast<WorkQueue&>(queue).put(std::move(work));
}

DetachedBackend::WorkQueue* DetachedBackend::any_ready() {
  std::vector<WorkQueue*> ready;
  for (const auto& [stream, queue] : queues_) {
    if (queue->is_ready()) ready.push_back(queue.get());
  }
  return ready.empty() ? nullptr : ready[random_() % ready.size()];
}

void DetachedBackend::work_until(const std::function<bool()>& reached) {
  const std::lock_guard lock(mutex_);
  while (!reached()) {
    WorkQueue* queue = any_ready();
    if (queue == nullptr) std::terminate();  // queues that wait for each other
    closed_->open();
    queue->do_first();
    closed_->close();
    ++done_;
  }
}

void DetachedBackend::wait_for(WorkQueue& queue) {
  ++waits_;
  work_until([&queue] { return queue.is_empty(); });
}

}  // namespace gradstep::test
