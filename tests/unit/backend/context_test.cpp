// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/context.h"

#include <thread>

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

TEST(Context, RecordsOfOwnThreadsAreDeliveredByTheNextCall) {
  std::vector<std::string> records;
  auto options = default_context_options();
  options.log_level = GRADSTEP_LOG_INFO;
  options.log_user = &records;
  options.log = [](void* user, std::int32_t, const char* text) {
    static_cast<std::vector<std::string>*>(user)->emplace_back(text);
  };
  Context context(options);
  std::thread([&] {
    context.log_later(GRADSTEP_LOG_INFO, "from a thread");
    context.log_later(GRADSTEP_LOG_DEBUG, "too detailed");
  }).join();
  EXPECT_TRUE(records.empty());
  context.log(GRADSTEP_LOG_WARNING, "from a call");
  EXPECT_EQ(records, (std::vector<std::string>{"from a thread", "from a call"}));
}

}  // namespace
}  // namespace gradstep::test
