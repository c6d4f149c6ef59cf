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
      wire_memory_(resources.site, static_cast<std::size_t>(plan.elements * size_of(DType::f16)), /*zeroed=*/false),
      nonfinite_(resources.site.allocate(sizeof(std::int64_t), /*zeroed=*/true)) {
  const auto ranks = static_cast<std::int64_t>(world_size());
  for (std::int64_t q = 0; q < ranks; ++q) {
    piece_counts_.push_back(plan_.elements * (q + 1) / ranks - plan_.elements * q / ranks);
  }
}

void HalfExchange::lend_from(MemoryPool* pool) {
  BucketExchange::lend_from(pool);
  wire_memory_.lend_from(pool);
}

void HalfExchange::take_memory() {
  wire_memory_.take(resources_.site);
  narrows_while_packing() ? do_without_memory() : BucketExchange::take_memory();
}

void HalfExchange::give_memory(const Event& last_use) noexcept {
  wire_memory_.give(last_use);
  BucketExchange::give_memory(last_use);
}

Array HalfExchange::wire() const {
  const DType dtype = options().mode == GRADSTEP_REDUCER_HALF ? DType::f16 : DType::bf16;
  return {wire_memory_.data(), plan_.elements, dtype, 0, nullptr, nullptr};
}

/// What is neither clipped nor multiplied or divided before the cast needs no f32 in between.
bool HalfExchange::narrows_while_packing() const {
  return options().clip_value == 0 && options().half_sum != GRADSTEP_HALF_SUM_FP16_PREDIVIDED && !is_weighted();
}

Array HalfExchange::packed() const { return narrows_while_packing() ? wire() : whole(); }

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
    if (options().clip_value > 0) backend().clamp(whole(), weight * options().clip_value, queue());
    const CopyItem narrow{wire(), whole()};
    backend().copy({&work_, {&narrow, 1}, {}}, multiplier, before, queue());
  }
  const bool sums_f32 = options().half_sum == GRADSTEP_HALF_SUM_F32;
  const auto widen = [&](const Array& to, const Array& sums, const WorkList& work) {
    backend().count_nonfinite(sums, nonfinite_.as<std::int64_t>(), queue());
    const CopyItem item{to, sums};
    backend().copy({&work, {&item, 1}, {}}, 1, predivided || sums_f32 ? 1 : divisor, queue());
  };
  if (scatters()) {
    for (const BucketSlices::Segment& segment : slices().segments) {
      const Array all = part_of(wire(), segment.begin, segment.size());
      Array own = part_of(wire(), segment.own_begin, segment.own_count);
      if (sums_f32) {
        data().reduce_scatter_v(all, segment.counts, GRADSTEP_REDUCE_SUM, divisor, deadline);
      } else {
        own = sum_in_half(all, segment.counts, deadline);
      }
      widen(part_of(result(), segment.place, own.size), own, WorkList({&own.size, 1}));
    }
    stats.algorithm = GRADSTEP_EXCHANGE_SCATTER;
  } else if (sums_f32) {
    data().all_reduce(wire(), GRADSTEP_REDUCE_SUM, divisor, deadline);
    widen(result(), wire(), work_);
    stats.algorithm = GRADSTEP_EXCHANGE_ALL_REDUCE;
  } else {
    const Array own = sum_in_half(wire(), piece_counts_, deadline);
    data().all_gather_v(own.data, wire().data, byte_counts_, deadline);
    widen(result(), wire(), work_);
    stats.algorithm = GRADSTEP_EXCHANGE_PIECES;
  }
  if (queue().is_host()) complete(stats);
}

void HalfExchange::complete(gradstep_bucket_statistics& stats) const {
  stats.nonfinite = read(queue(), nonfinite_.as<std::int64_t>());
}

/// This rank's piece of the sums over all ranks' `packed`, of which rank q has counts[q] elements. Where it lies is
/// scratch memory.
Array HalfExchange::sum_in_half(const Array& packed, std::span<const std::int64_t> counts, const Deadline& deadline) {
  const auto ranks = static_cast<std::int64_t>(world_size());
  byte_counts_.assign(counts.begin(), counts.end());
  for (std::int64_t& count : byte_counts_) count *= size_of(packed.dtype);
  const std::int64_t own = byte_counts_[rank()];
  std::byte* blocks = resources_.blocks.reserve(own * ranks);
  data().all_to_all(packed.data, blocks, byte_counts_, deadline);
  for (std::int64_t r = 1; r < ranks; ++r) {
    const void* const two[] = {blocks, blocks + r * own};
    backend().sum_ranks({blocks, two, counts[rank()], packed.dtype, GRADSTEP_REDUCE_SUM, 1}, queue());
  }
  return compact_array(blocks, counts[rank()], packed.dtype);
}

}  // namespace gradstep
