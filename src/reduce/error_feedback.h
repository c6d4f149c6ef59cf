// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// What a window leaves out of what it sends waits for the next one, whose gradients are added to it (error feedback,
// Seide et al. 2014). Two memories: a window writes beside what the last one has left, so one that fails is undone by
// forgetting what it has written, and one that succeeds is kept when they change places.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "backend/site.h"
#include "reduce/kept_tensor.h"

namespace gradstep {

class ErrorFeedback {
 public:
  /// Parameters of `sizes` elements, one after the other; `name` of what is kept. Unless `keeps`, windows leave
  /// nothing.
  ErrorFeedback(const Site& site, DType dtype, std::span<const std::int64_t> sizes, const char* name, bool keeps);

  bool keeps() const { return keeps_; }
  /// Gradients of this window + kept(); less what is sent it is what stays.
  Array packed() const { return compact_array(packed_.data(), elements_, dtype_); }
  /// What the last window has left; data NULL = nothing is kept.
  Array kept() const { return compact_array(kept_.data(), elements_, dtype_); }
  /// packed() is kept from now on.
  void commit();
  /// Keeps what `failed`, of the same sizes, had packed.
  void finish(const ErrorFeedback& failed, Queue& queue);
  void list(std::vector<KeptTensor>& tensors) const;

 private:
  DType dtype_;
  std::vector<std::int64_t> sizes_;
  std::int64_t elements_;
  const char* name_;
  bool keeps_;
  Buffer packed_;
  Buffer kept_;
};

}  // namespace gradstep
