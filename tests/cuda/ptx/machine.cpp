// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "cuda/ptx/machine.h"

#include <algorithm>
#include <cstring>

namespace gradstep::ptx {

namespace {

/// Blocks that are under way at once.
constexpr std::size_t kResident = 3;

std::string what(Access how) {
  switch (how) {
    case Access::read:
      return "a read";
    case Access::write:
      return "a write";
    default:
      return "an atomic operation";
  }
}

bool lies_in(std::uintptr_t address, std::size_t bytes, const std::byte* begin, std::size_t size) {
  const auto first = reinterpret_cast<std::uintptr_t>(begin);
  return address >= first && address - first <= size && bytes <= size - (address - first);
}

/// Results of a shuffle or a vote that all lanes have come to.
void exchange(Thread* const* lanes, int count) {
  const Instruction& instruction = lanes[0]->current();
  const Function* function = lanes[0]->frame->function;
  const bool is_vote = instruction.exchange == Exchange::ballot;
  std::uint64_t values[kWarp] = {};
  std::uint64_t votes = 0;
  for (int lane = 0; lane < count; ++lane) {
    const Thread& own = *lanes[lane];
    if (own.frame->function != function || &own.current() != &instruction) {
      own.fail(own.current(), "threads of a warp exchange values in different places");
    }
    const auto members = static_cast<std::uint32_t>(own.read(instruction.from[is_vote ? 1 : 3]));
    if (members != 0xffffffffU) own.fail(instruction, "an exchange of some threads");
    values[lane] = own.read(instruction.from[0]);
    votes |= (values[lane] & 1) << lane;
  }
  for (int lane = 0; lane < count; ++lane) {
    Thread& own = *lanes[lane];
    own.state = State::ready;
    ++own.exchanges;
    if (is_vote) {
      own.write(instruction.to[0], votes);
      continue;
    }
    // The PTX ISA's words: c has the last lane of a segment, and which bits of a lane's number choose the segment.
    const auto b = static_cast<int>(own.read(instruction.from[1]) & 31);
    const auto c = static_cast<int>(own.read(instruction.from[2]));
    const int segment = c >> 8 & 31;
    const int last = (lane & segment) | (c & 31 & ~segment);
    const bool is_butterfly = instruction.exchange == Exchange::butterfly;
    const int wanted = is_butterfly ? lane ^ b : (lane & segment) | (b & ~segment);
    const bool is_there = wanted <= last;
    const int source = is_there ? wanted : lane;
    if (source >= count) own.fail(instruction, "a value of a lane that is not there");
    own.write(instruction.to[0], static_cast<std::uint32_t>(values[source]));
    own.write(instruction.to[1], is_there ? 1 : 0);
  }
}

}  // namespace

std::uint64_t Thread::read_other(const Operand& operand) const {
  switch (operand.kind) {
    case Operand::Kind::special:
      return special[operand.index];
    case Operand::Kind::kernel_parameter:
      return reinterpret_cast<std::uintptr_t>(block->launch->parameters) + operand.number;
    case Operand::Kind::slot:
      return reinterpret_cast<std::uintptr_t>(frame->slots.data()) + operand.number;
    case Operand::Kind::local:
      return frame->local + operand.number;
    default:
      return operand.number;
  }
}

void Thread::fail(const Instruction& instruction, const std::string& what) const {
  throw Error(what + " (line " + std::to_string(instruction.line) + " of its PTX, in " + frame->function->name +
              ", by thread " + std::to_string(index) + " of block " + std::to_string(block->index) + ")");
}

void Thread::start(const Function& kernel) {
  state = State::ready;
  carry = false;
  exchanges = 0;
  depth = 0;
  knowledge = {};
  told = {};
  fenced = {};
  has_fenced = false;
  enter(kernel);
}

void Thread::enter(const Function& function) {
  const std::size_t local_begin = depth == 0 ? 0 : frame->local + frame->function->local_bytes;
  if (depth == frames.size()) frames.emplace_back();
  frame = &frames[depth++];
  frame->function = &function;
  frame->next = 0;
  frame->local = local_begin;
  frame->registers.assign(function.registers, block->garbage);
  frame->slots.assign(function.slot_bytes / 8 + 1, block->garbage);
  registers = frame->registers.data();
}

void Thread::call(const Call& call) {
  const std::size_t caller = depth - 1;
  enter(*call.callee);  // which may move frames
  for (std::size_t k = 0; k < call.arguments.size(); ++k) {
    std::memcpy(reinterpret_cast<std::byte*>(frame->slots.data()) + call.callee->parameters[k].slot,
                reinterpret_cast<const std::byte*>(frames[caller].slots.data()) + call.arguments[k].slot,
                call.arguments[k].bytes);
  }
}

void Thread::end_call() {
  if (depth == 1) {
    state = State::ended;
    return;
  }
  const Frame& callee = *frame;
  frame = &frames[--depth - 1];
  registers = frame->registers.data();
  const Call& call = *current().call;
  for (std::size_t k = 0; k < call.results.size(); ++k) {
    std::memcpy(reinterpret_cast<std::byte*>(frame->slots.data()) + call.results[k].slot,
                reinterpret_cast<const std::byte*>(callee.slots.data()) + callee.function->results[k].slot,
                call.results[k].bytes);
  }
}

void Thread::run(std::uint64_t count) {
  const Instruction* const left_out = block->launch->left_out;
  for (; count > 0 && state == State::ready; --count) {
    const Instruction& instruction = frame->function->instructions[frame->next++];
    if (&instruction == left_out) continue;
    instruction.has_run = true;
    if (instruction.guard >= 0 && ((registers[instruction.guard] & 1) != 0) == instruction.runs_unless) continue;
    instruction.execute(*this, instruction);
  }
}

std::byte* Thread::access(const Instruction& instruction, std::size_t bytes, Access how, const void* written) {
  const std::uint64_t address = read(instruction.from[0]) + static_cast<std::uint64_t>(instruction.offset);
  if (address % bytes != 0)
    fail(instruction, what(how) + " of " + std::to_string(bytes) + " bytes that is not aligned");
  const auto require = [&](bool holds, const char* of) {
    if (!holds) fail(instruction, what(how) + " beyond " + of);
  };
  // Flags that several threads raise.
  const auto changes_nothing = [&](const std::byte* there) {
    return written != nullptr && std::memcmp(there, written, bytes) == 0;
  };
  const Launch& launch = *block->launch;
  const Moment now = moment();
  auto* const data = reinterpret_cast<std::byte*>(address);  // NOLINT(performance-no-int-to-ptr): PTX's addresses
  switch (instruction.space) {
    case Space::shared: {
      // The address is in a register of 32 bits.
      const std::size_t place = address & 0xffffffffU;
      require(place <= block->shared.size() && bytes <= block->shared.size() - place, "what the block shares");
      std::byte* const shared = block->shared.data() + place;
      if (!changes_nothing(shared) && !block->shared_order.note(place, bytes, how, now)) {
        fail(instruction, what(how) + " of shared memory that races with another thread's");
      }
      return shared;
    }
    case Space::local:
      require(address <= local.size() && bytes <= local.size() - address, "local memory");
      return local.data() + address;
    case Space::parameter:
      require(
          lies_in(address, bytes, launch.parameters, launch.kernel->parameter_bytes) ||
              lies_in(address, bytes, reinterpret_cast<const std::byte*>(frame->slots.data()), 8 * frame->slots.size()),
          "parameters");
      return data;
    case Space::generic:
      if (lies_in(address, bytes, local.data(), local.size())) return data;
      if (lies_in(address, bytes, launch.parameters, launch.kernel->parameter_bytes)) {
        require(how == Access::read, "what is constant");
        return data;
      }
      break;
    default:
      break;
  }
  if (how == Access::read && launch.program->has_data(address, bytes)) return data;
  require(launch.is_device_memory(data, bytes), "the device's memory");
  if (launch.amounts != nullptr) block->traffic.note(index, instruction, address, bytes);
  if (how == Access::atomic) meet(address);
  if (!changes_nothing(data) && !block->order->note(address, bytes, how, now, knowledge, block->knowledge)) {
    fail(instruction, what(how) + " of global memory that races with another thread's");
  }
  return data;
}

/// At an atomic operation: writes before the last fence are published, and what others have published is known after
/// the next.
void Thread::meet(std::uintptr_t address) {
  Knowledge& of_variable = block->order->of_variable(address);
  told.add(of_variable);
  if (has_fenced) {
    of_variable.add(fenced);
    of_variable.add(fenced_moment);
  }
}

Moment Thread::moment() const { return {static_cast<std::int32_t>(block->index), index, block->epoch, exchanges}; }

void Thread::fence() {
  has_fenced = true;
  fenced_moment = moment();
  knowledge.add(told);
  fenced = block->knowledge;
  fenced.add(knowledge);
}

void Block::start(const Launch& own, HappensBefore& all, std::int64_t number, std::minstd_rand& random) {
  launch = &own;
  order = &all;
  index = number;
  epoch = 0;
  knowledge = {};
  garbage = random() * std::uint64_t{0x9e3779b97f4a7c15U};
  shared.resize(own.program->static_shared_bytes + own.shared_bytes);
  for (std::byte& byte : shared) byte = static_cast<std::byte>(random());
  shared_order.start(shared.size());
  traffic.start();
  threads.resize(static_cast<std::size_t>(own.threads));
  for (int t = 0; t < own.threads; ++t) {
    Thread& thread = threads[static_cast<std::size_t>(t)];
    thread.block = this;
    thread.index = t;
    thread.special[kThread] = static_cast<std::uint64_t>(t);
    thread.special[kThreads] = static_cast<std::uint64_t>(own.threads);
    thread.special[kBlock] = static_cast<std::uint64_t>(number);
    thread.special[kBlocks] = static_cast<std::uint64_t>(own.blocks);
    thread.special[kLane] = static_cast<std::uint64_t>(t % kWarp);
    thread.local.assign(own.kernel->local_bytes + own.program->called_local_bytes, static_cast<std::byte>(garbage));
    thread.start(*own.kernel);
  }
}

bool Block::has_ended() const {
  return std::all_of(threads.begin(), threads.end(), [](const Thread& t) { return t.state == State::ended; });
}

void Block::release() {
  std::size_t at_barrier = 0;
  for (std::size_t first = 0; first < threads.size(); first += kWarp) {
    const std::size_t end = std::min(first + kWarp, threads.size());
    Thread* lanes[kWarp];
    int waiting = 0;
    bool is_any_ready = false;
    for (std::size_t t = first; t < end; ++t) {
      if (threads[t].state == State::at_barrier) ++at_barrier;
      if (threads[t].state == State::at_exchange) lanes[waiting++] = &threads[t];
      is_any_ready |= threads[t].state == State::ready;
    }
    if (waiting == 0 || is_any_ready) continue;
    if (static_cast<std::size_t>(waiting) != end - first) {
      lanes[0]->fail(lanes[0]->current(), "not all threads of a warp come to its exchange");
    }
    exchange(lanes, waiting);
  }
  if (at_barrier == 0) return;
  if (std::any_of(threads.begin(), threads.end(), [](const Thread& t) { return t.state == State::ready; })) return;
  if (at_barrier != threads.size()) {
    const auto waits =
        std::find_if(threads.begin(), threads.end(), [](const Thread& t) { return t.state == State::at_barrier; });
    waits->fail(waits->current(), "not all threads of a block come to its barrier");
  }
  ++epoch;
  for (Thread& thread : threads) {
    knowledge.add(thread.knowledge);
    thread.knowledge = {};
    thread.state = State::ready;
  }
}

void run(const Launch& launch) {
  if (launch.kernel->max_threads != 0 && launch.threads > launch.kernel->max_threads) {
    throw Error(launch.kernel->name + ": launched with " + std::to_string(launch.threads) + " threads, compiled for " +
                std::to_string(launch.kernel->max_threads));
  }
  std::minstd_rand random(static_cast<std::uint32_t>(launch.seed));
  std::vector<std::int64_t> waiting(static_cast<std::size_t>(launch.blocks));
  for (std::size_t b = 0; b < waiting.size(); ++b) waiting[b] = static_cast<std::int64_t>(b);
  std::shuffle(waiting.begin(), waiting.end(), random);
  HappensBefore order;
  std::vector<std::unique_ptr<Block>> resident;
  std::vector<std::unique_ptr<Block>> spare;
  std::vector<Thread*> ready;
  while (!waiting.empty() || !resident.empty()) {
    while (!waiting.empty() && resident.size() < kResident) {
      if (spare.empty()) spare.push_back(std::make_unique<Block>());
      resident.push_back(std::move(spare.back()));
      spare.pop_back();
      resident.back()->start(launch, order, waiting.back(), random);
      waiting.pop_back();
    }
    const std::size_t chosen = random() % resident.size();
    Block& block = *resident[chosen];
    ready.clear();
    for (Thread& thread : block.threads) {
      if (thread.state == State::ready) ready.push_back(&thread);
    }
    std::shuffle(ready.begin(), ready.end(), random);
    // As far as they come, and now and then a few instructions each.
    const std::uint64_t length = std::uint64_t{1} << (random() % 4 == 0 ? random() % 8 : 13);
    for (Thread* thread : ready) thread->run(length);
    block.release();
    if (!block.has_ended()) continue;
    if (launch.amounts != nullptr) block.traffic.add_to(*launch.amounts);
    spare.push_back(std::move(resident[chosen]));
    resident.erase(resident.begin() + static_cast<std::ptrdiff_t>(chosen));
  }
}

}  // namespace gradstep::ptx
