// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// The options that all rules share: how state is stored, and how numbers are rounded into 16 bits.
#pragma once

#include <cstdint>

#include "backend/backend.h"
#include "core/error.h"
#include "core/schema.h"
#include "gradstep/optimizer.h"

namespace gradstep {

struct StateStorage {
  bool master_weights = false;
  StateFormat format = StateFormat::native;
  bool stochastic_rounding = false;
  std::uint64_t seed = 0;
};

inline bool wants_master(const StateStorage& storage, const Parameter& parameter) {
  return storage.master_weights && (parameter.dtype == DType::f16 || parameter.dtype == DType::bf16);
}

/// Reads the shared fields of an options struct. Throws INVALID_ARGUMENT.
template <class Options>
StateStorage storage_of(const Options& o) {
  StateStorage storage;
  storage.master_weights = o.master_weights != 0;
  storage.stochastic_rounding = o.stochastic_rounding != 0;
  storage.seed = static_cast<std::uint64_t>(o.seed);
  switch (o.state_dtype) {
    case GRADSTEP_STATE_DTYPE_NATIVE:
      break;
    case GRADSTEP_STATE_DTYPE_BF16:
      storage.format = StateFormat::bf16;
      break;
    case GRADSTEP_STATE_DTYPE_INT8:
      storage.format = StateFormat::block_code;
      break;
    default:
      fail_argument("options.state_dtype: is {}, expected 0 (native), 1 (bf16) or 2 (int8)", o.state_dtype);
  }
  return storage;
}

}  // namespace gradstep
