// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Changing stacks. The C library's way saves the signal mask each time, which is two system calls and most of what a
// switch takes; on x86-64 there is one without.
#pragma once

#include <cstddef>
#include <cstdint>

#if !defined(__x86_64__)
#include <ucontext.h>
#endif

namespace gradstep::emulation {

/// Where something that does not run goes on.
class StackPointer {
 public:
  /// On a stack of its own, at `entry`, which never returns.
  void start_at(void (*entry)(), std::byte* stack, std::size_t bytes);
  /// What runs is kept in `from`, and `to` goes on.
  static void change(StackPointer& from, StackPointer& to);

 private:
#if defined(__x86_64__)
  void* top_ = nullptr;
#else
  ucontext_t context_{};
#endif
};

#if defined(__x86_64__)

// Registers that a call keeps, and then the stack pointer.
asm(R"(
  .text
  .local gradstep_change_stack
  .type gradstep_change_stack, @function
gradstep_change_stack:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
  .size gradstep_change_stack, .-gradstep_change_stack
)");
extern "C" void gradstep_change_stack(void** from, void* to);

inline void StackPointer::start_at(void (*entry)(), std::byte* stack, std::size_t bytes) {
  auto* end = reinterpret_cast<std::uintptr_t*>((reinterpret_cast<std::uintptr_t>(stack) + bytes) / 16 * 16);
  *--end = 0;  // where entry would return to; it finds the stack as after a call
  *--end = reinterpret_cast<std::uintptr_t>(entry);
  for (int saved = 0; saved < 6; ++saved) *--end = 0;
  top_ = end;
}

inline void StackPointer::change(StackPointer& from, StackPointer& to) { gradstep_change_stack(&from.top_, to.top_); }

#else

inline void StackPointer::start_at(void (*entry)(), std::byte* stack, std::size_t bytes) {
  getcontext(&context_);
  context_.uc_stack.ss_sp = stack;
  context_.uc_stack.ss_size = bytes;
  context_.uc_link = nullptr;
  makecontext(&context_, entry, 0);
}

inline void StackPointer::change(StackPointer& from, StackPointer& to) { swapcontext(&from.context_, &to.context_); }

#endif

}  // namespace gradstep::emulation
