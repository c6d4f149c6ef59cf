// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Norms in one launch: teams of threads have a chunk each, and the last block folds what they have left. Where there
// are f64 numbers a second launch follows, which does so once more at another scale if their squares have left f64's
// range.
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

  GRADSTEP_DEVICE double of(double root) const {
    if (finish == Finish::divide) return root / value;
    return finish == Finish::multiply ? root * value : root;
  }
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
    const double all = fold_by_block(block, squares, chunks.count, shared.trees);
    if (block.thread() != 0) return;
    block.store(end.norm, end.of(kernels::square_root(all)));
  }
};

/// What a norm needs between its launches' blocks.
class NormScratch {
 public:
  /// `squares` NULL = no other kernel reads them.
  template <class Own>
  void launch_measure(const Own& own, const Chunks& chunks, double* squares, const NormEnd& end, CudaQueue& queue) {
    if (squares == nullptr) squares = squares_.of<double>(queue, chunks.count);
    auto* ticket = ticket_.of<unsigned>(queue, 1, /*zeroed=*/true);
    std::int64_t blocks = parts_of(chunks.count, Teams<Measure<Own>::kThreads>::kCount);
    if (blocks == 0 && end.norm != nullptr) blocks = 1;  // it writes the norm of nothing
    launch(queue, blocks, Measure<Own>{own, chunks, squares, ticket, end});
  }
  /// After a launch_measure() that has left root(): the norm of `views`, which are what it has measured.
  void launch_scaled(const View* views, const Chunks& chunks, const NormEnd& end, CudaQueue& queue) {
    launch_scaled(views, chunks, squares_.of<double>(queue, chunks.count), root(queue), 1, end, queue);
  }
  /// The squares alone, at a scale.
  void launch_scaled(const View* views, const Chunks& chunks, double scale, double* squares, CudaQueue& queue) {
    launch_scaled(views, chunks, squares, nullptr, scale, NormEnd{}, queue);
  }
  double* root(CudaQueue& queue) { return root_.of<double>(queue, 1); }
  std::size_t bytes() const { return held_bytes(root_, squares_, ticket_); }

 private:
  void launch_scaled(const View* views, const Chunks& chunks, double* squares, const double* root, double scale,
                     const NormEnd& end, CudaQueue& queue);

  ScratchBuffer root_;
  ScratchBuffer squares_;
  ScratchBuffer ticket_;
};

}  // namespace gradstep::cuda
