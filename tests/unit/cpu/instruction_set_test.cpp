// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "core/error.h"
#include "cpu/processor.h"
#include "cpu_test_support.h"

namespace gradstep::test {
namespace {

#if defined(__aarch64__)
constexpr const char* kLeast = "neon";
#else
constexpr const char* kLeast = "baseline";
#endif

TEST(InstructionSet, the_least_of_the_architecture_is_always_there) {
  const std::vector<std::string> names = cpu::compiled_instruction_sets();
  EXPECT_EQ(names.front(), kLeast);
  for (const char* cap : {"baseline", "neon"}) {
    const ScopedEnvironment environment("GRADSTEP_INSTRUCTION_SET", cap);
    EXPECT_EQ(cpu::chosen_instruction_set(), kLeast) << cap;
  }
}

TEST(InstructionSet, the_variable_is_a_cap) {
  const std::vector<std::string> order = {kLeast, "avx2", "avx512"};
  const auto rank = [&](const std::string& name) {
    return std::find(order.begin(), order.end(), name) - order.begin();
  };
  for (const std::string& cap : order) {
    const ScopedEnvironment environment("GRADSTEP_INSTRUCTION_SET", cap.c_str());
    EXPECT_LE(rank(cpu::chosen_instruction_set()), rank(cap));
  }
}

TEST(InstructionSet, the_backend_says_which_it_uses) {
  for (const std::string& cap : cpu::compiled_instruction_sets()) {
    const auto context = make_cpu_context(1, cap.c_str());
    const ScopedEnvironment environment("GRADSTEP_INSTRUCTION_SET", cap.c_str());
    EXPECT_EQ(context->cpu().instruction_set(), cpu::chosen_instruction_set());
    EXPECT_STREQ(context->cpu().name(), "cpu");
  }
}

TEST(InstructionSet, an_unknown_value_is_an_argument_error_that_names_it) {
  const ScopedEnvironment environment("GRADSTEP_INSTRUCTION_SET", "sse9");
  try {
    cpu::chosen_instruction_set();
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), GRADSTEP_ERR_INVALID_ARGUMENT);
    EXPECT_NE(std::string(error.what()).find("sse9"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("avx512"), std::string::npos) << error.what();
  }
}

#if defined(__x86_64__)
TEST(InstructionSet, the_processor_is_read_as_the_compilers_runtime_reads_it) {
  __builtin_cpu_init();
  const cpu::Processor& processor = cpu::processor();
  EXPECT_EQ(processor.is_intel, __builtin_cpu_is("intel") != 0);
  EXPECT_EQ(processor.has_avx2, __builtin_cpu_supports("avx2") != 0);
  EXPECT_EQ(processor.has_fma, __builtin_cpu_supports("fma") != 0);
  EXPECT_EQ(processor.has_avx512, __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512bw") != 0 &&
                                      __builtin_cpu_supports("avx512dq") != 0 &&
                                      __builtin_cpu_supports("avx512vl") != 0);
}
#endif

}  // namespace
}  // namespace gradstep::test
