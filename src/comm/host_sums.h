// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Reductions in the order of hosts: ((host 0) + (host 1) + ...), where the sum of a host is that of its ranks, in their
// order. Bytes cross the network once for each host instead of once for each rank.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "comm/call.h"
#include "comm/staging.h"
#include "core/deadline.h"

namespace gradstep {

class Communicator;

class HostSums {
 public:
  /// `inside` has the ranks of this host. `between` has the rank of each host with this one's place there, of those
  /// that are among the first `owners` of their hosts; NULL for others. Every one of `hosts` has `owners` ranks or
  /// more.
  HostSums(std::shared_ptr<Communicator> inside, std::shared_ptr<Communicator> between, std::int32_t owners,
           std::int32_t hosts);

  /// A reduction of at least one element, on the host's memory; `rank` is this one's among all. Collective.
  void run(const Call& call, std::int32_t rank, const Deadline& deadline);
  /// Over channels of its own, between the same ranks. Collective.
  std::unique_ptr<HostSums> dup(const Deadline& deadline) const;
  void abort() noexcept;
  /// Whether the communicator's reductions are by hosts, from the next call on: else they are in the order of ranks.
  void use(bool is_used) { is_used_ = is_used; }
  bool is_used() const { return is_used_; }
  /// Adds the bytes and rounds of both groups.
  void count(gradstep_comm_statistics& stats) const;
  Communicator& inside() const { return *inside_; }
  /// NULL where this rank owns nothing.
  Communicator* between() const { return between_.get(); }
  std::int32_t owners() const { return owners_; }
  std::int32_t hosts() const { return hosts_; }

 private:
  /// data = the reduction [/ divisor], in place. The first ranks of each host own a piece each: they sum it inside
  /// their host, then between hosts, and give it to their host.
  void all_reduce(const Array& data, std::int32_t op, double divisor, const Deadline& deadline);
  /// The reduction of all of call.data, in staging.
  Array reduce_copy(const Call& call, const Deadline& deadline);

  std::shared_ptr<Communicator> inside_;
  std::shared_ptr<Communicator> between_;
  std::int32_t owners_;
  std::int32_t hosts_;
  bool is_used_ = true;
  Staging staging_;
  std::vector<std::int64_t> counts_;  // elements of each piece, then bytes
};

/// The order of a communicator's reductions, for as long as it lives.
class SumOrder {
 public:
  /// `sums` NULL: there is one order alone.
  SumOrder(HostSums* sums, bool by_hosts) : sums_(sums) {
    if (sums_ != nullptr) sums_->use(by_hosts);
  }
  ~SumOrder() {
    if (sums_ != nullptr) sums_->use(true);
  }
  SumOrder(const SumOrder&) = delete;
  SumOrder& operator=(const SumOrder&) = delete;

 private:
  HostSums* sums_;
};

}  // namespace gradstep
