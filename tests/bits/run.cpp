// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "run.h"

#include <atomic>
#include <exception>
#include <optional>
#include <thread>

#include "digest.h"
#include "handles.h"
#include "rank.h"

namespace gradstep_bits {

namespace {

/// Runs the body of every rank on a thread of its own. A failure on one ends the waiting of the others.
template <class Body>
void run_ranks(const std::vector<CommHandle>& comms, Body&& body) {
  std::exception_ptr first;
  std::atomic<bool> failed = false;
  const auto run = [&](std::size_t rank) {
    try {
      body(rank);
    } catch (...) {
      if (!failed.exchange(true)) first = std::current_exception();
      for (const CommHandle& comm : comms) gradstep_comm_abort(comm.get());
    }
  };
  std::vector<std::thread> threads;
  for (std::size_t rank = 1; rank < comms.size(); ++rank) threads.emplace_back(run, rank);
  run(0);
  for (std::thread& thread : threads) thread.join();
  if (first) std::rethrow_exception(first);
}

}  // namespace

Outcome run_case(const Case& described, int num_threads, bool trace) {
  const ContextHandle context = make_context(num_threads);
  const std::unique_ptr<Device> device = make_device(context.get());
  const std::vector<CommHandle> comms = make_comms(context.get(), described.ranks());
  Shared shared;
  std::vector<std::optional<Digest>> digests(comms.size());
  run_ranks(comms, [&](std::size_t rank) {
    digests[rank].emplace(Rank(described, context.get(), *device, comms[rank].get(), shared, trace).run());
  });
  std::vector<std::uint64_t> hashes;
  Outcome outcome;
  for (std::size_t rank = 0; rank < digests.size(); ++rank) {
    hashes.push_back(digests[rank]->value());
    if (!trace) continue;
    outcome.trace.push_back("rank " + std::to_string(rank));
    outcome.trace.insert(outcome.trace.end(), digests[rank]->trace().begin(), digests[rank]->trace().end());
  }
  outcome.hash = hash_of(hashes.data(), hashes.size() * sizeof(std::uint64_t));
  return outcome;
}

}  // namespace gradstep_bits
