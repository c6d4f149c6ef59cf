// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "reduce/bucket_exchange.h"

#include <utility>

#include "reduce/adasum.h"
#include "reduce/coded.h"
#include "reduce/half.h"
#include "reduce/power_sgd.h"
#include "reduce/sparse.h"

namespace gradstep {

namespace {

class DenseExchange final : public BucketExchange {
 public:
  using BucketExchange::BucketExchange;

  void exchange(double divisor, const Deadline& deadline, gradstep_bucket_statistics& stats) override {
    if (scatters()) {
      for (const BucketSlices::Segment& segment : slices().segments) {
        const Array all = part_of(packed(), segment.begin, segment.size());
        data().reduce_scatter_v(all, segment.counts, GRADSTEP_REDUCE_SUM, divisor, deadline);
        const Array own = part_of(packed(), segment.own_begin, segment.own_count);
        const Array kept = part_of(result(), segment.place, segment.own_count);
        queue().copy(kept.data, own.data, static_cast<std::size_t>(own.bytes()));
      }
      stats.algorithm = GRADSTEP_EXCHANGE_SCATTER;
      return;
    }
    data().all_reduce(packed(), GRADSTEP_REDUCE_SUM, divisor, deadline);
    stats.algorithm = GRADSTEP_EXCHANGE_ALL_REDUCE;
  }

 private:
  bool can_scatter() const override { return true; }
};

}  // namespace

void BucketExchange::deal(const BucketSlices* slices) {
  if (!can_scatter()) return;
  Buffer piece;
  if (slices != nullptr) {
    piece = resources_.site.allocate(static_cast<std::size_t>(slices->piece * size_of(plan_.dtype)), /*zeroed=*/false);
  }
  piece_ = std::move(piece);
  slices_ = slices;
  lend_from(slices != nullptr ? resources_.pool.get() : nullptr);
}

std::unique_ptr<BucketExchange> make_bucket_exchange(ExchangeResources& resources, const BucketPlan& plan,
                                                     const gradstep_reducer_options& options,
                                                     std::span<const std::vector<std::int64_t>> shapes) {
  std::vector<std::int64_t> sizes;
  for (const auto& shape : shapes) {
    sizes.push_back(1);
    for (const std::int64_t dimension : shape) sizes.back() *= dimension;
  }
  switch (options.mode) {
    case GRADSTEP_REDUCER_HALF:
    case GRADSTEP_REDUCER_BFLOAT16:
      return std::make_unique<HalfExchange>(resources, plan, options);
    case GRADSTEP_REDUCER_SPARSE_THRESHOLD:
    case GRADSTEP_REDUCER_SPARSE_TOPK:
      return std::make_unique<SparseExchange>(resources, plan, options, sizes);
    case GRADSTEP_REDUCER_ADASUM_TREE:
    case GRADSTEP_REDUCER_ADASUM_NWAY:
      return std::make_unique<AdasumExchange>(resources, plan, options, sizes);
    case GRADSTEP_REDUCER_POWERSGD:
      return std::make_unique<PowerSgdExchange>(resources, plan, options, shapes, sizes);
    case GRADSTEP_REDUCER_INT8:
    case GRADSTEP_REDUCER_INT4:
    case GRADSTEP_REDUCER_FP8_E4M3:
    case GRADSTEP_REDUCER_FP8_E5M2:
      return std::make_unique<CodedExchange>(resources, plan, options, sizes);
    default:
      return std::make_unique<DenseExchange>(resources, plan, options);
  }
}

}  // namespace gradstep
