// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// What kernels of an update read. This header, and all that it includes, is also source of programs
// (programs/sources.h).
#pragma once

#include "backend/state_format.h"
#include "device/chunk.h"
#include "kernels/step.h"
#include "rules/room.h"

namespace gradstep::cuda {

/// UpdateItem, as kernels see it.
struct DeviceItem {
  View param;
  View gradient;
  View update;
  void* states[rules::kMaxStates] = {};
  float* factors[rules::kMaxStates] = {};
  float* master = nullptr;
  const rules::GroupConstants* constants = nullptr;
  const double* numbers = nullptr;  ///< of a program
  std::uint8_t* used = nullptr;
  double* count = nullptr;
  std::uint64_t random_key = 0;
  std::int64_t first = 0;
  StateFormat format = StateFormat::native;
  std::uint8_t signed_states = 0;
  std::uint8_t exact_states = 0;
  bool stochastic = false;
  bool in_fours = false;
  std::uint8_t unused[3] = {};
};

/// What all launches of a step share.
struct UpdateArguments {
  const Chunk* chunks = nullptr;
  const DeviceItem* items = nullptr;
  std::int64_t item_count = 0;
  kernels::StepScalars* scalars = nullptr;
  unsigned* ticket = nullptr;
  double clip_bound = 0;  ///< infinite when off
  bool maximize = false;
  bool closes = false;       ///< the last launch: flags are set, and t goes on
  bool marks_items = false;  ///< some flag or count of the items changes
};

/// What all launches of a measurement share.
struct MeasureArguments {
  const Chunk* chunks = nullptr;
  const std::int64_t* places = nullptr;  ///< of their sums; NULL = they are in order
  std::int64_t count = 0;
  const DeviceItem* items = nullptr;
  const kernels::StepScalars* scalars = nullptr;
  rules::Sums* sums = nullptr;
  double clip_bound = 0;
  bool maximize = false;
};

}  // namespace gradstep::cuda
