// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include <vector>

#include "backend/work_list.h"
#include "device/chunk.h"
#include "gradstep/comm.h"
#include "kernels/rank_operations.h"
#include "operations.h"
#include "runtime/launch.h"
#include "runtime/table.h"

namespace gradstep::cuda {

namespace {

/// As many ranks as this are a parameter of the launch.
constexpr std::size_t kInline = 64;

/// A block has a chunk. Elements are stored as Stored and combined as T.
template <class Op, class Stored, class T>
struct SumRanks {
  static constexpr const char* kName = "sum_ranks";
  static constexpr int kThreads = 256;

  Stored* destination;
  std::int64_t count;
  std::int64_t ranks;
  T divisor;
  const void* sources[kInline];
  const void* const* more;  ///< present = all of them are here

  GRADSTEP_DEVICE void operator()(Block& block) const {
    for_each_element(block, chunk_of_block(block, count), [&](std::int64_t i) {
      T result = element(block, 0, i);
      for (std::int64_t rank = 1; rank < ranks; ++rank) result = Op()(result, element(block, rank, i));
      if (divisor != T{1}) result = result / divisor;
      block.store(destination + i, kernels::convert<Stored>(result));
    });
  }

  GRADSTEP_DEVICE T element(const Block& block, std::int64_t rank, std::int64_t i) const {
    const void* source = more != nullptr ? block.load(more + rank) : sources[rank];
    return kernels::convert<T>(block.load(static_cast<const Stored*>(source) + i));
  }
};

template <class Op, class Stored, class T>
void launch_sum(const RankSum& job, const void* const* more, CudaQueue& queue) {
  SumRanks<Op, Stored, T> kernel{};
  kernel.destination = static_cast<Stored*>(job.destination);
  kernel.count = job.count;
  kernel.ranks = static_cast<std::int64_t>(job.sources.size());
  kernel.divisor = static_cast<T>(job.divisor);
  kernel.more = more;
  for (std::size_t r = 0; r < job.sources.size() && more == nullptr; ++r) kernel.sources[r] = job.sources[r];
  launch(queue, parts_of(job.count, kChunk), kernel);
}

template <class Op>
void sum_typed(const RankSum& job, const void* const* more, CudaQueue& queue) {
  switch (job.dtype) {
    case DType::f32:
      return launch_sum<Op, float, float>(job, more, queue);
    case DType::f64:
      return launch_sum<Op, double, double>(job, more, queue);
    case DType::f16:
      return launch_sum<Op, Float16, float>(job, more, queue);
    case DType::bf16:
      return launch_sum<Op, BFloat16, float>(job, more, queue);
    case DType::i32:
      return launch_sum<Op, std::int32_t, std::int32_t>(job, more, queue);
    case DType::i64:
      return launch_sum<Op, std::int64_t, std::int64_t>(job, more, queue);
    case DType::u8:
      return;  // bytes are codes: nothing to add
  }
}

}  // namespace

void sum_ranks(const RankSum& job, CudaQueue& queue) {
  Table table;
  const void* const* more = nullptr;
  if (job.sources.size() > kInline) {
    table.begin(queue);
    const auto sources = table.add(job.sources.data(), job.sources.size());
    table.send();
    more = table.at(sources);
  }
  switch (job.op) {
    case GRADSTEP_REDUCE_MAX:
      return sum_typed<kernels::Max>(job, more, queue);
    case GRADSTEP_REDUCE_MIN:
      return sum_typed<kernels::Min>(job, more, queue);
    default:
      return sum_typed<kernels::Sum>(job, more, queue);
  }
}

}  // namespace gradstep::cuda
