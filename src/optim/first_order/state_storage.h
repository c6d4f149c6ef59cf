// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// The options that all rules share: how state is stored, and how numbers are rounded into 16 bits.
#pragma once

#include <cstdint>
#include <string>

#include "backend/backend.h"
#include "core/error.h"
#include "core/hash.h"
#include "core/schema.h"
#include "gradstep/optimizer.h"
#include "kernels/random.h"

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

/// A stream of random bits of its own for each parameter.
inline std::uint64_t random_key(const std::string& name, std::uint64_t seed) {
  return kernels::mix64(hash_bytes(name.data(), name.size()) ^ kernels::mix64(seed));
}

/// Throws UNSUPPORTED.
inline void check_storage(const StateStorage& storage, const Parameter& parameter) {
  if (storage.format != StateFormat::native && parameter.dtype == DType::f64) {
    fail(GRADSTEP_ERR_UNSUPPORTED, "options.state_dtype: parameter '{}' is f64, whose state is f64 (native)",
         parameter.name);
  }
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
