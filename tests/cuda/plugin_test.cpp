// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// The plugin as nvcc builds it, as a host sees it where there is no GPU: a clear error, and a process that goes on.
// Where there is one, what the plugin computes is looked at by bits_cuda.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "detached/parameter_of.h"
#include "gradstep/gradstep.h"

namespace gradstep::test {
namespace {

void check(gradstep_status status) { ASSERT_EQ(status, GRADSTEP_OK) << gradstep_last_error(); }

gradstep_status create_sgd(gradstep_context* context, gradstep_device device, gradstep_optimizer** optimizer) {
  const std::int64_t size = 3;
  const gradstep_parameter parameter = parameter_of(size, device);
  gradstep_sgd_options options{};
  check(gradstep_sgd_options_init(&options, sizeof options));
  options.learning_rate = 1;
  return gradstep_optimizer_create_sgd(context, &options, &parameter, 1, optimizer);
}

TEST(CudaPlugin, WithoutAGpuSaysWhatTheDriverSaysAndLeavesTheProcessAsItWas) {
  setenv("GRADSTEP_PLUGIN_DIR", GRADSTEP_TEST_PLUGIN_DIR, 1);
  if (gradstep_backend_available("cuda") != 0) GTEST_SKIP() << "there is a GPU";
  char text[512];
  std::size_t length = sizeof text;
  check(gradstep_backend_status("cuda", text, sizeof text, &length));
  EXPECT_NE(std::string(text).find("CUDA has no device: "), std::string::npos) << text;

  gradstep_context* context = nullptr;
  check(gradstep_context_create(nullptr, &context));
  gradstep_optimizer* optimizer = nullptr;
  for (int k = 0; k < 2; ++k) {
    EXPECT_EQ(create_sgd(context, {GRADSTEP_DEVICE_CUDA, 0}, &optimizer), GRADSTEP_ERR_BACKEND_UNAVAILABLE);
    EXPECT_NE(std::string(gradstep_last_error()).find("parameters[0]: is on cuda:0: CUDA has no device: "),
              std::string::npos)
        << gradstep_last_error();
    EXPECT_EQ(optimizer, nullptr);
  }
  check(create_sgd(context, {GRADSTEP_DEVICE_CPU, 0}, &optimizer));
  gradstep_optimizer_destroy(optimizer);
  gradstep_context_destroy(context);
}

}  // namespace
}  // namespace gradstep::test
