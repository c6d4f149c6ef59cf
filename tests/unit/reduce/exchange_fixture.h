// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// What exchanges need of one rank of a test, and numbers of theirs.
#pragma once

#include <vector>

#include "reduce/exchange_resources.h"
#include "reduce/reducer_options.h"
#include "unit/ranks.h"

namespace gradstep::test {

using Floats = std::vector<float>;

inline gradstep_reducer_options exchange_options(std::int32_t mode, double sparsity = 0.05) {
  auto options = default_reducer_options();
  options.mode = mode;
  options.sparsity = sparsity;
  return options;
}

inline ExchangeResources make_exchange(Communicator& comm, const gradstep_reducer_options& options,
                                       const Schema& schema) {
  return {make_context(), comm, schema, checked_reducer_options(options), comm.deadline()};
}

inline Array array_of(Floats& values) {
  return compact_array(values.data(), static_cast<std::int64_t>(values.size()), DType::f32);
}
inline Floats floats_of(const Array& array) {
  const auto* numbers = static_cast<const float*>(array.data);
  return {numbers, numbers + array.size};
}

}  // namespace gradstep::test
