// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Ranks as forked processes that report how their calls ended.
#pragma once

#include <gradstep/gradstep.h>
#include <sys/types.h>

#include <array>
#include <chrono>
#include <functional>
#include <string>
#include <vector>

namespace gradstep::test {

/// What a rank tells its test.
struct Report {
  int reported = 0;  // 0 = it died first
  gradstep_status status = GRADSTEP_OK;
  std::int64_t milliseconds = 0;
  std::array<char, 400> text{};
  std::array<char, 100> remark{};  // of the test's own
  std::array<double, 8> numbers{};
};

/// Started ranks; those left are killed with the object.
class Processes {
 public:
  /// body(rank, report) runs in a forked process, which ends without running destructors of the test's. forked() runs
  /// here, when all have been started.
  Processes(
      int ranks, const std::function<void(int rank, Report& report)>& body,
      const std::function<void()>& forked = [] {});
  ~Processes();
  Processes(const Processes&) = delete;
  Processes& operator=(const Processes&) = delete;

  void signal(int rank, int number);
  /// Waits until the rank has written a byte with announce().
  void await_announcement(int rank);
  /// Waits for the end of the rank.
  Report report(int rank);

 private:
  struct Process {
    pid_t pid = -1;
    int report = -1;
    int announcements = -1;
  };
  std::vector<Process> processes_;
};

/// In a rank: lets await_announcement() return.
void announce();

class Stopwatch {
 public:
  std::int64_t milliseconds() const {
    return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - begin_).count();
  }

 private:
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

/// A fresh directory that goes away with the object.
class TemporaryDirectory {
 public:
  TemporaryDirectory();
  ~TemporaryDirectory();
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

/// The engines that connect processes: "shm", and "gloo" where its plugin was built.
std::vector<std::string> process_engines();

/// The options of one rank, gloo on loopback, meeting in a directory. Borrows both strings.
gradstep_comm_options rank_options(const std::string& engine, int rank, int world_size, std::int64_t timeout_ms,
                                   const std::string& directory);

/// What a process holds of the system that a communicator may have left behind.
struct Holdings {
  Holdings();
  double descriptors = 0;
  double threads = 0;
  double shared_mappings = 0;
};

/// In a rank, at the end of each of several rounds; and what the test expects of them, the first three apart.
void report_holdings(Report& report, int round);
void expect_nothing_left(const Report& report);

/// In a rank: forks, makes the call in the child and destroys its handle there; what came of it goes into the report.
/// And what the test expects of it: INVALID_STATE, and no waiting.
void report_forked_child(Report& report, const std::function<gradstep_status()>& call,
                         const std::function<void()>& destroy);
void expect_child_was_told(const Report& report);

/// In a rank: a context and a communicator, destroyed at the end; a failed creation is in `status`.
struct Rank {
  explicit Rank(const gradstep_comm_options& options);
  ~Rank();
  Rank(const Rank&) = delete;
  Rank& operator=(const Rank&) = delete;

  /// data = the sum over ranks.
  gradstep_status sum(std::vector<float>& data) const;

  gradstep_context* context = nullptr;
  gradstep_comm* comm = nullptr;
  gradstep_status status = GRADSTEP_OK;
};

/// Puts the outcome of a call, and this thread's text if it failed, into a report.
void put(Report& report, gradstep_status status, const Stopwatch& watch);

}  // namespace gradstep::test
