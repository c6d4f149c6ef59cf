// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "detached/work_queues.h"

#include <algorithm>
#include <utility>

namespace gradstep::test {

WorkQueues::Line& WorkQueues::add() {
  const std::lock_guard lock(mutex_);
  lines_.push_back(std::make_unique<Line>());
  return *lines_.back();
}

void WorkQueues::put(Line& line, std::function<void()> work, Point after, std::function<bool()> ready) {
  const std::lock_guard lock(mutex_);
  line.pending_.push_back({std::move(work), after, std::move(ready)});
  ++line.asked_;
  line.asker_ = std::this_thread::get_id();
}

WorkQueues::Point WorkQueues::end_of(const Line& line) const {
  const std::lock_guard lock(mutex_);
  return {&line, line.asked_};
}

bool WorkQueues::is_reached(Point point) const {
  const std::lock_guard lock(mutex_);
  return point.line == nullptr || point.line->done() >= point.place;
}

bool WorkQueues::do_one() {
  const std::lock_guard lock(mutex_);
  std::vector<Line*> ready;
  for (const auto& line : lines_) {
    if (line->is_empty() || !is_reached(line->pending_.front().after)) continue;
    const auto& is_ready = line->pending_.front().ready;
    if (is_ready == nullptr || is_ready()) ready.push_back(line.get());
  }
  if (ready.empty()) return false;
  Line& line = *ready[random_() % ready.size()];
  const Line::Work first = std::move(line.pending_.front());
  memory_.open();
  try {
    first.work();
  } catch (...) {
    if (line.failure_ == nullptr) line.failure_ = std::current_exception();
  }
  memory_.close();
  line.pending_.pop_front();
  ++done_;
  return true;
}

bool WorkQueues::is_held() const {
  const std::lock_guard lock(mutex_);
  return std::ranges::any_of(lines_, [this](const auto& line) {
    return !line->is_empty() && line->pending_.front().ready != nullptr && is_reached(line->pending_.front().after);
  });
}

void WorkQueues::work_until(const std::function<bool()>& reached) {
  const std::lock_guard lock(mutex_);
  ++waits_;
  memory_.open();
  while (!reached()) {
    if (!do_one()) std::terminate();  // queues that wait for each other
  }
  memory_.close();
}

void WorkQueues::finish(Line& line) {
  work_until([&line] { return line.is_empty(); });
  if (line.failure_ != nullptr) std::rethrow_exception(std::exchange(line.failure_, nullptr));
}

void WorkQueues::reach(Point point) {
  work_until([this, point] { return is_reached(point); });
}

bool WorkQueues::is_done_for_this_thread() const {
  const std::lock_guard lock(mutex_);
  return std::ranges::all_of(
      lines_, [](const auto& line) { return line->is_empty() || line->asker_ != std::this_thread::get_id(); });
}

void WorkQueues::finish_all() {
  work_until([this] { return std::ranges::all_of(lines_, [](const auto& line) { return line->is_empty(); }); });
}

void WorkQueues::drop_all() {
  const std::lock_guard lock(mutex_);
  for (const auto& line : lines_) line->pending_.clear();
}

}  // namespace gradstep::test
