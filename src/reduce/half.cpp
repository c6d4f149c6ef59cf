// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// In f32 sums overflow only where the divided sum does, and every element is rounded twice: to the wire, and after the
// sum. The f16 sums of SINGA and PyTorch, which round after every addition, are built from sums of two.
#include "reduce/half.h"

namespace gradstep {

HalfExchange::HalfExchange(ExchangeResources& resources, const BucketPlan& plan,
                           const gradstep_reducer_options& checked)
    : BucketExchange(resources, plan, checked),
      work_({&plan_.elements, 1}),
      wire_memory_(resources.site.allocate(static_cast<std::size_t>(plan.elements * size_of(DType::f16)),
                                           /*zeroed=*/false)) {
  const DType dtype = options().mode == GRADSTEP_REDUCER_HALF ? DType::f16 : DType::bf16;
  nonfinite_ = resources_.site.allocate(sizeof(std::int64_t), /*zeroed=*/true);
  wire_ = {wire_memory_.data(), plan.elements, dtype, 0, nullptr, nullptr};
  const auto ranks = static_cast<std::int64_t>(world_size());
  for (std::int64_t q = 0; q < ranks; ++q) {
    const std::int64_t begin = plan_.elements * q / ranks;
    piece_bytes_.push_back((plan_.elements * (q + 1) / ranks - begin) * size_of(dtype));
  }
}

/// What is neither clipped nor multiplied or divided before the cast needs no f32 in between.
bool HalfExchange::narrows_while_packing() const {
  return options().clip_value == 0 && options().half_sum != GRADSTEP_HALF_SUM_FP16_PREDIVIDED && !is_weighted();
}

Array HalfExchange::packed() const { return narrows_while_packing() ? wire_ : result(); }

void HalfExchange::exchange(double divisor, const Deadline& deadline, gradstep_bucket_statistics& stats) {
  const bool predivided = options().half_sum == GRADSTEP_HALF_SUM_FP16_PREDIVIDED;
  double multiplier = 1;
  double before = predivided ? divisor : 1;
  double weight = 1;
  if (is_weighted()) {
    // What was packed is multiplied by a weight, of tokens perhaps. A mean of gradients times ranks weight / total does
    // not leave the range of 16 bits where gradients do not.
    const double total = resources_.agree_on_weight(deadline);
    weight = resources_.state->weight;
    divisor = multiplier = static_cast<double>(world_size());
    before = total > 0 ? total : 1;
  }
  if (!narrows_while_packing()) {
    if (options().clip_value > 0) backend().clamp(result(), weight * options().clip_value, queue());
    const CopyItem narrow{wire_, result()};
    backend().copy({&work_, {&narrow, 1}, {}}, multiplier, before, queue());
  }
  if (options().half_sum == GRADSTEP_HALF_SUM_F32) {
    data().all_reduce(wire_, GRADSTEP_REDUCE_SUM, divisor, deadline);
    stats.algorithm = GRADSTEP_EXCHANGE_ALL_REDUCE;
  } else {
    sum_in_half(deadline);
    stats.algorithm = GRADSTEP_EXCHANGE_PIECES;
  }
  backend().count_nonfinite(wire_, nonfinite_.as<std::int64_t>(), queue());
  if (queue().is_host()) complete(stats);
  const CopyItem widen{result(), wire_};
  const bool divided = predivided || options().half_sum == GRADSTEP_HALF_SUM_F32;
  backend().copy({&work_, {&widen, 1}, {}}, 1, divided ? 1 : divisor, queue());
}

void HalfExchange::complete(gradstep_bucket_statistics& stats) const {
  stats.nonfinite = read(queue(), nonfinite_.as<std::int64_t>());
}

void HalfExchange::sum_in_half(const Deadline& deadline) {
  const auto ranks = static_cast<std::int64_t>(world_size());
  const std::int64_t own = piece_bytes_[rank()];
  std::byte* blocks = resources_.blocks.reserve(own * ranks);
  data().all_to_all(wire_.data, blocks, piece_bytes_, deadline);
  for (std::int64_t r = 1; r < ranks; ++r) {
    const void* const two[] = {blocks, blocks + r * own};
    backend().sum_ranks({blocks, two, own / size_of(wire_.dtype), wire_.dtype, GRADSTEP_REDUCE_SUM, 1}, queue());
  }
  data().all_gather_v(blocks, wire_.data, piece_bytes_, deadline);
}

}  // namespace gradstep
