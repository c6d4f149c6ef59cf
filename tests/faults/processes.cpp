// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/faults/processes.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>

#include "tests/threads_left.h"

namespace gradstep::test {

namespace {

int announcements = -1;  // of this rank

void make_pipe(std::array<int, 2>& ends) {
  if (::pipe(ends.data()) != 0) throw std::runtime_error("pipe failed");
}

}  // namespace

Processes::Processes(int ranks, const std::function<void(int, Report&)>& body, const std::function<void()>& forked) {
  for (int rank = 0; rank < ranks; ++rank) {
    std::array<int, 2> report{};
    std::array<int, 2> announced{};
    make_pipe(report);
    make_pipe(announced);
    const pid_t pid = ::fork();
    if (pid < 0) throw std::runtime_error("fork failed");
    if (pid == 0) {
      ::close(report[0]);
      ::close(announced[0]);
      announcements = announced[1];
      ::alarm(50);  // a rank that hangs ends by itself
      Report result;
      body(rank, result);
      result.reported = 1;
      const bool written = ::write(report[1], &result, sizeof result) == static_cast<ssize_t>(sizeof result);
      ::_exit(written ? 0 : 1);
    }
    ::close(report[1]);
    ::close(announced[1]);
    processes_.push_back({pid, report[0], announced[0]});
  }
  forked();
}

Processes::~Processes() {
  for (Process& process : processes_) {
    if (process.pid > 0) {
      ::kill(process.pid, SIGKILL);
      ::waitpid(process.pid, nullptr, 0);
    }
    ::close(process.report);
    ::close(process.announcements);
  }
}

void Processes::signal(int rank, int number) { ::kill(processes_[static_cast<std::size_t>(rank)].pid, number); }

void Processes::await_announcement(int rank) {
  char byte = 0;
  const ssize_t got = ::read(processes_[static_cast<std::size_t>(rank)].announcements, &byte, 1);
  if (got != 1) throw std::runtime_error("the rank ended before it announced anything");
}

Report Processes::report(int rank) {
  Process& process = processes_[static_cast<std::size_t>(rank)];
  Report result;
  const ssize_t got = ::read(process.report, &result, sizeof result);
  if (got != static_cast<ssize_t>(sizeof result)) result = Report{};
  ::waitpid(process.pid, nullptr, 0);
  process.pid = -1;
  return result;
}

void announce() {
  const char byte = 1;
  if (::write(announcements, &byte, 1) != 1) ::_exit(2);
}

TemporaryDirectory::TemporaryDirectory() {
  std::string name = (std::filesystem::temp_directory_path() / "gradstep-test-XXXXXX").string();
  path_ = ::mkdtemp(name.data());
}

TemporaryDirectory::~TemporaryDirectory() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::vector<std::string> process_engines() {
  std::vector<std::string> names = {"shm"};
#if defined(GRADSTEP_TEST_PLUGIN_DIR)
  names.emplace_back("gloo");
  ::setenv("GRADSTEP_PLUGIN_DIR", GRADSTEP_TEST_PLUGIN_DIR, 1);
#endif
  return names;
}

gradstep_comm_options rank_options(const std::string& engine, int rank, int world_size, std::int64_t timeout_ms,
                                   const std::string& directory) {
  gradstep_comm_options options{};
  gradstep_comm_options_init(&options, sizeof options);
  options.engine = engine.c_str();
  options.rank = rank;
  options.world_size = world_size;
  options.timeout_ms = timeout_ms;
  options.store_path = directory.c_str();
  options.network_interface = "127.0.0.1";
  return options;
}

Holdings::Holdings() {
  descriptors = static_cast<double>(directory_entries("/proc/self/fd"));
  threads = static_cast<double>(directory_entries("/proc/self/task"));
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    if (line.find("memfd:gradstep") != std::string::npos) ++shared_mappings;
  }
}

void report_holdings(Report& report, int round) {
  const Holdings now;
  if (round == 2) {
    report.numbers[0] = now.descriptors;
    report.numbers[1] = now.threads;
  }
  report.numbers[1] = std::min(report.numbers[1], now.threads);  // there may have been one more that was joined
  report.numbers[2] = now.descriptors;
  report.numbers[3] = now.threads;
  if (round > 2) report.numbers[3] = static_cast<double>(threads_left(static_cast<std::ptrdiff_t>(report.numbers[1])));
  report.numbers[4] = now.shared_mappings;
}

void expect_nothing_left(const Report& report) {
  ASSERT_EQ(report.reported, 1) << "the rank died";
  ASSERT_EQ(report.status, GRADSTEP_OK) << report.text.data();
  EXPECT_EQ(report.numbers[2], report.numbers[0]) << "descriptors";
  EXPECT_EQ(report.numbers[3], report.numbers[1]) << "threads";
  EXPECT_EQ(report.numbers[4], 0) << "mappings";
}

void report_forked_child(Report& report, const std::function<gradstep_status()>& call,
                         const std::function<void()>& destroy) {
  Processes child(1, [&](int, Report& told) {
    put(told, call(), Stopwatch());
    const Stopwatch destruction;
    destroy();
    told.milliseconds = destruction.milliseconds();
  });
  const Report told = child.report(0);
  report.numbers[0] = told.reported;
  report.numbers[1] = told.status;
  report.numbers[2] = static_cast<double>(told.milliseconds);
}

void expect_child_was_told(const Report& report) {
  EXPECT_EQ(report.numbers[0], 1) << "the child died";
  EXPECT_EQ(report.numbers[1], GRADSTEP_ERR_INVALID_STATE);
  EXPECT_LT(report.numbers[2], 1000);
}

Rank::Rank(const gradstep_comm_options& options) {
  status = gradstep_context_create(nullptr, &context);
  if (status == GRADSTEP_OK) status = gradstep_comm_create(context, &options, &comm);
}

Rank::~Rank() {
  gradstep_comm_destroy(comm);
  gradstep_context_destroy(context);
}

gradstep_status Rank::sum(std::vector<float>& data) const {
  std::array<std::int64_t, 1> shape = {static_cast<std::int64_t>(data.size())};
  gradstep_tensor tensor{};
  tensor.data = data.data();
  tensor.device = {GRADSTEP_DEVICE_CPU, 0};
  tensor.ndim = 1;
  tensor.dtype = {GRADSTEP_TYPE_FLOAT, 32, 1};
  tensor.shape = shape.data();
  return gradstep_comm_all_reduce(comm, &tensor, GRADSTEP_REDUCE_SUM, nullptr);
}

void put(Report& report, gradstep_status status, const Stopwatch& watch) {
  report.status = status;
  report.milliseconds = watch.milliseconds();
  if (status != GRADSTEP_OK) std::snprintf(report.text.data(), report.text.size(), "%s", gradstep_last_error());
}

}  // namespace gradstep::test
