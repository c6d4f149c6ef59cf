// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Collectives on a site's own buffers. (A Communicator's are on the host's memory: plans, votes, facts, texts of
// files.) Where the site is not the host, and the engine carries host memory, what travels passes through staging
// there.
#pragma once

#include <cstdint>
#include <span>

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
  void all_gather(const void* send, void* receive, std::int64_t bytes, const Deadline& deadline);
  void all_gather_v(const void* send, void* receive, std::span<const std::int64_t> bytes, const Deadline& deadline);
  void all_to_all(const void* send, void* receive, std::span<const std::int64_t> bytes, const Deadline& deadline);
  void broadcast(void* data, std::int64_t bytes, std::int32_t root, const Deadline& deadline);

 private:
  /// at_host(from, to) gathers `all` bytes there, of which `own` are this rank's.
  void gather(const void* send, std::int64_t own, void* receive, std::int64_t all,
              FunctionRef<void(const void*, void*)> at_host);
  /// A copy of `bytes` bytes at the host.
  void download(std::byte* to, const void* from, std::int64_t bytes);
  void upload(void* to, const std::byte* from, std::int64_t bytes);
  std::size_t rank() const { return static_cast<std::size_t>(comm_.rank()); }

  Communicator& comm_;
  const Site& site_;
  Staging staging_;
};

}  // namespace gradstep
