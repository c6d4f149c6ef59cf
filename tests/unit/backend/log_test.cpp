// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/log.h"

#include <thread>

#include "core/own_thread.h"
#include "unit/recorded_log.h"

namespace gradstep::test {
namespace {

TEST(Log, WritesWhatItsLevelWants) {
  RecordedLog records;
  const auto context = records.context(GRADSTEP_LOG_WARNING);
  Log& log = context->log();
  EXPECT_FALSE(log.wants(GRADSTEP_LOG_INFO));
  log.write(GRADSTEP_LOG_INFO, "{}", 1);
  EXPECT_EQ(records.size(), 0U);
  log.write(GRADSTEP_LOG_WARNING, "{} of {}", 1, "two");
  log.write(GRADSTEP_LOG_ERROR, "{}", 3.5);
  EXPECT_EQ(records.count(GRADSTEP_LOG_WARNING, "1 of two"), 1);
  EXPECT_EQ(records.count(GRADSTEP_LOG_ERROR, "3.5"), 1);
}

TEST(Log, AContextSaysWhatServesItsDevices) {
  RecordedLog records;
  const auto context = records.context();
  EXPECT_EQ(records.count(GRADSTEP_LOG_INFO, std::string("by backend cpu (") + context->cpu().instruction_set()), 1);
}

TEST(Log, AContextWithoutOneWritesNothing) {
  const auto context = make_context();
  EXPECT_FALSE(context->log().wants(GRADSTEP_LOG_ERROR));
}

TEST(Log, WhatTheHostThrowsIsDropped) {
  RecordedLog records;
  const auto context = records.context();
  records.throw_always();
  context->log().write(GRADSTEP_LOG_ERROR, "thrown");
  EXPECT_EQ(records.count(GRADSTEP_LOG_ERROR, "thrown"), 1);
}

TEST(Log, RecordsOfOwnThreadsWaitForOneOfTheHosts) {
  RecordedLog records;
  const auto context = records.context();
  Log& log = context->log();
  const std::size_t before = records.size();
  std::thread([&] {
    on_own_thread = true;
    log.write(GRADSTEP_LOG_ERROR, "kept");
  }).join();
  EXPECT_EQ(records.size(), before);
  log.deliver();
  log.deliver();
  EXPECT_EQ(records.count(GRADSTEP_LOG_ERROR, "kept"), 1);
}

TEST(Log, KeptRecordsComeBeforeTheNext) {
  RecordedLog records;
  const auto context = records.context();
  std::thread([&] {
    on_own_thread = true;
    context->log().write(GRADSTEP_LOG_ERROR, "first");
  }).join();
  context->log().write(GRADSTEP_LOG_INFO, "second");
  EXPECT_EQ(records.count(GRADSTEP_LOG_ERROR, "first"), 1);
  EXPECT_EQ(records.count(GRADSTEP_LOG_INFO, "second"), 1);
}

}  // namespace
}  // namespace gradstep::test
