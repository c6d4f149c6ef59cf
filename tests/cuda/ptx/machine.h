// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Runs a kernel's PTX on the CPU. Threads take turns by chance, after any instruction and those of several blocks
// between each other; registers and shared memory begin as garbage. Every access is checked: that it is aligned and
// where the kernel may access, and that whatever another thread has done to the same bytes in this launch lies before
// it (happens_before.h). A program that is wrong ends in an Error that names the kernel and the line of its PTX.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <vector>

#include "cuda/ptx/happens_before.h"
#include "cuda/ptx/program.h"
#include "cuda/ptx/traffic.h"

namespace gradstep::ptx {

struct Launch {
  const Program* program = nullptr;
  const Function* kernel = nullptr;
  const std::byte* parameters = nullptr;
  std::int64_t blocks = 0;
  int threads = 0;               ///< in a block
  std::size_t shared_bytes = 0;  ///< beside what the program shares by itself
  std::uint64_t seed = 0;
  std::function<bool(const void*, std::size_t)> is_device_memory;
  const Instruction* left_out = nullptr;  ///< is not executed
  Amounts* amounts = nullptr;             ///< what is accessed is added to them
};

/// Returns when all blocks are done. Throws Error.
void run(const Launch& launch);

enum class State : std::uint8_t { ready, at_barrier, at_exchange, ended };

struct Block;

/// A function that a thread is in.
struct Frame {
  const Function* function = nullptr;
  std::uint32_t next = 0;  ///< instruction
  std::vector<std::uint64_t> registers;
  std::vector<std::uint64_t> slots;
  std::size_t local = 0;  ///< where its local memory begins
};

struct Thread {
  Block* block = nullptr;
  int index = 0;
  State state = State::ready;
  bool carry = false;
  std::uint32_t exchanges = 0;  ///< that it has taken part in
  std::uint64_t special[kSpecials] = {};
  std::vector<Frame> frames;
  std::size_t depth = 0;  ///< frames in use
  std::vector<std::byte> local;
  // What it knows of other blocks, alone of its block; what it will know after a fence; what others may know of it.
  Knowledge knowledge;
  Knowledge told;
  Knowledge fenced;
  Moment fenced_moment;
  bool has_fenced = false;
  // The frame that runs.
  Frame* frame = nullptr;
  std::uint64_t* registers = nullptr;

  std::uint64_t read(const Operand& operand) const {
    return operand.kind == Operand::Kind::reg ? registers[operand.index] : read_other(operand);
  }
  std::uint64_t read_other(const Operand& operand) const;
  void write(const Operand& to, std::uint64_t bits) {
    if (to.kind == Operand::Kind::reg) registers[to.index] = bits;
  }

  void start(const Function& kernel);
  void enter(const Function& function);
  void call(const Call& call);
  void end_call();
  /// Runs at most `count` instructions.
  void run(std::uint64_t count);
  /// The instruction that a thread waits in, or has just executed.
  const Instruction& current() const { return frame->function->instructions[frame->next - 1]; }

  /// Where `bytes` bytes at the instruction's address lie; of a write, what will be there.
  std::byte* access(const Instruction& instruction, std::size_t bytes, Access how, const void* written = nullptr);
  Moment moment() const;
  void fence();
  void meet(std::uintptr_t address);
  [[noreturn]] void fail(const Instruction& instruction, const std::string& what) const;
};

/// Its threads, and what they share.
struct Block {
  const Launch* launch = nullptr;
  HappensBefore* order = nullptr;
  std::int64_t index = 0;
  std::uint32_t epoch = 0;  ///< barriers that it has passed
  Knowledge knowledge;      ///< of other blocks, of all its threads
  std::uint64_t garbage = 0;
  std::vector<std::byte> shared;
  SharedOrder shared_order;
  Traffic traffic;
  std::vector<Thread> threads;

  void start(const Launch& own, HappensBefore& all, std::int64_t number, std::minstd_rand& random);
  /// Lets those go on whose warp, or whose block, has come.
  void release();
  bool has_ended() const;
};

}  // namespace gradstep::ptx
