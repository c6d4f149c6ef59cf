// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Which field was the last of every growing struct of the C API in its first version, and how many bytes it had then.
// Hosts that were compiled against that version pass that size for ever: a line of the table is never changed.
// docs/abi.md says how a struct grows.
#pragma once

#include <cstddef>

#include "gradstep/gradstep.h"

// A macro, because offsetof takes no pointer to member, and for the test that goes through all of them.
#define GRADSTEP_GROWING_STRUCTS(X)                    \
  X(gradstep_accumulator_options, keep_sums, 48)       \
  X(gradstep_adagrad_options, seed, 80)                \
  X(gradstep_adam_options, seed, 80)                   \
  X(gradstep_allocator, release, 40)                   \
  X(gradstep_bucket_statistics, wait_nanoseconds, 136) \
  X(gradstep_comm_options, reserved, 88)               \
  X(gradstep_comm_statistics, exchanges, 88)           \
  X(gradstep_comm_vtable, exchange, 120)               \
  X(gradstep_context_options, lapack_library, 104)     \
  X(gradstep_cost, network_seconds, 40)                \
  X(gradstep_cost_options, multiply_seconds, 168)      \
  X(gradstep_load_options, allow_unchecked, 8)         \
  X(gradstep_memory, other_bytes, 24)                  \
  X(gradstep_metric, value, 80)                        \
  X(gradstep_parameter, reserved, 48)                  \
  X(gradstep_reducer_options, reserved, 104)           \
  X(gradstep_rmsprop_options, seed, 80)                \
  X(gradstep_rows, values, 32)                         \
  X(gradstep_rule, states, 40)                         \
  X(gradstep_rule_option, limit, 56)                   \
  X(gradstep_schedule, release, 104)                   \
  X(gradstep_sgd_options, seed, 72)                    \
  X(gradstep_shampoo_options, master_weights, 200)     \
  X(gradstep_sharding_options, preconditioners, 16)    \
  X(gradstep_step_options, result, 56)                 \
  X(gradstep_step_result, clip_coefficient, 24)        \
  X(gradstep_store, release, 40)                       \
  X(gradstep_stream, release, 40)                      \
  X(gradstep_updater_options, grad_scale, 40)          \
  X(gradstep_updater_statistics, step_nanoseconds, 64)

namespace gradstep {

/// Defined for the structs of the table: kSize is the smallest struct_size that a host may pass.
template <class T>
struct Version1;

static_assert(sizeof(void*) == 8, "the table has the sizes of platforms with 64-bit pointers");

#define GRADSTEP_VERSION1(Struct, last_field, bytes)                                              \
  template <>                                                                                     \
  struct Version1<Struct> {                                                                       \
    static constexpr std::size_t kSize = (bytes);                                                 \
    static_assert(offsetof(Struct, last_field) + sizeof(decltype(Struct::last_field)) == (bytes), \
                  "version 1 of " #Struct " ended with " #last_field " at another place");        \
    static_assert((bytes) % 8 == 0 && sizeof(Struct) % 8 == 0 && (bytes) <= sizeof(Struct));      \
    static_assert(offsetof(Struct, struct_size) == 0 && sizeof(Struct::struct_size) == 4);        \
  };

GRADSTEP_GROWING_STRUCTS(GRADSTEP_VERSION1)
#undef GRADSTEP_VERSION1

}  // namespace gradstep
