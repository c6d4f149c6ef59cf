// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Files in folders that others may write to: what saving keeps, follows and refuses.
#include "core/file.h"

#include <sys/sysmacros.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "unit/child_process.h"
#include "unit/support.h"
#include "unit/temporary_directory.h"

namespace gradstep::test {
namespace {

namespace fs = std::filesystem;

constexpr uid_t kSomebody = 12345;

class File : public testing::Test {
 protected:
  std::string at(const std::string& name) const { return folder_.file(name); }

  TemporaryDirectory folder_;
};

void make(const std::string& path, const std::string& text, mode_t permissions = 0644) {
  std::ofstream(path) << text;
  ASSERT_EQ(chmod(path.c_str(), permissions), 0);
}

std::string contents(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

void save(const std::string& path, const std::string& text = "new") {
  AtomicFile file(path);
  file.write(text.data(), text.size());
  file.commit();
}

struct stat status_of(const std::string& path) {
  struct stat info{};
  EXPECT_EQ(lstat(path.c_str(), &info), 0) << path;
  return info;
}

mode_t permissions_of(const std::string& path) { return status_of(path).st_mode & 07777; }

/// Runs `body` in a child process as an ordinary user. True if it returned true.
template <class Body>
bool as_somebody(Body&& body) {
  return true_in_child([&] { return setgid(kSomebody) == 0 && setuid(kSomebody) == 0 && body(); });
}

bool is_root() { return geteuid() == 0; }

TEST_F(File, KeepsThePermissionsOfWhatItReplaces) {
  for (const mode_t permissions : {0600U, 0640U, 0444U, 0666U}) {
    make(at("state"), "old", permissions);
    save(at("state"));
    EXPECT_EQ(contents(at("state")), "new");
    EXPECT_EQ(permissions_of(at("state")), permissions);
    fs::remove(at("state"));
  }
}

TEST_F(File, HasThePermissionsOfTheUmaskWhereNothingWas) {
  const mode_t before = umask(027);
  save(at("state"));
  umask(before);
  EXPECT_EQ(permissions_of(at("state")), 0640U);
}

TEST_F(File, KeepsOwnerAndGroupWhereTheSystemAllowsIt) {
  if (!is_root()) GTEST_SKIP() << "needs root";
  make(at("state"), "old", 0640);
  ASSERT_EQ(chown(at("state").c_str(), kSomebody, kSomebody + 1), 0);
  save(at("state"));
  EXPECT_EQ(status_of(at("state")).st_uid, kSomebody);
  EXPECT_EQ(status_of(at("state")).st_gid, kSomebody + 1);
  EXPECT_EQ(permissions_of(at("state")), 0640U);
}

TEST_F(File, GivesAnotherGroupNoMoreThanEverybodyHad) {
  if (!is_root()) GTEST_SKIP() << "needs root";
  ASSERT_EQ(chmod(folder_.path().c_str(), 0777), 0);
  make(at("state"), "old", 0664);
  EXPECT_TRUE(as_somebody([&] {
    save(at("state"));
    return true;
  }));
  EXPECT_EQ(contents(at("state")), "new");
  EXPECT_EQ(status_of(at("state")).st_uid, kSomebody);
  EXPECT_EQ(permissions_of(at("state")), 0644U);
}

TEST_F(File, FollowsLinksAndLeavesThemInPlace) {
  fs::create_directory(at("folder"));
  make(at("folder/real"), "old", 0600);
  fs::create_symlink("real", at("folder/near"));
  fs::create_symlink("folder/near", at("far"));
  save(at("far"));
  EXPECT_EQ(contents(at("folder/real")), "new");
  EXPECT_EQ(permissions_of(at("folder/real")), 0600U);
  EXPECT_TRUE(fs::is_symlink(at("far")) && fs::is_symlink(at("folder/near")));
  fs::create_symlink(at("folder/made"), at("dangling"));
  save(at("dangling"));
  EXPECT_EQ(contents(at("folder/made")), "new");
  EXPECT_EQ(std::distance(fs::directory_iterator(at("folder")), {}), 3) << "nothing else is left";
}

TEST_F(File, RefusesLinksInACircle) {
  fs::create_symlink("b", at("a"));
  fs::create_symlink("a", at("b"));
  expect_error(GRADSTEP_ERR_IO, "more than 40 symbolic links", [&] { save(at("a")); });
  expect_error(GRADSTEP_ERR_IO, "symbolic links", [&] { FileSource source(at("a")); });
}

TEST_F(File, RefusesAStrangersLinkInAFolderForEverybody) {
  if (!is_root()) GTEST_SKIP() << "needs root";
  ASSERT_EQ(chmod(folder_.path().c_str(), 01777), 0);
  make(at("victim"), "precious");
  fs::create_symlink("victim", at("state"));
  save(at("state"), "mine");
  EXPECT_EQ(contents(at("victim")), "mine") << "one's own link is followed";
  ASSERT_EQ(lchown(at("state").c_str(), kSomebody, kSomebody), 0);
  expect_error(GRADSTEP_ERR_IO, "a symbolic link of another user (number 12345)", [&] { save(at("state")); });
  EXPECT_EQ(contents(at("victim")), "mine");
}

TEST_F(File, IsNeverWrittenThroughWhatWasPreparedBesideIt) {
  make(at("victim"), "precious");
  for (int number = 0; number < 100; ++number) {
    const std::string name = at("state.tmp." + std::to_string(getpid()) + "." + std::to_string(number));
    if (number % 2 == 0) {
      fs::create_symlink("victim", name);
    } else {
      ASSERT_EQ(mkfifo(name.c_str(), 0666), 0);
    }
  }
  save(at("state"));
  save(at("state"), "newer");
  EXPECT_EQ(contents(at("victim")), "precious");
  EXPECT_EQ(contents(at("state")), "newer");
}

TEST_F(File, HasAnotherUnfinishedNameEachTime) {
  std::set<std::string> names;
  for (int i = 0; i < 10; ++i) {
    const NewFile file("path", at("state"), 0666);
    for (const auto& entry : fs::directory_iterator(folder_.path())) names.insert(entry.path().filename());
  }
  EXPECT_EQ(names.size(), 10U);
  EXPECT_TRUE(fs::is_empty(folder_.path()));
}

TEST_F(File, IsAnErrorAtOnceWhereItIsNoRegularFile) {
  ASSERT_EQ(mkfifo(at("fifo").c_str(), 0666), 0);
  const auto refused = [](const std::string& path, const std::string& found) {
    expect_error(GRADSTEP_ERR_IO, found, [&] { FileSource source(path); });
    expect_error(GRADSTEP_ERR_IO, found, [&] { save(path); });
  };
  refused(at("fifo"), "is a FIFO, expected a regular file");
  refused(folder_.path(), "is a directory, expected a regular file");
  EXPECT_TRUE(fs::is_fifo(at("fifo")));
  if (mknod(at("null").c_str(), S_IFCHR | 0666, makedev(1, 3)) != 0) return;  // needs root, and not in every container
  refused(at("null"), "is a device, expected a regular file");
  EXPECT_TRUE(fs::is_character_file(at("null")));
}

}  // namespace
}  // namespace gradstep::test
