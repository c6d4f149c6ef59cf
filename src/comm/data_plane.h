// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Collectives on a site's own buffers. (A Communicator's are on the host's memory: plans, votes, facts, texts of
// files.) Where the site is not the host, what travels stays there if the communicator reaches it, and else passes
// through staging at the host.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "backend/site.h"
#include "comm/communicator.h"
#include "comm/device_collectives.h"
#include "comm/staging.h"
#include "core/function_ref.h"

namespace gradstep {

/// The calls of Communicator of the same names, on memory of the site; in the order of its queue. Until settle() has
/// returned a failure may not be known: what was received changes nothing that stays, and is shown to nobody.
class DataPlane {
 public:
  /// Both outlive it.
  DataPlane(Communicator& comm, const Context& context, const Site& site)
      : comm_(comm),
        site_(site),
        staging_(context.allocator()),
        seen_(site.backend().memory()),
        device_(comm.reach(site, context.device_of(site.backend()))) {}

  /// Nothing that travels passes through the host, and calls are queued, in the order in which they are made.
  bool is_queued() const { return device_ != nullptr; }
  /// Returns when what was called has been done; throws if any of it has failed.
  void settle(const Deadline& deadline) {
    if (is_queued()) device_->settle(deadline);
  }

  void all_reduce(const Array& data, std::int32_t op, double divisor, const Deadline& deadline);
  void reduce_scatter(const Array& input, const Array& output, std::int32_t op, const Deadline& deadline);
  void reduce_scatter_v(const Array& data, std::span<const std::int64_t> counts, std::int32_t op, double divisor,
                        const Deadline& deadline);
  void all_gather(const void* send, void* receive, std::int64_t bytes, const Deadline& deadline);
  /// Where the host can read the beginning of each rank's block, until the next call.
  struct Seen {
    const std::byte* first = nullptr;
    std::int64_t stride = 0;  ///< bytes from one rank's to the next one's
  };
  /// all_gather() of which the host is to see the first `seen` bytes of each block: settles.
  Seen all_gather_seen(const void* send, void* receive, std::int64_t bytes, std::int64_t seen,
                       const Deadline& deadline);
  void all_gather_v(const void* send, void* receive, std::span<const std::int64_t> bytes, const Deadline& deadline);
  /// Piece q of `send` goes to rank q, piece r of `receive` comes from rank r, pieces one after the other. The two
  /// sides of a pair agree on the bytes.
  void exchange(const void* send, std::span<const std::int64_t> send_bytes, void* receive,
                std::span<const std::int64_t> receive_bytes, const Deadline& deadline);
  void all_to_all(const void* send, void* receive, std::span<const std::int64_t> bytes, const Deadline& deadline);
  void broadcast(void* data, std::int64_t bytes, std::int32_t root, const Deadline& deadline);
  void send(const void* data, std::int64_t bytes, std::int32_t to, const Deadline& deadline);
  void recv(void* data, std::int64_t bytes, std::int32_t from, const Deadline& deadline);

 private:
  /// at_host(from, to) gathers `all` bytes there, of which `own` are this rank's.
  const std::byte* gather(const void* send, std::int64_t own, void* receive, std::int64_t all,
                          FunctionRef<void(const void*, void*)> at_host);
  /// outgoing_ and incoming_: the pieces, one after the other.
  void list_pieces(const std::byte* send, std::span<const std::int64_t> send_bytes, std::byte* receive,
                   std::span<const std::int64_t> receive_bytes);
  void exchange_at_host(const std::byte* send, std::span<const std::int64_t> send_bytes, std::byte* receive,
                        std::span<const std::int64_t> receive_bytes, const Deadline& deadline);
  /// A copy of `bytes` bytes at the host.
  void download(std::byte* to, const void* from, std::int64_t bytes);
  void upload(void* to, const std::byte* from, std::int64_t bytes);
  std::size_t rank() const { return static_cast<std::size_t>(comm_.rank()); }

  Communicator& comm_;
  const Site& site_;
  Staging staging_;
  Staging seen_;  // at the site
  std::unique_ptr<DeviceCollectives> device_;
  std::vector<Communicator::Outgoing> outgoing_;
  std::vector<Communicator::Incoming> incoming_;
};

}  // namespace gradstep
