// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Kernels of a few lines of PTX, with one parameter: %d0 is the address of an array.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "cuda/ptx/machine.h"

namespace gradstep::ptx {

using Memory = std::vector<std::uint64_t>;

inline std::string kernel_of(const std::string& body, const std::string& before = "") {
  return ".version 9.0\n.target sm_90\n.address_size 64\n" + before + R"(
.entry kernel(.param .u64 array)
.maxntid 256, 1, 1
{
.reg .pred %p<9>;
.reg .b16 %h<9>;
.reg .b32 %r<19>;
.reg .b64 %d<19>;
.reg .f32 %f<9>;
.reg .f64 %g<9>;
ld.param.u64 %d0, [array];
)" + body +
         "\nret;\n}\n";
}

/// A launch of its only kernel. The array's address outlives it.
inline Launch launch_of(const Program& program, const std::uint64_t& array, int threads, std::int64_t blocks = 1) {
  Launch launch;
  launch.program = &program;
  launch.kernel = program.kernels.at(0);
  launch.parameters = reinterpret_cast<const std::byte*>(&array);
  launch.blocks = blocks;
  launch.threads = threads;
  launch.shared_bytes = 1024;
  return launch;
}

inline void run_text(const std::string& text, Memory& memory, int threads = 1, std::int64_t blocks = 1,
                     std::uint64_t seed = 1) {
  const Program program = parse(text, "text");
  const std::uint64_t array = reinterpret_cast<std::uintptr_t>(memory.data());
  Launch launch = launch_of(program, array, threads, blocks);
  launch.seed = seed;
  launch.is_device_memory = [&memory](const void* data, std::size_t bytes) {
    const auto first = static_cast<std::size_t>(static_cast<const std::byte*>(data) -
                                                reinterpret_cast<const std::byte*>(memory.data()));
    return first <= 8 * memory.size() && bytes <= 8 * memory.size() - first;
  };
  run(launch);
}

/// The memory after a run.
inline Memory after(const std::string& body, Memory memory, int threads = 1, std::int64_t blocks = 1,
                    std::uint64_t seed = 1) {
  run_text(kernel_of(body), memory, threads, blocks, seed);
  return memory;
}

/// The error, "" if nothing is wrong.
inline std::string failure(const std::string& body, int threads = 1, std::int64_t blocks = 1, std::uint64_t seed = 1) {
  Memory memory(1024);
  try {
    run_text(kernel_of(body), memory, threads, blocks, seed);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace gradstep::ptx
