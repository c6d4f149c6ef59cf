// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "reduce/error_feedback.h"

#include <numeric>
#include <utility>

namespace gradstep {

ErrorFeedback::ErrorFeedback(const Site& site, DType dtype, std::span<const std::int64_t> sizes, const char* name,
                             bool keeps)
    : dtype_(dtype),
      sizes_(sizes.begin(), sizes.end()),
      elements_(std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0})),
      name_(name),
      keeps_(keeps) {
  const auto bytes = static_cast<std::size_t>(elements_ * size_of(dtype));
  packed_ = site.allocate(bytes, /*zeroed=*/false);
  if (keeps) kept_ = site.allocate(bytes, /*zeroed=*/true);
}

void ErrorFeedback::commit() {
  if (keeps_) std::swap(packed_, kept_);
}

void ErrorFeedback::finish(const ErrorFeedback& failed, Queue& queue) {
  if (keeps_) queue.copy(kept_.data(), failed.packed_.data(), kept_.bytes());
}

void ErrorFeedback::list(std::vector<KeptTensor>& tensors) const {
  if (keeps_) list_kept(tensors, name_, kept(), sizes_);
}

}  // namespace gradstep
