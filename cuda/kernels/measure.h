// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Norms in one launch: teams of threads have a chunk each, and the last block folds what they have left.
#pragma once

#include "backend/accumulation.h"
#include "device/reduce.h"
#include "runtime/launch.h"
#include "runtime/table.h"

namespace gradstep::cuda {

/// What becomes of the root of the sum.
struct NormEnd {
  double* norm = nullptr;  ///< NULL = the chunks' sums are wanted, and no norm
  Finish finish = Finish::nothing;
  double value = 1;
};

/// `Own` says what a thread adds to the squares of its team's chunk: double operator()(Block&, const Chunk&) const.
template <class Own>
struct Measure {
  static constexpr const char* kName = Own::kName;
  static constexpr int kThreads = 256;
  struct Shared {
    typename Teams<kThreads>::Shared teams;
    double trees[kThreads];
    bool last;
  };

  Own own;
  Chunks chunks;
  double* squares;  ///< by chunk
  unsigned* ticket;
  NormEnd end;

  GRADSTEP_DEVICE void operator()(Block& block) const {
    auto& shared = block.shared<Shared>();
    const Teams<kThreads> teams(block);
    double sum = teams.chunk < chunks.count ? own(block, block.load(chunks.chunks + teams.chunk)) : 0;
    sum = teams.fold(block, sum, shared.teams);
    if (teams.chunk < chunks.count && teams.is_first) block.store(squares + teams.chunk, sum);
    if (end.norm == nullptr || !is_last(block, ticket, shared.last)) return;
    const double all = fold_by_block<double, kThreads>(block, chunks.count, shared.trees,
                                                       [&](std::int64_t i) { return block.load(squares + i); });
    if (block.thread() != 0) return;
    double norm = kernels::square_root(all);
    if (end.finish == Finish::divide) norm /= end.value;
    if (end.finish == Finish::multiply) norm *= end.value;
    block.store(end.norm, norm);
  }
};

/// What a norm needs between its launches' blocks.
class NormScratch {
 public:
  /// `squares` NULL = they are nobody else's.
  template <class Own>
  void launch_measure(const Own& own, const Chunks& chunks, double* squares, const NormEnd& end, CudaQueue& queue) {
    if (squares == nullptr) squares = squares_.of<double>(queue, chunks.count);
    auto* ticket = ticket_.of<unsigned>(queue, 1, /*zeroed=*/true);
    std::int64_t blocks = parts_of(chunks.count, Teams<Measure<Own>::kThreads>::kCount);
    if (blocks == 0 && end.norm != nullptr) blocks = 1;  // it writes the norm of nothing
    launch(queue, blocks, Measure<Own>{own, chunks, squares, ticket, end});
  }

 private:
  ScratchBuffer squares_;
  ScratchBuffer ticket_;
};

}  // namespace gradstep::cuda
