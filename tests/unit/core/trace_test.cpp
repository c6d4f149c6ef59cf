// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "core/trace.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <thread>

#include "unit/support.h"

namespace gradstep::test {
namespace {

class Trace : public testing::Test {
 protected:
  void TearDown() override { trace::stop(); }

  std::string path(const char* name) const { return testing::TempDir() + "trace_test_" + name + ".json"; }

  static nlohmann::json read(const std::string& path) { return nlohmann::json::parse(std::ifstream(path)); }
  /// Events of phases, in the order of the file.
  static std::vector<nlohmann::json> phases(const std::string& path) {
    std::vector<nlohmann::json> found;
    for (const auto& event : read(path)) {
      if (event.at("ph") == "X") found.push_back(event);
    }
    return found;
  }
};

TEST_F(Trace, EventsHaveTheFieldsOfTheFormat) {
  trace::start(path("fields"));
  {
    const Phase phase("pack", {{"bucket", 3}, {"bytes", 1024}});
  }
  trace::stop();
  for (const auto& event : read(path("fields"))) {
    EXPECT_TRUE(event.at("pid").is_number_integer());
    EXPECT_TRUE(event.at("tid").is_number_integer());
    EXPECT_TRUE(event.at("name").is_string());
    EXPECT_TRUE(event.at("ph") == "M" || event.at("ph") == "X") << event;
  }
  const auto found = phases(path("fields"));
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].at("name"), "pack");
  EXPECT_EQ(found[0].at("cat"), "phase");
  EXPECT_EQ(found[0].at("pid"), getpid());
  EXPECT_EQ(found[0].at("args"), (nlohmann::json{{"bucket", 3}, {"bytes", 1024}}));
  EXPECT_GT(found[0].at("ts").get<double>(), 0);
  EXPECT_GE(found[0].at("dur").get<double>(), 0);
}

TEST_F(Trace, PhasesNest) {
  trace::start(path("nest"));
  {
    const Phase window("window");
    for (int i = 0; i < 3; ++i) const Phase inner("pack");
  }
  trace::stop();
  const auto found = phases(path("nest"));
  ASSERT_EQ(found.size(), 4U);
  const auto begin = [](const nlohmann::json& event) { return event.at("ts").get<double>(); };
  const auto end = [&](const nlohmann::json& event) { return begin(event) + event.at("dur").get<double>(); };
  const auto& outer = found.back();
  EXPECT_EQ(outer.at("name"), "window");
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_GE(begin(found[i]), begin(outer));
    EXPECT_LE(end(found[i]), end(outer) + 0.0015);  // times are written to the nanosecond
    if (i > 0) {
      EXPECT_GE(begin(found[i]) + 0.0015, end(found[i - 1]));
    }
  }
}

TEST_F(Trace, ThreadsAreToldApart) {
  trace::start(path("threads"));
  {
    const Phase phase("step");
  }
  std::thread([] { const Phase phase("exchange"); }).join();
  trace::stop();
  const auto found = phases(path("threads"));
  ASSERT_EQ(found.size(), 2U);
  EXPECT_NE(found[0].at("tid"), found[1].at("tid"));
}

TEST_F(Trace, OffWritesNothingAndAsksForNoNumbers) {
  bool is_asked = false;
  const auto numbers = [&] {
    is_asked = true;
    return std::array<trace::Number, 1>{{{"bytes", 1}}};
  };
  {
    const Phase phase("comm", "all_reduce", numbers);
  }
  trace::start(path("off"));
  trace::stop();
  {
    const Phase phase("comm", "all_reduce", numbers);
  }
  EXPECT_FALSE(is_asked);
  EXPECT_TRUE(phases(path("off")).empty());
  trace::stop();  // is nothing
}

TEST_F(Trace, ManyEventsAreWrittenBeforeTheEnd) {
  trace::start(path("many"));
  for (int i = 0; i < 10000; ++i) const Phase phase("pack");
  EXPECT_GT(std::filesystem::file_size(path("many")), 4096U);
  trace::stop();
  EXPECT_EQ(phases(path("many")).size(), 10000U);
}

