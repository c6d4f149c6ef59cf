// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Ranks as threads of the test: each body runs on a thread of its own with its communicator.
#pragma once

#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "comm/communicators.h"
#include "unit/support.h"

namespace gradstep::test {

/// The first failure of a rank comes back to the test when all have ended.
template <class Body>
void run_ranks(std::int32_t world_size, Body&& body, std::int64_t timeout_ms = 20000,
               std::int32_t order = GRADSTEP_REDUCTION_RANK) {
  CommSettings settings;
  settings.timeout_ms = timeout_ms;
  settings.reduction_order = order;
  auto comms = make_local_communicators(make_context(), world_size, settings);
  std::mutex mutex;
  std::exception_ptr first;
  std::vector<std::thread> threads;
  for (std::size_t r = 0; r < comms.size(); ++r) {
    threads.emplace_back([&, r] {
      try {
        body(*comms[r]);
      } catch (...) {
        {
          const std::lock_guard lock(mutex);
          if (!first) first = std::current_exception();
        }
        comms[r]->abort();  // the others fail soon instead of waiting for the deadline
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  if (first) std::rethrow_exception(first);
}

}  // namespace gradstep::test
