// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// What nvcc has made of kernels, to be run without a GPU: PTX, read into instructions that know what executes them.
// Names and meanings are those of NVIDIA's "PTX ISA". Only forms that say every bit of their result are known: an
// instruction that rounds as the hardware likes, or that another compiler may contract, is an error when it is read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace gradstep::ptx {

inline constexpr int kWarp = 32;  ///< threads

struct Instruction;
struct Thread;
using Execute = void (*)(Thread&, const Instruction&);

class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

enum class Space : std::uint8_t { generic, global, shared, local, parameter };

/// What the lanes of a warp do together.
enum class Exchange : std::uint8_t { none, butterfly, index, ballot };

struct Operand {
  enum class Kind : std::uint8_t {
    none,              ///< a result that is not wanted
    number,            ///< an immediate value, the bits of a float, or the address of what a program has for good
    reg,               ///< index: of the function's registers
    special,           ///< index: a Special
    kernel_parameter,  ///< the address of a kernel's parameters, and number
    slot,              ///< the address of what functions pass each other, and number
    local              ///< an address in the local memory of the function that runs: number
  };
  Kind kind = Kind::none;
  std::uint32_t index = 0;
  std::uint64_t number = 0;
};

enum Special : std::uint32_t { kThread, kThreads, kBlock, kBlocks, kLane, kSpecials };

struct Function;

/// What a call passes: from the caller's slots to those of the callee, and back.
struct Call {
  struct Argument {
    std::size_t slot;
    std::size_t bytes;
  };
  const Function* callee = nullptr;
  std::vector<Argument> arguments;
  std::vector<Argument> results;
};

struct Instruction {
  static constexpr std::size_t kMaxTo = 4;
  static constexpr std::size_t kMaxFrom = 5;

  Execute execute = nullptr;
  Operand to[kMaxTo];
  Operand from[kMaxFrom];  ///< of a store: the address, and what is stored
  std::uint8_t to_count = 0;
  std::uint8_t from_count = 0;
  Space space = Space::generic;
  Exchange exchange = Exchange::none;
  bool runs_unless = false;  ///< the guard is true
  std::int32_t guard = -1;   ///< register of a predicate; none = always
  std::int64_t offset = 0;   ///< to the address
  std::uint32_t target = 0;  ///< of a branch: an instruction's index
  const Call* call = nullptr;
  std::uint32_t line = 0;        ///< in the PTX
  mutable bool has_run = false;  ///< in any thread
};

struct Function {
  std::string name;
  std::vector<Instruction> instructions;
  std::size_t registers = 0;
  std::size_t slot_bytes = 0;
  std::size_t local_bytes = 0;
  std::size_t parameter_bytes = 0;  ///< of a kernel
  std::vector<Call::Argument> parameters;
  std::vector<Call::Argument> results;
  std::vector<std::unique_ptr<Call>> calls;
  int max_threads = 0;  ///< in a block; 0 = not said
};

/// One file of PTX.
struct Program {
  std::map<std::string, std::unique_ptr<Function>> functions;
  std::vector<const Function*> kernels;
  struct Variable {
    std::unique_ptr<std::byte[]> data;
    std::size_t bytes;
  };
  std::vector<Variable> variables;
  std::size_t static_shared_bytes = 0;
  std::size_t called_local_bytes = 0;  ///< of all functions that kernels may call

  /// Do these bytes belong to a variable?
  bool has_data(std::uintptr_t address, std::size_t bytes) const;
};

/// Throws Error: what is not understood, and in which line of `name`.
Program parse(std::string_view text, const std::string& name);

/// What executes an instruction, by its opcode without the kind of memory; moves between a register and a vector of
/// them are mov.TYPE.pack and .unpack. NULL if it is not known.
Execute find_instruction(const std::string& opcode);

}  // namespace gradstep::ptx
