// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "reduce/bucket_exchange.h"

#include "reduce/adasum.h"
#include "reduce/half.h"
#include "reduce/sparse.h"

namespace gradstep {

namespace {

class DenseExchange final : public BucketExchange {
 public:
  using BucketExchange::BucketExchange;

  void exchange(double divisor, const Deadline& deadline, gradstep_bucket_statistics& stats) override {
    comm().all_reduce(packed(), GRADSTEP_REDUCE_SUM, divisor, deadline);
    stats.algorithm = GRADSTEP_EXCHANGE_ALL_REDUCE;
  }
};

}  // namespace

std::unique_ptr<BucketExchange> make_bucket_exchange(ExchangeResources& resources, const BucketPlan& plan,
                                                     std::span<const std::int64_t> sizes) {
  switch (resources.options.mode) {
    case GRADSTEP_REDUCER_HALF:
    case GRADSTEP_REDUCER_BFLOAT16:
      return std::make_unique<HalfExchange>(resources, plan);
    case GRADSTEP_REDUCER_SPARSE_THRESHOLD:
    case GRADSTEP_REDUCER_SPARSE_TOPK:
      return std::make_unique<SparseExchange>(resources, plan, sizes);
    case GRADSTEP_REDUCER_ADASUM_TREE:
    case GRADSTEP_REDUCER_ADASUM_NWAY:
      return std::make_unique<AdasumExchange>(resources, plan, sizes);
    default:
      return std::make_unique<DenseExchange>(resources, plan);
  }
}

}  // namespace gradstep
