// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// One window of a reducer over a whole world, from the gradients of all ranks to the one result.
#pragma once

#include <cstring>
#include <functional>

#include "reduce/reducer.h"
#include "unit/comm/worlds.h"
#include "unit/host_calls.h"
#include "unit/ranks.h"

namespace gradstep::test {

template <class T>
using Tensors = std::vector<TestTensor<T>>;

template <class T>
std::vector<std::vector<std::int64_t>> shapes_of(const Tensors<T>& tensors) {
  std::vector<std::vector<std::int64_t>> shapes;
  for (const auto& tensor : tensors) shapes.push_back(tensor.shape);
  return shapes;
}

template <class T>
std::vector<gradstep_tensor> views_of(Tensors<T>& tensors) {
  std::vector<gradstep_tensor> views;
  for (auto& tensor : tensors) views.push_back(tensor.tensor());
  return views;
}

/// The result of `gradients`, by rank; fails the test unless all ranks end with the same bits.
template <class T>
Tensors<T> reduce_world(const World& world, const gradstep_reducer_options& options,
                        const std::vector<Tensors<T>>& gradients) {
  std::vector<Tensors<T>> results = gradients;
  run(world, [&](Communicator& comm) {
    Tensors<T>& own = results[static_cast<std::size_t>(comm.rank())];
    Reducer reducer(make_context(), comm, options, make_schema(shapes_of(own), dtype_of<T>()));
    const auto views = views_of(own);
    host::reduce(reducer, views.data(), views.data(), views.size(), 1);
  });
  for (const Tensors<T>& result : results) {
    for (std::size_t i = 0; i < result.size(); ++i) {
      const std::size_t bytes = result[i].values.size() * sizeof(T);
      if (bytes == 0) continue;
      EXPECT_EQ(std::memcmp(result[i].values.data(), results[0][i].values.data(), bytes), 0)
          << "parameter " << i << ": the ranks differ";
    }
  }
  return results[0];
}

inline gradstep_reducer_options mode_options(std::int32_t mode) {
  auto options = default_reducer_options();
  options.mode = mode;
  return options;
}

/// Mode AUTO, with these candidates.
inline gradstep_reducer_options auto_of(std::int32_t candidates) {
  auto options = mode_options(GRADSTEP_REDUCER_AUTO);
  options.candidates = candidates;
  return options;
}

}  // namespace gradstep::test
