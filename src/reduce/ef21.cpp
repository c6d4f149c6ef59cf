// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "reduce/ef21.h"

#include <numeric>

namespace gradstep {

Ef21::Ef21(ExchangeResources& resources, DType dtype, std::span<const std::int64_t> sizes)
    : resources_(resources),
      dtype_(dtype),
      sizes_(sizes.begin(), sizes.end()),
      elements_(std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0})),
      work_({&elements_, 1}) {
  for (Buffer* buffer : {&estimate_, &total_, &result_}) {
    *buffer = resources.site.allocate(static_cast<std::size_t>(elements_ * size_of(dtype)), /*zeroed=*/true);
  }
}

void Ef21::add(const Array& sum, double divisor) {
  const CombineItem added{result(), array(total_), sum};
  backend().combine({&work_, {&added, 1}, {}}, queue());
  const CopyItem divided{result(), result()};
  if (divisor != 1) backend().copy({&work_, {&divided, 1}, {}}, 1, divisor, queue());
}

void Ef21::commit(const SparseList& sent, const Array& sum, SparseList touched) {
  finish(sent);
  std::byte* values = resources_.outgoing.reserve(touched.count * size_of(dtype_));
  backend().take(sum, touched, values, queue());
  touched.values = values;
  backend().put(array(total_), touched, /*add=*/true, queue());
}

void Ef21::finish(const SparseList& sent) { backend().put(estimate(), sent, /*add=*/true, queue()); }

void Ef21::rejoin(const Deadline& deadline) {
  const CopyItem own{array(total_), estimate()};
  backend().copy({&work_, {&own, 1}, {}}, 1, 1, queue());
  resources_.data->all_reduce(array(total_), GRADSTEP_REDUCE_SUM, 1, deadline);
}

void Ef21::list(std::vector<KeptTensor>& tensors) const {
  list_kept(tensors, "estimate", estimate(), sizes_);
  list_kept(tensors, "total_estimate", array(total_), sizes_, /*replicated=*/true);
}

}  // namespace gradstep
