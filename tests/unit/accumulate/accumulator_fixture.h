// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// An accumulator of one or two small parameters, and its inputs.
#pragma once

#include <cmath>
#include <limits>

#include "accumulate/accumulator.h"
#include "unit/host_calls.h"
#include "unit/support.h"

namespace gradstep::test {

struct AccumulatorOptions : gradstep_accumulator_options {
  AccumulatorOptions() : gradstep_accumulator_options(default_accumulator_options()) {}
  AccumulatorOptions& with_mode(std::int32_t value) {
    mode = value;
    return *this;
  }
  AccumulatorOptions& with_steps(std::int64_t value) {
    steps = value;
    return *this;
  }
};

inline std::unique_ptr<Accumulator> make_accumulator(const gradstep_accumulator_options& options, const Schema& schema,
                                                     std::optional<Schedule> schedule = std::nullopt) {
  return std::make_unique<Accumulator>(make_context(2), options, std::move(schedule), schema);
}

template <class T>
std::vector<T> read(const gradstep_tensor& view) {
  std::int64_t count = 1;
  for (std::int32_t axis = 0; axis < view.ndim; ++axis) count *= view.shape[axis];
  const T* data = static_cast<const T*>(view.data);
  return {data, data + count};
}

template <class T>
std::vector<T> result(Accumulator& accumulator, std::size_t i = 0) {
  std::vector<gradstep_tensor> views(accumulator.schema().size());
  host::read_gradients(accumulator, views);
  return read<T>(views[i]);
}

}  // namespace gradstep::test
