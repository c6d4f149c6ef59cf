// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "cuda/emulation/fibers.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <random>
#include <vector>

#include "cuda/emulation/stack_switch.h"

#if defined(GRADSTEP_ANNOUNCES_STACKS)
#include <sanitizer/common_interface_defs.h>
#endif

namespace gradstep::emulation {

namespace {

constexpr std::size_t kStack = 64 * 1024;
constexpr int kWarp = 32;

enum class State : std::uint8_t { ready, at_block, at_warp, ended };

struct Fiber {
  StackPointer place;
  std::unique_ptr<std::byte[]> stack = std::make_unique<std::byte[]>(kStack);
  void* fake_stack = nullptr;
};

class Block {
 public:
  void run(int count, std::uint64_t seed, const char* kernel, const std::function<void(int)>& body);
  void wait(State where) {
    state(current_) = where;
    leave(fibers_[static_cast<std::size_t>(current_)]);
  }

 private:
  static void enter();
  void start(Fiber& fiber);
  void resume(int thread);
  void leave(Fiber& own);
  void release();
  [[noreturn]] void complain(const char* what) const;

  State& state(int thread) { return states_[static_cast<std::size_t>(thread)]; }

  std::vector<Fiber> fibers_;  // those of former blocks are used again
  std::vector<State> states_;  // of each thread
  std::vector<int> turns_;     // threads that are to run until they wait
  int count_ = 0;
  int current_ = 0;
  const char* kernel_ = "";
  const std::function<void(int)>* body_ = nullptr;
  std::exception_ptr failure_;
  StackPointer scheduler_;
  void* scheduler_fake_stack_ = nullptr;
  const void* scheduler_stack_ = nullptr;
  std::size_t scheduler_size_ = 0;
};

thread_local Block block;

void switch_to([[maybe_unused]] void** fake_stack, [[maybe_unused]] const void* bottom,
               [[maybe_unused]] std::size_t size) {
#if defined(GRADSTEP_ANNOUNCES_STACKS)
  __sanitizer_start_switch_fiber(fake_stack, bottom, size);
#endif
}

void arrived([[maybe_unused]] void* fake_stack, [[maybe_unused]] const void** bottom,
             [[maybe_unused]] std::size_t* size) {
#if defined(GRADSTEP_ANNOUNCES_STACKS)
  __sanitizer_finish_switch_fiber(fake_stack, bottom, size);
#endif
}

void Block::complain(const char* what) const {
  std::fprintf(stderr, "emulation: kernel %s: %s\n", kernel_, what);
  std::abort();
}

void Block::enter() {
  Block& self = block;
  arrived(nullptr, &self.scheduler_stack_, &self.scheduler_size_);
  try {
    (*self.body_)(self.current_);
  } catch (...) {
    if (self.failure_ == nullptr) self.failure_ = std::current_exception();
  }
  Fiber& own = self.fibers_[static_cast<std::size_t>(self.current_)];
  self.state(self.current_) = State::ended;
  switch_to(nullptr, self.scheduler_stack_, self.scheduler_size_);
  StackPointer::change(own.place, self.scheduler_);
}

void Block::start(Fiber& fiber) {
  fiber.place.start_at(&Block::enter, fiber.stack.get(), kStack);
  fiber.fake_stack = nullptr;
}

void Block::resume(int thread) {
  current_ = thread;
  Fiber& fiber = fibers_[static_cast<std::size_t>(thread)];
  switch_to(&scheduler_fake_stack_, fiber.stack.get(), kStack);
  StackPointer::change(scheduler_, fiber.place);
  arrived(scheduler_fake_stack_, nullptr, nullptr);
}

void Block::leave(Fiber& own) {
  switch_to(&own.fake_stack, scheduler_stack_, scheduler_size_);
  StackPointer::change(own.place, scheduler_);
  arrived(own.fake_stack, &scheduler_stack_, &scheduler_size_);
}

/// Lets those go on whose warp, or whose block, has come.
void Block::release() {
  int blocked = 0;
  int ended = 0;
  bool any_ready = false;
  for (int first = 0; first < count_; first += kWarp) {
    const int end = std::min(first + kWarp, count_);
    int at_warp = 0;
    for (int t = first; t < end; ++t) {
      any_ready = any_ready || state(t) == State::ready;
      at_warp += state(t) == State::at_warp ? 1 : 0;
      blocked += state(t) == State::at_block ? 1 : 0;
      ended += state(t) == State::ended ? 1 : 0;
    }
    if (at_warp == 0) continue;
    if (at_warp != end - first) complain("not all threads of a warp come to its shuffle");
    for (int t = first; t < end; ++t) state(t) = State::ready;
    any_ready = true;
  }
  if (blocked == 0 || any_ready) return;
  if (blocked + ended != count_ || ended > 0) complain("not all threads of a block come to its barrier");
  std::ranges::fill(states_, State::ready);
}

void Block::run(int count, std::uint64_t seed, const char* kernel, const std::function<void(int)>& body) {
  count_ = count;
  kernel_ = kernel;
  body_ = &body;
  failure_ = nullptr;
  while (fibers_.size() < static_cast<std::size_t>(count)) fibers_.emplace_back();
  states_.assign(static_cast<std::size_t>(count), State::ready);
  for (int t = 0; t < count; ++t) start(fibers_[static_cast<std::size_t>(t)]);
  std::minstd_rand random(static_cast<std::uint32_t>(seed));
  const auto below = [&random](std::size_t n) { return std::size_t{random()} * n >> 31; };
  // Warps that rest until the others have run ahead as far as they can, or a while.
  std::uint64_t resting = random();
  for (;;) {
    bool any = false;
    turns_.clear();
    for (int t = 0; t < count; ++t) {
      if (state(t) != State::ready) continue;
      any = true;
      if ((resting >> (t / kWarp) & 1) == 0) turns_.push_back(t);
    }
    if (!any) break;
    const bool has_run = !turns_.empty();
    while (!turns_.empty()) {
      std::swap(turns_[below(turns_.size())], turns_.back());
      resume(turns_.back());
      turns_.pop_back();
    }
    release();
    if (!has_run || below(16) == 0) resting = random();
  }
  const auto has_ended = [](State state) { return state == State::ended; };
  if (!std::ranges::all_of(states_, has_ended)) complain("its threads wait for each other");
  if (failure_ != nullptr) std::rethrow_exception(failure_);
}

}  // namespace

void run_fibers(int count, std::uint64_t seed, const char* kernel, const std::function<void(int)>& body) {
  block.run(count, seed, kernel, body);
}

void wait_for_block() { block.wait(State::at_block); }
void wait_for_warp() { block.wait(State::at_warp); }

}  // namespace gradstep::emulation
