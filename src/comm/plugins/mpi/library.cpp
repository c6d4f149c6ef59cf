// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/plugins/mpi/library.h"

#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <string>

#include "comm/plugins/failure.h"

namespace gradstep::mpi_plugin {

using namespace plugin;

namespace {

std::atomic<bool> given_up{false};
pid_t starter = 0;

// MPI_Finalize waits for what is under way: a process that has given up a call would hang in it. Without it the
// launcher ends the whole job, which is what a failure means in MPI.
void end_library() {
  if (::getpid() == starter && library_runs() && !given_up) MPI_Finalize();
}

}  // namespace

void check(int code, const char* what) {
  if (code == MPI_SUCCESS) return;
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  MPI_Error_string(code, text.data(), &length);
  fail(GRADSTEP_ERR_PEER_LOST, "{}: {}", what, std::string(text.data(), static_cast<std::size_t>(length)));
}

bool library_runs() noexcept {
  int started = 0;
  int ended = 0;
  MPI_Initialized(&started);
  MPI_Finalized(&ended);
  return started != 0 && ended == 0;
}

void start_library() {
  if (library_runs()) return;
  int ended = 0;
  MPI_Finalized(&ended);
  if (ended != 0) fail(GRADSTEP_ERR_INVALID_STATE, "MPI was finalized in this process");
  int provided = 0;
  if (MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &provided) != MPI_SUCCESS) {
    fail(GRADSTEP_ERR_BACKEND_UNAVAILABLE, "MPI_Init_thread failed");
  }
  starter = ::getpid();
  std::atexit(end_library);
}

bool any_thread_allowed() {
  int provided = 0;
  check(MPI_Query_thread(&provided), "MPI_Query_thread");
  return provided == MPI_THREAD_MULTIPLE;
}

void give_up_library() noexcept { given_up = true; }

}  // namespace gradstep::mpi_plugin
