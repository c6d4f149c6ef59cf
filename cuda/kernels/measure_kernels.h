// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// The measurements that update.h declares.
#pragma once

#include <cstddef>
#include <utility>

#include "device/measure_sums.h"
#include "kernels/update.h"
#include "rules/kernels.h"
#include "runtime/launch.h"

namespace gradstep::cuda {

template <class T, class Rule>
void launch_measure(const MeasureArguments& arguments, const CudaQueue& queue) {
  if constexpr (Rule::kSums > 0) launch(queue, arguments.count, MeasureSums<T, Rule>{arguments});
}

template <class T, std::size_t... kIds>
constexpr MeasuresByRule measures_by_rule(std::index_sequence<kIds...> /*ids*/) {
  return {(rules::KernelOf<kIds, T>::kSums > 0 ? launch_measure<T, rules::KernelOf<kIds, T>> : nullptr)...};
}

template <class T>
inline constexpr MeasuresByRule kMeasuresByRule = measures_by_rule<T>(std::make_index_sequence<rules::kKernelCount>());

}  // namespace gradstep::cuda
