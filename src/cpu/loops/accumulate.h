// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Adding gradients into sums. Formula, finish and squares follow each other block by block, so that the sum passes once
// through memory whatever is wanted of it.
#pragma once

#include "cpu/loops/square.h"
#include "cpu/loops/stream.h"
#include "kernels/accumulate.h"

namespace gradstep::cpu {
namespace {

template <class Formula, class T>
GRADSTEP_FORMULA void produce(Formula formula, T* to, const T* g, std::int64_t count, Finish finish, T finish_value) {
  GRADSTEP_INDEPENDENT
  for (std::int64_t i = 0; i < count; ++i) to[i] = formula(to[i], g[i]);
  if (finish == Finish::divide) {
    GRADSTEP_INDEPENDENT
    for (std::int64_t i = 0; i < count; ++i) to[i] = to[i] / finish_value;
  } else if (finish == Finish::multiply) {
    GRADSTEP_INDEPENDENT
    for (std::int64_t i = 0; i < count; ++i) to[i] = to[i] * finish_value;
  }
}

/// Squares follow every few registers, so that the processor fetches the next sums while it adds the squares of the
/// last.
template <class Formula, class T>
[[gnu::noinline]] void produce_block(Formula formula, T* to, const T* g, std::int64_t count, Finish finish,
                                     T finish_value, bool squares, SquareLanes& block_lanes) {
  constexpr std::int64_t kPiece = 64;
  SquareLanes lanes = block_lanes;
  std::int64_t done = 0;
  for (; done + kPiece <= count; done += kPiece) {
    produce(formula, to + done, g + done, kPiece, finish, finish_value);
    if (squares) lanes.add(to + done, kPiece);
  }
  produce(formula, to + done, g + done, count - done, finish, finish_value);
  if (squares) lanes.add(to + done, count - done);
  block_lanes = lanes;
}

/// One chunk of one sum.
template <class T>
struct ChunkSum {
  const AddStep& step;
  const Array& gradient;
  const Chunk& chunk;
  T* sum;  ///< the chunk's first element
  double* squares;

  /// `kOverwrites`: the formula does not look at the sum. `kReads`: it looks at the gradient.
  template <bool kOverwrites, bool kReads, class Formula>
  void apply(Formula formula) const {
    const bool streams = kOverwrites && step.past_cache;
    const T finish_value = static_cast<T>(step.finish_value);
    ChunkSquares chunk_squares;
    Scratch<T> read_scratch;
    Scratch<T> write_scratch;
    for_each_block(chunk.length, [&](std::int64_t first, std::int64_t count, std::int64_t stream) {
      T* to = streams ? write_scratch.values : sum + first;
      if (!streams) help_prefetcher(to, count);
      const T* g = kReads ? read(gradient, chunk.offset + first, count, read_scratch.values) : to;
      produce_block(formula, to, g, count, step.finish, finish_value, squares != nullptr, chunk_squares.lanes(stream));
      if (streams) stream_block(sum + first, to, count);
    });
    if (streams) stream_fence();
    if (squares != nullptr) *squares = chunk_squares.fold();
  }

  /// The gradient is the result, and nothing is asked of it on the way.
  bool is_plain_stream() const {
    return step.past_cache && step.finish == Finish::nothing && squares == nullptr &&
           direct<T>(gradient, chunk.offset) != nullptr;
  }

  void stream() const {
    const T* g = direct<T>(gradient, chunk.offset);
    for_each_block(chunk.length, [&](std::int64_t first, std::int64_t count, std::int64_t) {
      help_prefetcher(g + first, count);
      stream_block(sum + first, g + first, count);
    });
    stream_fence();
  }

  template <AddFormula kFormula>
  void run(AccumulateAction action) const {
    constexpr bool kRunning = kFormula == AddFormula::running;
    const T factor = static_cast<T>(step.factor);
    if (action == AccumulateAction::assign) {
      if (kFormula == AddFormula::plain && is_plain_stream()) return stream();
      apply<true, true>(kernels::Assign<kFormula, T>{factor});
    } else if (action == AccumulateAction::add) {
      apply<false, true>(kernels::Add<kFormula, T>{factor});
    } else if (kRunning || squares != nullptr || step.finish != Finish::nothing) {
      apply<false, false>(kernels::Keep<kRunning, T>{factor});
    }
  }
};

template <class T>
void accumulate_typed(const AddStep& step, AccumulateAction action, const Array& sum, const Array& gradient,
                      const Chunk& chunk, double* squares) {
  const ChunkSum<T> chunk_sum{step, gradient, chunk, static_cast<T*>(sum.data) + chunk.offset, squares};
  switch (step.formula) {
    case AddFormula::plain:
      return chunk_sum.template run<AddFormula::plain>(action);
    case AddFormula::multiplied:
      return chunk_sum.template run<AddFormula::multiplied>(action);
    case AddFormula::divided:
      return chunk_sum.template run<AddFormula::divided>(action);
    case AddFormula::running:
      return chunk_sum.template run<AddFormula::running>(action);
  }
}

void accumulate_chunk(const AddStep& step, AccumulateAction action, const Array& sum, const Array& gradient,
                      const Chunk& chunk, double* squares) {
  if (action == AccumulateAction::none) {
    if (squares != nullptr) *squares = 0;
  } else if (sum.dtype == DType::f64) {
    accumulate_typed<double>(step, action, sum, gradient, chunk, squares);
  } else {
    accumulate_typed<float>(step, action, sum, gradient, chunk, squares);
  }
}

}  // namespace
}  // namespace gradstep::cpu
