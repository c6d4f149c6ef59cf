// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// What every system has to do alike.
#include <array>
#include <filesystem>
#include <set>
#include <string>
#include <thread>

#include "core/platform/dynamic_library.h"
#include "core/platform/file_system.h"
#include "core/platform/system.h"
#include "unit/scoped_environment.h"
#include "unit/support.h"
#include "unit/temporary_directory.h"

namespace gradstep::test {
namespace {

void make(const std::string& path, const std::string& text) {
  const FileDescriptor file = platform::make_file(path, 0666);
  ASSERT_TRUE(file.valid()) << platform::reason();
  EXPECT_EQ(platform::write_some(file, text.data(), text.size()), text.size());
}

std::string contents(const std::string& path) {
  const char* irregular = nullptr;
  const FileDescriptor file = platform::open_to_read(path, true, irregular);
  std::array<char, 64> bytes{};
  const auto got = platform::read_some(file, bytes.data(), bytes.size());
  return got ? std::string(bytes.data(), *got) : "cannot be read: " + platform::reason();
}

TEST(Platform, BytesOfAFileAreThoseThatWereWritten) {
  const TemporaryDirectory directory;
  const std::string text("a\nb\r\nc\x1a\0d", 9);
  make(directory.file("state"), text);
  EXPECT_EQ(contents(directory.file("state")), text);
}

TEST(Platform, PathsAreUtf8) {
  const TemporaryDirectory directory;
  make(directory.file("Gewichte \u00e4\u03b2\u4e2d"), "kept");
  EXPECT_EQ(contents(directory.file("Gewichte \u00e4\u03b2\u4e2d")), "kept");
  EXPECT_EQ(directory.names(), std::vector<std::string>{"Gewichte \u00e4\u03b2\u4e2d"});
}

TEST(Platform, AnOpenFileTakesThePlaceOfAnother) {
  const TemporaryDirectory directory;
  make(directory.file("state"), "old");
  const FileDescriptor file = platform::make_file(directory.file("new"), 0666);
  EXPECT_TRUE(platform::rename(directory.file("new"), directory.file("state"))) << platform::reason();
  EXPECT_EQ(platform::write_some(file, "more", 4), 4U);
  EXPECT_TRUE(platform::flush(file)) << platform::reason();
  EXPECT_EQ(contents(directory.file("state")), "more");
  EXPECT_EQ(directory.names(), std::vector<std::string>{"state"});
}

TEST(Platform, AFileThatIsOpenIsReplaced) {
  void* system = platform::loaded_library("ntdll.dll");
  if (system != nullptr && platform::find_symbol(system, "wine_get_version") != nullptr)
    GTEST_SKIP() << "wine has no renames of POSIX";
  const TemporaryDirectory directory;
  make(directory.file("state"), "old");
  make(directory.file("new"), "new");
  const char* irregular = nullptr;
  const FileDescriptor old = platform::open_to_read(directory.file("state"), true, irregular);
  EXPECT_TRUE(platform::rename(directory.file("new"), directory.file("state"))) << platform::reason();
  std::array<char, 3> bytes{};
  EXPECT_EQ(platform::read_some(old, bytes.data(), bytes.size()), 3U);
  EXPECT_EQ(std::string(bytes.data(), bytes.size()), "old");
  EXPECT_EQ(contents(directory.file("state")), "new");
}

TEST(Platform, AReadOnlyFileIsReplaced) {
  const TemporaryDirectory directory;
  make(directory.file("state"), "old");
  make(directory.file("new"), "new");
  std::filesystem::permissions(directory.file("state"), std::filesystem::perms::owner_read);
  EXPECT_TRUE(platform::rename(directory.file("new"), directory.file("state"))) << platform::reason();
  EXPECT_EQ(contents(directory.file("state")), "new");
}

TEST(Platform, AReasonIsOneLine) {
  const char* irregular = nullptr;
  EXPECT_FALSE(platform::open_to_read("/nowhere/state", true, irregular).valid());
  const std::string reason = platform::reason();
  EXPECT_FALSE(reason.empty());
  EXPECT_EQ(reason.find_first_of("\r\n"), std::string::npos) << reason;
  EXPECT_NE(reason.back(), ' ') << reason;
}

TEST(Platform, AVariableOfTheEnvironmentIsReadOrEmpty) {
  const ScopedEnvironment variable("GRADSTEP_PLATFORM_TEST", "kept");
  EXPECT_EQ(platform::environment("GRADSTEP_PLATFORM_TEST"), "kept");
  const ScopedEnvironment none("GRADSTEP_PLATFORM_TEST", nullptr);
  EXPECT_EQ(platform::environment("GRADSTEP_PLATFORM_TEST"), "");
}

TEST(Platform, AFileThatIsThereIsNotMadeAgain) {
  const TemporaryDirectory directory;
  make(directory.file("state"), "old");
  EXPECT_FALSE(platform::make_file(directory.file("state"), 0666).valid());
  EXPECT_EQ(contents(directory.file("state")), "old");
}

TEST(Platform, ADirectoryIsNoFile) {
  const TemporaryDirectory directory;
  const char* irregular = nullptr;
  EXPECT_FALSE(platform::open_to_read(directory.path(), true, irregular).valid());
  EXPECT_STREQ(irregular, "a directory");
  EXPECT_FALSE(platform::open_to_read(directory.file("absent"), true, irregular).valid());
  EXPECT_EQ(irregular, nullptr);
  EXPECT_FALSE(platform::find(directory.file("absent"), true).has_value());
}

TEST(Platform, MemoryIsAligned) {
  for (const std::size_t alignment : {std::size_t{64}, std::size_t{1} << 21}) {
    void* data = platform::allocate(alignment, 2 * alignment);
    ASSERT_NE(data, nullptr);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(data) % alignment, 0U);
    platform::deallocate(data);
  }
  EXPECT_GT(platform::memory_of_machine(), std::int64_t{1} << 28);
}

TEST(Platform, RandomBytesDiffer) {
  std::set<std::array<char, 16>> drawn;
  for (int i = 0; i < 10; ++i) {
    std::array<char, 16> bytes{};
    EXPECT_EQ(platform::fill_random(bytes.data(), bytes.size()), "");
    drawn.insert(bytes);
  }
  EXPECT_EQ(drawn.size(), 10U);
}

TEST(Platform, ThreadsHaveNumbersOfTheirOwn) {
  const std::int64_t own = platform::thread_number();
  std::thread([&] {
    platform::lower_priority();
    EXPECT_NE(platform::thread_number(), own);
  }).join();
  EXPECT_EQ(platform::thread_number(), own);
  EXPECT_GT(platform::process_number(), 0);
  EXPECT_NE(platform::host_name(), "?");
}

TEST(Platform, ALibraryThatIsNotThereIsToldInTheSystemsWords) {
  EXPECT_EQ(platform::open_library("/nowhere/library" + std::string(platform::kLibrarySuffix)), nullptr);
  EXPECT_FALSE(platform::library_error().empty());
  EXPECT_EQ(platform::loaded_library("no library of this name"), nullptr);
  EXPECT_EQ(platform::find_symbol(platform::library_of_process(), "no_symbol_of_this_name"), nullptr);
  EXPECT_FALSE(platform::path_of_library(reinterpret_cast<const void*>(&make_context)).empty());
}

}  // namespace
}  // namespace gradstep::test
