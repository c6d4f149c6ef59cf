// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// What is printed of rules as text is CUDA C++ to the real NVRTC, where this machine has one: no GPU is needed.
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>

#include "programs/compile.h"
#include "rules/text/program.h"

cudaError_t cudaDriverGetVersion(int* version) {
  *version = 13000;
  return cudaSuccess;
}

namespace gradstep::cuda {
namespace {

/// Loads that of the loader's folders, or of scripts/cuda_toolkit, which then is the process's.
bool load_nvrtc() {
  constexpr const char* kSoname = "libnvrtc.so.13";
  if (dlopen(kSoname, RTLD_NOW | RTLD_LOCAL) != nullptr) return true;
  const std::filesystem::path libraries = GRADSTEP_TEST_TOOLKIT;
  if (!std::filesystem::exists(libraries)) return false;
  for (const auto& python : std::filesystem::directory_iterator(libraries)) {
    const auto file = python.path() / "site-packages/nvidia/cu13/lib" / kSoname;
    if (std::filesystem::exists(file) && dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL) != nullptr) return true;
  }
  return false;
}

std::shared_ptr<const rules::text::Program> everything() {
  return rules::text::Program::compile(R"(
      rule everything
      hyper learning_rate; a = 0.9
      state m, v unsigned
      m = a * m + (1 - a) * (g - mean(g))
      v = max(a * v, abs(g)) + (g <= p) + (g == m) * 2 + (g != 0) - clamp(g, -0.5, 0.5) / (1 + g^2)
      u = sign(m) * sqrt(v) + exp(-g) + log(v + 1) + abs(g)^0.3 + min(g, p) + select(g > p, m, -v)
      p = p * 0.99 - learning_rate * u * norm(p) / sqrt(model_sum(p * g)))",
                                       {});
}

TEST(Nvrtc, TakesWhatIsPrinted) {
  if (!load_nvrtc()) GTEST_SKIP() << "there is no NVRTC of CUDA 13 here; scripts/cuda_toolkit brings one";
  const auto program = everything();
  const auto expect_code = [&](bool is_double, ProgramKernel kernel) {
    const std::string image = compile_program(program_source(program->code(), is_double, kernel), 9, 0);
    EXPECT_EQ(image.substr(1, 3), "ELF");
    EXPECT_NE(image.find("gradstep_program"), std::string::npos);
  };
  // The staged one, which takes longest, is narrow for most of its length.
  expect_code(false, ProgramKernel::plain);
  expect_code(false, ProgramKernel::staged);
  expect_code(false, ProgramKernel::measure);
  expect_code(true, ProgramKernel::plain);
}

TEST(Nvrtc, MakesPtxForDevicesThatItDoesNotKnow) {
  if (!load_nvrtc()) GTEST_SKIP() << "there is no NVRTC of CUDA 13 here; scripts/cuda_toolkit brings one";
  const std::string source = program_source(everything()->code(), false, ProgramKernel::plain);
  EXPECT_NE(compile_program(source, 9, 9).find(".target sm_90"), std::string::npos);
}

}  // namespace
}  // namespace gradstep::cuda
