// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// The kernels of the update rules. They are compiled in several files, one for each arithmetic type and way, so that a
// build may compile them side by side.
#pragma once

#include <array>

#include "backend/step.h"
#include "device/chunk.h"
#include "runtime/queue.h"
#include "runtime/table.h"

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

/// What kernels need to know of an item, its views in `table`.
DeviceItem device_item(const UpdateItem& item, Table& table);
/// Everything compact, of the arithmetic type, and in place.
bool is_plain(const UpdateItem& item);

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

/// Launches the kernel of a rule.
using LaunchUpdate = void (*)(const UpdateArguments& arguments, std::int64_t blocks, const CudaQueue& queue);
using UpdatesByRule = std::array<LaunchUpdate, rules::kKernelCount>;

/// Everything compact, of the arithmetic type, and in place; or anything.
extern const UpdatesByRule kPlainUpdates_f32;
extern const UpdatesByRule kPlainUpdates_f64;
extern const UpdatesByRule kStagedUpdates_f32;
extern const UpdatesByRule kStagedUpdates_f64;

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

/// Launches the measurement of a rule; NULL for rules that measure nothing.
using LaunchMeasure = void (*)(const MeasureArguments& arguments, const CudaQueue& queue);
using MeasuresByRule = std::array<LaunchMeasure, rules::kKernelCount>;
extern const MeasuresByRule kMeasures_f32;
extern const MeasuresByRule kMeasures_f64;

}  // namespace gradstep::cuda
