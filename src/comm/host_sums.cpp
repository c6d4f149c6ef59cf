// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/host_sums.h"

#include <algorithm>
#include <cstring>

#include "comm/communicator.h"
#include "core/slice.h"

namespace gradstep {

HostSums::HostSums(std::shared_ptr<Communicator> inside, std::shared_ptr<Communicator> between, std::int32_t owners,
                   std::int32_t hosts)
    : inside_(std::move(inside)),
      between_(std::move(between)),
      owners_(owners),
      hosts_(hosts),
      staging_(inside_->context().cpu().memory()),
      counts_(static_cast<std::size_t>(inside_->world_size())) {}

void HostSums::run(const Call& call, std::int32_t rank, const Deadline& deadline) {
  switch (call.kind) {
    case CallKind::all_reduce:
      return all_reduce(call.data, call.op, call.divisor, deadline);
    case CallKind::reduce_scatter: {
      const Array sum = reduce_copy(call, deadline);
      const Array own = part_of(sum, rank * call.output.size, call.output.size);
      std::memcpy(call.output.data, own.data, static_cast<std::size_t>(own.bytes()));
      return;
    }
    default: {
      const Array sum = reduce_copy(call, deadline);
      const auto place = static_cast<std::size_t>(rank);
      const std::int64_t begin = total_of(call.counts.first(place));
      const Array own = part_of(sum, begin, call.counts[place]);
      if (own.size == 0) return;
      std::memcpy(part_of(call.data, begin, own.size).data, own.data, static_cast<std::size_t>(own.bytes()));
    }
  }
}

Array HostSums::reduce_copy(const Call& call, const Deadline& deadline) {
  const Array sum = compact_array(staging_.reserve(call.data.bytes()), call.data.size, call.data.dtype);
  std::memcpy(sum.data, call.data.data, static_cast<std::size_t>(sum.bytes()));
  all_reduce(sum, call.op, call.divisor, deadline);
  return sum;
}

void HostSums::all_reduce(const Array& data, std::int32_t op, double divisor, const Deadline& deadline) {
  const std::int64_t piece = equal_share(data.size, owners_, kPieceGrain);
  const auto begin_of = [&](std::int64_t r) { return std::min(data.size, std::min<std::int64_t>(r, owners_) * piece); };
  for (std::size_t r = 0; r < counts_.size(); ++r) {
    const auto place = static_cast<std::int64_t>(r);
    counts_[r] = begin_of(place + 1) - begin_of(place);
  }
  inside_->reduce_scatter_v(data, counts_, op, 1, deadline);
  const Array own = part_of(data, begin_of(inside_->rank()), counts_[static_cast<std::size_t>(inside_->rank())]);
  if (between_ != nullptr) between_->all_reduce(own, op, divisor, deadline);
  for (std::int64_t& count : counts_) count *= size_of(data.dtype);
  inside_->all_gather_v(own.data, data.data, counts_, deadline);
}

std::unique_ptr<HostSums> HostSums::dup(const Deadline& deadline) const {
  auto inside = inside_->dup(deadline);
  auto between = between_ != nullptr ? between_->dup(deadline) : nullptr;
  return std::make_unique<HostSums>(std::move(inside), std::move(between), owners_, hosts_);
}

void HostSums::abort() noexcept {
  inside_->abort();
  if (between_ != nullptr) between_->abort();
}

void HostSums::count(gradstep_comm_statistics& stats) const {
  const auto add = [&stats](const gradstep_comm_statistics& group) {
    stats.bytes_sent += group.bytes_sent;
    stats.rounds += group.rounds;
  };
  add(inside_->stats());
  if (between_ != nullptr) add(between_->stats());
}

}  // namespace gradstep