TEST_F(Trace, TheRankIsSaidWheneverItIsKnown) {
  trace::set_rank(2, 4);
  trace::start(path("rank"));
  trace::set_rank(1, 3);  // in a group of ranks, beside the world
  trace::set_rank(5, 6);
  trace::stop();
  std::vector<nlohmann::json> ranks;
  for (const auto& event : read(path("rank"))) {
    if (event.at("name") == "rank") ranks.push_back(event.at("args"));
  }
  EXPECT_EQ(ranks, (std::vector<nlohmann::json>{{{"rank", 2}, {"ranks", 4}}, {{"rank", 5}, {"ranks", 6}}}));
}

TEST_F(Trace, ErrorsNameThePath) {
  expect_error(GRADSTEP_ERR_IO, "/nowhere/trace.json", [] { trace::start("/nowhere/trace.json"); });
  expect_error(GRADSTEP_ERR_IO, "'/dev/null' is no regular file", [] { trace::start("/dev/null"); });
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
  trace::start(path("errors"));
  expect_error(GRADSTEP_ERR_INVALID_STATE, path("errors"), [&] { trace::start(path("other")); });
  EXPECT_FALSE(std::filesystem::exists(path("other")));
}

TEST_F(Trace, AForkedChildWritesNothing) {
  trace::start(path("fork"));
  const pid_t child = fork();
  if (child == 0) {
    {
      const Phase phase("step");
    }
    trace::stop();
    std::exit(0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  {
    const Phase phase("pack");
  }
  trace::stop();
  const auto found = phases(path("fork"));
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].at("name"), "pack");
}

TEST_F(Trace, AForkedChildMayWriteAFileOfItsOwn) {
  trace::start(path("parent"));
  const pid_t child = fork();
  if (child == 0) {
    trace::start(path("child"));
    {
      const Phase phase("step");
    }
    trace::stop();
    std::exit(0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  trace::stop();
  EXPECT_TRUE(phases(path("parent")).empty());
  ASSERT_EQ(phases(path("child")).size(), 1U);
  EXPECT_EQ(phases(path("child"))[0].at("pid"), child);
}

/// What a thread holds that the child does not have stays locked in the parent's memory.
TEST_F(Trace, AChildOfAForkWhileOthersWriteIsNotBlocked) {
  trace::start(path("busy"));
  std::atomic<bool> goes_on{true};
  std::thread writer([&] {
    while (goes_on) const Phase phase("pack");
  });
  for (int i = 0; i < 20; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(60);
      trace::set_rank(0, 1);
      trace::start(path("busy_child"));
      trace::stop();
      std::_Exit(0);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  goes_on = false;
  writer.join();
}

TEST_F(Trace, ALinkIsReplacedAndNotFollowed) {
  std::filesystem::remove(path("link"));
  std::ofstream(path("target")) << "kept";
  std::filesystem::create_symlink(path("target"), path("link"));
  trace::start(path("link"));
  trace::stop();
  EXPECT_FALSE(std::filesystem::is_symlink(path("link")));
  EXPECT_EQ(std::filesystem::file_size(path("target")), 4U);
}

TEST_F(Trace, EventsOfEndedThreadsAreWrittenWhenOthersBegin) {
  trace::start(path("ended"));
  const auto before = std::filesystem::file_size(path("ended"));
  std::thread([] { const Phase phase("pack"); }).join();
  std::thread([] { const Phase phase("step"); }).join();
  EXPECT_GT(std::filesystem::file_size(path("ended")), before);
  trace::stop();
  EXPECT_EQ(phases(path("ended")).size(), 2U);
}

/// Last: what is found stays.
TEST_F(Trace, PhasesAreRangesOfNvtxWhereItsLibraryIsLoaded) {
  expect_error(GRADSTEP_ERR_BACKEND_UNAVAILABLE, "no library with NVTX's ranges", [] { trace::start(""); });
  void* library = dlopen(GRADSTEP_FAKE_NVTX, RTLD_NOW | RTLD_GLOBAL);
  ASSERT_NE(library, nullptr) << dlerror();
  const auto said = reinterpret_cast<const char* (*)()>(dlsym(library, "fake_nvtx_said"));
  trace::start("");
  {
    const Phase outer("window");
    const Phase inner("pack");
  }
  trace::stop();
  {
    const Phase phase("step");
  }
  EXPECT_STREQ(said(), "push window;push pack;pop;pop;");
}

}  // namespace
}  // namespace gradstep::test
