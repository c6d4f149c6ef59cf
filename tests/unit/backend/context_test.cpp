// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/context.h"

#include "unit/support.h"

namespace gradstep::test {
namespace {

TEST(Context, HostParallelForRunsBodiesAndItsFailureIsACallbackError) {
  struct Host {
    int calls = 0;
    int released = 0;
    gradstep_status answer = GRADSTEP_OK;
  } host;
  auto options = default_context_options();
  options.parallel_for_user = &host;
  options.parallel_for = [](void* user, std::int64_t n, void (*body)(void*, std::int64_t), void* body_user) {
    auto& h = *static_cast<Host*>(user);
    ++h.calls;
    for (std::int64_t i = n; i-- > 0;) body(body_user, i);
    return h.answer;
  };
  options.parallel_for_release = [](void* user) { ++static_cast<Host*>(user)->released; };
  {
    Context context(options);
    int sum = 0;
    context.parallel_for(10, [&](std::int64_t i) { sum += static_cast<int>(i); });
    EXPECT_EQ(sum, 45);
    EXPECT_EQ(host.calls, 1);
    host.answer = GRADSTEP_ERR_CALLBACK;
    expect_error(GRADSTEP_ERR_CALLBACK, "parallel_for", [&] { context.parallel_for(2, [](std::int64_t) {}); });
    host.answer = GRADSTEP_OK;
    expect_error(GRADSTEP_ERR_NUMERIC, "from a body",
                 [&] { context.parallel_for(4, [](std::int64_t) { fail(GRADSTEP_ERR_NUMERIC, "from a body"); }); });
  }
  EXPECT_EQ(host.released, 1);
}

/// Runs a loop of n bodies on a host that calls them as `order` says, and counts how often each was run.
std::vector<int> run_by_host(std::int64_t n, std::vector<std::int64_t> order, std::string& error) {
  auto options = default_context_options();
  options.parallel_for_user = &order;
  options.parallel_for = [](void* user, std::int64_t, void (*body)(void*, std::int64_t), void* body_user) {
    for (const std::int64_t i : *static_cast<std::vector<std::int64_t>*>(user)) body(body_user, i);
    return gradstep_status{GRADSTEP_OK};
  };
  Context context(options);
  std::vector<int> runs(static_cast<std::size_t>(n));
  error.clear();
  try {
    context.parallel_for(n, [&](std::int64_t i) { ++runs[static_cast<std::size_t>(i)]; });
  } catch (const Error& thrown) {
    EXPECT_EQ(thrown.status(), GRADSTEP_ERR_CALLBACK);
    error = thrown.what();
  }
  return runs;
}

TEST(Context, AHostsLoopRunsEveryIndexOnceOrFails) {
  std::string error;
  EXPECT_EQ(run_by_host(3, {2, 0, 1}, error), (std::vector<int>{1, 1, 1}));
  EXPECT_EQ(error, "");
  EXPECT_EQ(run_by_host(3, {}, error), (std::vector<int>{0, 0, 0}));
  EXPECT_EQ(error, "the host's parallel_for ran 0 indices, expected 3: every one from 0 to 2 once");
  EXPECT_EQ(run_by_host(3, {0, 1}, error), (std::vector<int>{1, 1, 0}));
  EXPECT_EQ(error, "the host's parallel_for ran 2 indices, expected 3: every one from 0 to 2 once");
  EXPECT_EQ(run_by_host(3, {0, 1, 2, 1, 0}, error), (std::vector<int>{1, 1, 1}));
  EXPECT_EQ(error, "the host's parallel_for ran index 1 twice, expected each from 0 to 2 once");
  EXPECT_EQ(run_by_host(3, {0, 1, 2, 3}, error), (std::vector<int>{1, 1, 1}));
  EXPECT_EQ(error, "the host's parallel_for ran index 3 out of range, expected each from 0 to 2 once");
  EXPECT_EQ(run_by_host(3, {0, 1, 2, -1}, error), (std::vector<int>{1, 1, 1}));
  EXPECT_EQ(error, "the host's parallel_for ran index -1 out of range, expected each from 0 to 2 once");
}

TEST(Context, TheAccountOfAHostsLoopHasNoLimit) {
  std::vector<std::int64_t> order(5000);
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<std::int64_t>(order.size() - 1 - i);
  std::string error;
  EXPECT_EQ(run_by_host(5000, order, error), std::vector<int>(5000, 1));
  EXPECT_EQ(error, "");
  order[4321] = 7;
  run_by_host(5000, order, error);
  EXPECT_NE(error.find("index 7 twice"), std::string::npos) << error;
}

TEST(Context, AnExceptionOfTheInterruptIsCallback) {
  auto options = default_context_options();
  options.interrupt = [](void*) -> std::int32_t { throw 7; };
  Context context(options);
  expect_error(GRADSTEP_ERR_CALLBACK, "interrupt: the host's function threw",
               [&] { static_cast<void>(context.interrupted()); });
}

TEST(Context, AFailingCreationReleasesEveryCallbackOnce) {
  int released = 0;
  const auto count = [](void* user) { ++*static_cast<int*>(user); };
  auto options = default_context_options();
  options.num_threads = -1;
  options.log_user = options.interrupt_user = options.parallel_for_user = &released;
  options.log_release = options.interrupt_release = options.parallel_for_release = count;
  expect_error(GRADSTEP_ERR_INVALID_ARGUMENT, "options.num_threads: is -1", [&] { Context context(options); });
  EXPECT_EQ(released, 3);
}

}  // namespace
}  // namespace gradstep::test
