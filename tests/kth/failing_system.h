// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// The system's functions, of which one call fails when a test says so. They stand in the program, and so are the ones
// that the library finds.
#pragma once

namespace gradstep::test {

enum class Failing { memory, threads, files, sockets };

/// From here on calls of this kind are counted, on all threads, and number k fails; k = 0 only counts.
void arm(Failing kind, long k);
/// How many were counted.
long disarm();

/// While it lives, nothing fails for the thread that has made it: the test's own calls.
class Spared {
 public:
  Spared();
  ~Spared();
  Spared(const Spared&) = delete;
  Spared& operator=(const Spared&) = delete;
};

/// Blocks of memory that are not freed yet.
long live_blocks();

}  // namespace gradstep::test
