// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// The library's objects for tests that use the public functions alone: handles that clean up after themselves.
#pragma once

#include <memory>
#include <stdexcept>
#include <string>

#include "gradstep/gradstep.h"

namespace gradstep_handles {

/// Throws with the library's own words; GoogleTest reports it as the test's failure.
inline void check(gradstep_status status) {
  if (status == GRADSTEP_OK) return;
  throw std::runtime_error(std::string(gradstep_status_name(status)) + ": " + gradstep_last_error());
}

template <auto Destroy>
struct Destroyer {
  template <class Handle>
  void operator()(Handle* handle) const {
    Destroy(handle);
  }
};
using ContextHandle = std::unique_ptr<gradstep_context, Destroyer<gradstep_context_destroy>>;
using CommHandle = std::unique_ptr<gradstep_comm, Destroyer<gradstep_comm_destroy>>;
using OptimizerHandle = std::unique_ptr<gradstep_optimizer, Destroyer<gradstep_optimizer_destroy>>;
using AccumulatorHandle = std::unique_ptr<gradstep_accumulator, Destroyer<gradstep_accumulator_destroy>>;
using ReducerHandle = std::unique_ptr<gradstep_reducer, Destroyer<gradstep_reducer_destroy>>;
using UpdaterHandle = std::unique_ptr<gradstep_updater, Destroyer<gradstep_updater_destroy>>;

/// The default options of a call: defaults_of(gradstep_adam_options_init).
template <class Options>
Options defaults_of(gradstep_status (*init)(Options*, std::size_t)) {
  Options options;
  check(init(&options, sizeof options));
  return options;
}

inline ContextHandle make_context(int num_threads) {
  auto options = defaults_of(gradstep_context_options_init);
  options.num_threads = num_threads;
  gradstep_context* context = nullptr;
  check(gradstep_context_create(&options, &context));
  return ContextHandle(context);
}

}  // namespace gradstep_handles
