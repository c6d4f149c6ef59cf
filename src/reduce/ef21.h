// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// EF21 (Richtarik, Sokolov, Fatkhullin 2021): every rank has an estimate of its gradient, and sends the large elements
// of the difference. All ranks know the sum of the estimates, which stands for that of the gradients.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "backend/exchange.h"
#include "reduce/exchange_resources.h"
#include "reduce/kept_tensor.h"

namespace gradstep {

class Ef21 {
 public:
  /// Parameters of `sizes` elements, one after the other. `resources` outlive it.
  Ef21(ExchangeResources& resources, DType dtype, std::span<const std::int64_t> sizes);

  // Work is queued in the lane.

  /// This rank's.
  Array estimate() const { return array(estimate_); }
  /// (The sum of all estimates + what was added last) / its divisor.
  Array result() const { return array(result_); }
  /// `sum` of what all ranks have sent.
  void add(const Array& sum, double divisor);
  /// This rank's estimate grows by what it has `sent`, and the sum of all by the elements of `sum` that were `touched`.
  void commit(const SparseList& sent, const Array& sum, SparseList touched);
  /// This rank has `sent` it in a window that the others have finished; rejoin() brings the sum.
  void finish(const SparseList& sent);
  /// Collective: the estimate of a rank that is gone does not stay in the sum of all.
  void rejoin(const Deadline& deadline);
  void list(std::vector<KeptTensor>& tensors) const;

 private:
  Array array(const Buffer& buffer) const { return compact_array(buffer.data(), elements_, dtype_); }
  Backend& backend() const { return resources_.backend(); }
  Queue& queue() const { return resources_.lane().queue(); }

  ExchangeResources& resources_;
  DType dtype_;
  std::vector<std::int64_t> sizes_;
  std::int64_t elements_;
  WorkList work_;
  Buffer estimate_;
  Buffer total_;   // of all ranks' estimates
  Buffer result_;  // the same after this window, divided
};

}  // namespace gradstep
