// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "reduce/exchange_resources.h"

#include <utility>

#include "backend/plugin_loader.h"
#include "comm/compare_ranks.h"
#include "reduce/plan.h"

namespace gradstep {

ExchangeResources::ExchangeResources(std::shared_ptr<Context> own_context, const Schema& schema,
                                     const gradstep_reducer_options& checked)
    : context(std::move(own_context)),
      site(context->site(schema)),
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

ExchangeResources::ExchangeResources(std::shared_ptr<Context> own_context, Communicator& parent, const Schema& schema,
                                     const gradstep_reducer_options& checked, const Deadline& deadline)
    : ExchangeResources(std::move(own_context), schema, checked) {
  comm = parent.private_channel(deadline);
  data = std::make_unique<DataPlane>(*comm, *context, lane());
  const auto what = [](std::size_t i) { return PlanDigest::what(i); };
  compare_ranks(*comm, digest_of(schema, options).values, what, deadline);
}

bool ExchangeResources::is_finite(const Array& numbers, Queue& queue) const {
  auto* count = nonfinite.as<std::int64_t>();
  queue.zero(count, sizeof *count);
  backend().count_nonfinite(numbers, count, queue);
  return read(queue, count) == 0;
}

double ExchangeResources::agree_on_weight(const Deadline& deadline) {
  if (!total_weight) {
    double sum = weight;
    comm->all_reduce({&sum, 1, DType::f64, 0, nullptr, nullptr}, GRADSTEP_REDUCE_SUM, 1, deadline);
    total_weight = sum;
  }
  return *total_weight;
}

}  // namespace gradstep
