// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "reduce/exchange_resources.h"

#include <algorithm>
#include <utility>

#include "backend/plugin_loader.h"
#include "comm/compare_ranks.h"
#include "reduce/plan.h"

namespace gradstep {

ExchangeResources::ExchangeResources(std::shared_ptr<Context> own_context, const Site& where,
                                     const gradstep_reducer_options& checked)
    : context(std::move(own_context)),
      site(where),
      own_stream(make_own_stream(context->device_of(site.backend()))),
      own_lane(site),
      options(checked),
      outgoing(site.backend().memory()),
      incoming(site.backend().memory()),
      blocks(site.backend().memory()),
      nonfinite(site.allocate(sizeof(std::int64_t), /*zeroed=*/true)),
      half_norm(site.allocate(sizeof(double), /*zeroed=*/true)) {
  if (own_stream != nullptr) own_lane.use(own_stream.get());
}

ExchangeResources::ExchangeResources(const std::shared_ptr<Context>& own_context, Communicator& parent,
                                     const Schema& schema, const gradstep_reducer_options& checked,
                                     const Deadline& deadline)
    : ExchangeResources(own_context, own_context->site(schema), checked) {
  comm = parent.private_channel(deadline);
  data = std::make_unique<DataPlane>(*comm, *context, lane());
  const auto what = [](std::size_t i) { return PlanDigest::what(i); };
  compare_ranks(*comm, digest_of(schema, options).values, what, deadline);
}

std::size_t ExchangeResources::channels_for(std::size_t buckets) const {
  if (!may_overlap() || !site.is_host()) return 1;
  constexpr std::int32_t kMostRanks = 16;
  constexpr std::size_t kOverNetworks = 4;
  auto wanted = static_cast<std::size_t>(options.channels);
  if (wanted == 0)
    wanted = comm->connection().engine().is_over_network() && comm->world_size() <= kMostRanks ? kOverNetworks : 1;
  return std::clamp(buckets, std::size_t{1}, wanted);
}

void ExchangeResources::open_channels(std::size_t buckets, const Deadline& deadline) {
  while (further.size() + 1 < channels_for(buckets)) {
    auto& next = *further.emplace_back(std::make_unique<ExchangeResources>(context, site, options));
    next.comm = comm->private_channel(deadline);
    next.data = std::make_unique<DataPlane>(*next.comm, *context, next.lane());
    next.state = state;
    next.pool = pool;
  }
}

ExchangeResources& ExchangeResources::of_bucket(std::size_t bucket) {
  const std::size_t channel = bucket % (further.size() + 1);
  return channel == 0 ? *this : *further[channel - 1];
}

std::vector<std::shared_ptr<Communicator>> ExchangeResources::channels() const {
  std::vector<std::shared_ptr<Communicator>> all{comm};
  for (const auto& other : further) all.push_back(other->comm);
  return all;
}

gradstep_comm_statistics ExchangeResources::comm_stats() const {
  using Statistics = gradstep_comm_statistics;
  Statistics all = comm->stats();
  for (const auto& other : further) {
    const Statistics own = other->comm->stats();
    for (const auto counter :
         {&Statistics::all_reduces, &Statistics::all_gathers, &Statistics::reduce_scatters, &Statistics::broadcasts,
          &Statistics::sends, &Statistics::receives, &Statistics::barriers, &Statistics::bytes_sent,
          &Statistics::nanoseconds, &Statistics::exchanges, &Statistics::rounds}) {
      all.*counter += own.*counter;
    }
  }
  return all;
}

void ExchangeResources::begin_window(double weight) {
  state->weight = weight;
  total_weight.reset();
  for (const auto& other : further) other->total_weight.reset();
}

bool ExchangeResources::is_finite(const Array& numbers, Queue& queue) const {
  auto* count = nonfinite.as<std::int64_t>();
  queue.zero(count, sizeof *count);
  backend().count_nonfinite(numbers, count, queue);
  return read(queue, count) == 0;
}

double ExchangeResources::agree_on_weight(const Deadline& deadline) {
  if (!total_weight) {
    double sum = state->weight;
    comm->all_reduce({&sum, 1, DType::f64, 0, nullptr, nullptr}, GRADSTEP_REDUCE_SUM, 1, deadline);
    total_weight = sum;
  }
  return *total_weight;
}

}  // namespace gradstep
