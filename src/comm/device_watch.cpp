// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/device_watch.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/fork_generation.h"
#include "core/own_thread.h"
#include "core/thread_pool.h"

namespace gradstep {

namespace {

constexpr std::chrono::milliseconds kRound{20};

}  // namespace

/// The thread, which starts with the first ward and stays until the process ends. In a forked child there is none.
class DeviceWatch::Rounds {
 public:
  // Leaked: wards may end in static destructors.
  static Rounds& instance() {
    static auto* rounds = new Rounds;
    return *rounds;
  }

  void add(const std::shared_ptr<Ward>& ward) {
    const std::lock_guard lock(mutex_);
    wards_.push_back(ward);
    if (!started_) pthread_detach(start_thread(&Rounds::run, this));
    started_ = true;
    wake_.notify_one();
  }
  bool in_forked_child() const { return generation_ != fork_generation(); }

 private:
  static void* run(void* rounds) {
    static_cast<Rounds*>(rounds)->serve();
    return nullptr;
  }

  void serve() {
    on_own_thread = true;
    for (;;) {
      std::vector<std::shared_ptr<Ward>> present;
      {
        std::unique_lock lock(mutex_);
        std::erase_if(wards_, [](const auto& ward) { return ward.expired(); });
        if (wards_.empty()) wake_.wait(lock);
        for (const auto& ward : wards_) present.push_back(ward.lock());
      }
      for (const auto& ward : present) {
        if (ward != nullptr) ward->visit();
      }
      present.clear();
      std::this_thread::sleep_for(kRound);
    }
  }

  std::mutex mutex_;
  std::condition_variable wake_;
  std::vector<std::weak_ptr<Ward>> wards_;
  bool started_ = false;
  const std::uint32_t generation_ = fork_generation();
};

void DeviceWatch::Ward::visit() noexcept {
  const std::lock_guard lock(mutex);
  if (!end || !deadline) return;
  try {
    if (!end->is_reached()) {
      look();
      if (!deadline->passed()) return;
      gradstep::fail(GRADSTEP_ERR_TIMEOUT, "what was queued on the device was not done until the deadline");
    }
  } catch (...) {
    fail();
  }
  end.reset();
}

DeviceWatch::DeviceWatch(std::function<void()> look, std::function<void()> fail) : ward_(std::make_shared<Ward>()) {
  ward_->look = std::move(look);
  ward_->fail = std::move(fail);
  Rounds::instance().add(ward_);
}

DeviceWatch::~DeviceWatch() {
  if (!Rounds::instance().in_forked_child()) forget();
}

void DeviceWatch::expect(Event end, const Deadline& deadline) {
  const std::lock_guard lock(ward_->mutex);
  ward_->end = std::move(end);
  ward_->deadline = deadline;
}

void DeviceWatch::forget() {
  const std::lock_guard lock(ward_->mutex);
  ward_->end.reset();
}

}  // namespace gradstep
