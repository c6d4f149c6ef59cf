// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// What update.h declares.
#pragma once

#include <cstddef>
#include <utility>

#include "device/update.h"
#include "kernels/update.h"
#include "runtime/launch.h"

namespace gradstep::cuda {

template <class T, class Rule, template <class, class> class Way>
void launch_update(const UpdateArguments& arguments, std::int64_t blocks, const CudaQueue& queue) {
  launch(queue, blocks, Update<T, Rule, Way>{arguments});
}

template <class T, template <class, class> class Way, std::size_t... kIds>
constexpr UpdatesByRule updates_by_rule(std::index_sequence<kIds...> /*ids*/) {
  return {launch_update<T, rules::KernelOf<kIds, T>, Way>...};
}

template <class T, template <class, class> class Way>
inline constexpr UpdatesByRule kUpdatesByRule =
    updates_by_rule<T, Way>(std::make_index_sequence<rules::kKernelCount>());

}  // namespace gradstep::cuda
