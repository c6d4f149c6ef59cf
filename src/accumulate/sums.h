// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// One buffer per parameter, in the memory of a site: sums of gradients, what becomes of them at the end of a window,
// and their norm. When a window ends, its window says (window.h).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "accumulate/rows.h"
#include "accumulate/window.h"
#include "backend/context.h"
#include "core/buffer_list.h"
#include "core/schema.h"
#include "core/state_part.h"
#include "gradstep/accumulator.h"

namespace gradstep {

class WindowSums {
 public:
  /// Site and schema stay as long as this. `dtype`: options.dtype; `keeps`: sums stay undivided in a finished window.
  WindowSums(const Site& site, const Schema& schema, const gradstep_dtype& dtype, bool keeps);

  /// Throws INVALID_ARGUMENT for f64 gradients of f32 sums.
  void check(std::span<const Array> grads) const;
  /// Measures what comes in; waits for the answer.
  bool is_finite(const BufferList& grads, std::span<const AddedRows> rows);

  /// Adds one micro-batch. `last`: what makes results of the sums that it leaves; NULL = more will come.
  void add(const BufferList& grads, std::span<const AddedRows> rows, const Addend& addend, const Ending* last);
  /// Makes and measures the results, unless the last add has.
  void complete(const Ending& ending);
  /// Makes results of sums that were kept.
  void divide(const Ending& ending);
  /// A finished window has results to be made yet.
  bool undivided() const { return undivided_; }
  /// Nothing is in the sums.
  void reset();

  /// By parameter; data NULL where there is none.
  BufferList show();
  double* norm() const { return norms_.as<double>(); }
  DType dtype(std::size_t i) const { return sums_[i].dtype; }
  bool all_are_f64() const;

  /// The tensors "<parameter>/sum" of a file, which show the sums themselves.
  void save(SavedPart& part) const;
  /// What a file has of them, by parameter: the host's bytes, or nothing where there is no sum.
  using Found = std::vector<std::optional<const std::byte*>>;
  Found find(LoadedPart& part) const;
  void take_over(const Found& found, bool undivided, double norm);

 private:
  void touch(std::size_t i);
  void add_dense(const BufferList& grads, const Addend& addend, const Ending* last);
  void add_rows(std::span<const AddedRows> rows, const Addend& addend);
  void measure(const Ending& ending);
  void finish(const Ending& done);

  const Site& site_;
  const Schema& schema_;
  bool keeps_;
  WorkList work_;
  std::vector<Buffer> buffers_;
  std::vector<Array> sums_;
  OwnBuffers shown_;
  std::vector<AccumulateAction> actions_;
  std::vector<std::uint8_t> touched_;  // the parameter has a sum in this window
  AccumulateJob job_;
  NormPlan incoming_;       // of the gradients of one micro-batch
  Buffer norms_;            // of the results, and of what comes in
  bool undivided_ = false;  // finished, with sums kept
  bool measured_ = false;   // the norm is that of the finished sums
};

}  // namespace gradstep
