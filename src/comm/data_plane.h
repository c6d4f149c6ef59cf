// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Collectives on a site's own buffers. (A Communicator's are on the host's memory: plans, votes, facts, texts of
// files.) Where the site is not the host, and the engine carries host memory, what travels passes through staging
// there.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "backend/site.h"
#include "comm/communicator.h"
#include "comm/staging.h"
#include "core/function_ref.h"

namespace gradstep {

/// The calls of Communicator of the same names, on memory of the site; in the order of its queue.
class DataPlane {
 public:
  /// Both outlive it.
  DataPlane(Communicator& comm, const Context& context, const Site& site)
      : comm_(comm), site_(site), staging_(context.allocator()) {}

  void all_reduce(const Array& data, std::int32_t op, double divisor, const Deadline& deadline);
  void reduce_scatter_v(const Array& data, std::span<const std::int64_t> counts, std::int32_t op, double divisor,
                        const Deadline& deadline);
  // Gathers return what was received, where the host can read it until the next call.
  const std::byte* all_gather(const void* send, void* receive, std::int64_t bytes, const Deadline& deadline);
  const std::byte* all_gather_v(const void* send, void* receive, std::span<const std::int64_t> bytes,
                                const Deadline& deadline);
  /// Piece q of `send` goes to rank q, piece r of `receive` comes from rank r, pieces one after the other. The two
  /// sides of a pair agree on the bytes.
  void exchange(const void* send, std::span<const std::int64_t> send_bytes, void* receive,
                std::span<const std::int64_t> receive_bytes, const Deadline& deadline);
  void all_to_all(const void* send, void* receive, std::span<const std::int64_t> bytes, const Deadline& deadline);
  void broadcast(void* data, std::int64_t bytes, std::int32_t root, const Deadline& deadline);

 private:
  /// at_host(from, to) gathers `all` bytes there, of which `own` are this rank's.
  const std::byte* gather(const void* send, std::int64_t own, void* receive, std::int64_t all,
                          FunctionRef<void(const void*, void*)> at_host);
  void exchange_at_host(const std::byte* send, std::span<const std::int64_t> send_bytes, std::byte* receive,
                        std::span<const std::int64_t> receive_bytes, const Deadline& deadline);
  /// A copy of `bytes` bytes at the host.
  void download(std::byte* to, const void* from, std::int64_t bytes);
  void upload(void* to, const std::byte* from, std::int64_t bytes);
  std::size_t rank() const { return static_cast<std::size_t>(comm_.rank()); }

  Communicator& comm_;
  const Site& site_;
  Staging staging_;
  std::vector<Communicator::Outgoing> outgoing_;
  std::vector<Communicator::Incoming> incoming_;
};

}  // namespace gradstep
