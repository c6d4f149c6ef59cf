// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// The kernels of the update rules. They are compiled in several files, one for each arithmetic type and way, so that a
// build may compile them side by side.
#pragma once

#include <array>

#include "backend/step.h"
#include "device/update_items.h"
#include "runtime/queue.h"
#include "runtime/table.h"

namespace gradstep::cuda {

/// What kernels need to know of an item, its views in `table`.
DeviceItem device_item(const UpdateItem& item, Table& table);
/// Everything compact, of the arithmetic type, and in place.
bool is_plain(const UpdateItem& item);

/// Launches the kernel of a rule.
using LaunchUpdate = void (*)(const UpdateArguments& arguments, std::int64_t blocks, const CudaQueue& queue);
using UpdatesByRule = std::array<LaunchUpdate, rules::kKernelCount>;

/// Everything compact, of the arithmetic type, and in place; or anything.
extern const UpdatesByRule kPlainUpdates_f32;
extern const UpdatesByRule kPlainUpdates_f64;
extern const UpdatesByRule kStagedUpdates_f32;
extern const UpdatesByRule kStagedUpdates_f64;

/// Launches the measurement of a rule; NULL for rules that measure nothing.
using LaunchMeasure = void (*)(const MeasureArguments& arguments, const CudaQueue& queue);
using MeasuresByRule = std::array<LaunchMeasure, rules::kKernelCount>;
extern const MeasuresByRule kMeasures_f32;
extern const MeasuresByRule kMeasures_f64;

}  // namespace gradstep::cuda
