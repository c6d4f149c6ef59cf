// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// One file per key. A value is written beside and renamed, so that readers see all of it or nothing. Files are never
// removed: a rank cannot know who still reads them, and the rendezvous tells old values from new ones. Strangers may
// write to the directory too: what is no regular file there is an error, never waited for or followed.
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <thread>

#include "comm/rendezvous/store.h"
#include "core/error.h"
#include "core/file.h"

namespace gradstep {

namespace {

// Network file systems are polled too; a rendezvous is rare enough for this pace.
constexpr std::chrono::milliseconds kFirstPause{1};
constexpr std::chrono::milliseconds kLongestPause{20};

constexpr const char* kArgument = "options.store_path";

class DirectoryStore final : public Store {
 public:
  explicit DirectoryStore(const std::string& path) : path_(path) {
    if (::mkdir(path.c_str(), 0777) != 0 && errno != EEXIST) fail_io("mkdir", path);
    struct stat info{};
    if (::stat(path.c_str(), &info) != 0) fail_io("stat", path);
    if (!S_ISDIR(info.st_mode)) fail(GRADSTEP_ERR_IO, "{}: '{}' is not a directory", kArgument, path);
  }

  void set(const std::string& key, const void* data, std::size_t length) override {
    NewFile file(kArgument, file_of(key), 0666);
    file.write(data, length);
    file.replace();
  }

  bool get(const std::string& key, void* data, std::size_t& length, const Deadline& deadline) override {
    const std::string file = file_of(key);
    for (auto pause = kFirstPause;; pause = std::min(2 * pause, kLongestPause)) {
      if (read(file, data, length)) return true;
      if (deadline.passed()) return false;
      std::this_thread::sleep_for(pause);
    }
  }

 private:
  [[noreturn]] static void fail_io(const char* call, const std::string& file) {
    fail(GRADSTEP_ERR_IO, "{}: {} '{}': {}", kArgument, call, file, std::strerror(errno));
  }

  std::string file_of(std::string key) const {
    std::replace_if(key.begin(), key.end(), [](unsigned char c) { return std::isalnum(c) == 0; }, '.');
    return path_ + "/" + key;
  }

  static bool read(const std::string& file, void* data, std::size_t& length) {
    const FileDescriptor in = open_regular(kArgument, file, Links::refuse);
    if (!in.valid()) {
      if (errno == ENOENT || errno == ESTALE) return false;
      fail_io("open", file);
    }
    struct stat info{};
    if (::fstat(in.get(), &info) != 0) fail_io("stat", file);
    const auto size = static_cast<std::size_t>(info.st_size);
    if (size > length) fail_argument("the value in '{}' has {} bytes, expected at most {}", file, size, length);
    std::size_t got = 0;
    while (got < size) {
      const ssize_t part = ::read(in.get(), static_cast<char*>(data) + got, size - got);
      if (part < 0 && errno != EINTR) fail_io("read", file);
      if (part == 0) fail(GRADSTEP_ERR_IO, "{}: '{}' is shorter than its size", kArgument, file);
      if (part > 0) got += static_cast<std::size_t>(part);
    }
    length = size;
    return true;
  }

  std::string path_;
};

}  // namespace

std::unique_ptr<Store> open_directory_store(const std::string& path) { return std::make_unique<DirectoryStore>(path); }

}  // namespace gradstep
