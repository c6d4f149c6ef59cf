// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// A question that is asked in a forked child.
#pragma once

#if !defined(_WIN32)
#include <sys/wait.h>
#include <unistd.h>

namespace gradstep::test {

/// What body() returns in a child that is forked here and ends without destructors. False, too, if it dies, throws, or
/// takes longer than 10 seconds.
template <class Body>
bool true_in_child(Body&& body) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(10);
    bool answer = false;
    try {
      answer = body();
    } catch (...) {
    }
    ::_exit(answer ? 0 : 1);
  }
  int status = -1;
  return child > 0 && ::waitpid(child, &status, 0) == child && status == 0;
}

}  // namespace gradstep::test
#endif
