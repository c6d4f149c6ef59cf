// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// The handles that roots and bases are computed with, in the order of one queue at a time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "libraries/cublas.h"
#include "libraries/cusolver.h"

namespace gradstep::cuda {

/// Scratch of a batch of matrices: more are worked on one batch after the other. A single matrix may need more.
inline constexpr std::int64_t kRootBatchBytes = std::int64_t{512} << 20;
/// The most small matrices that the libraries are given at once.
inline constexpr std::int64_t kMaxRootBatch = 16384;

/// How many matrices a batch may have, of which one needs so much scratch.
constexpr std::size_t root_batch_limit(std::int64_t bytes) {
  return static_cast<std::size_t>(std::clamp<std::int64_t>(kRootBatchBytes / bytes, 1, kMaxRootBatch));
}

/// Handles are created when they are first asked for.
class RootLibraries {
 public:
  explicit RootLibraries(int device) : device_(device) {}

  Cublas& cublas() {
    if (cublas_ == nullptr) cublas_ = std::make_unique<Cublas>(device_);
    return *cublas_;
  }
  Cusolver& cusolver() {
    if (cusolver_ == nullptr) cusolver_ = std::make_unique<Cusolver>(device_);
    return *cusolver_;
  }
  std::size_t bytes() const { return held_bytes(cublas_, cusolver_); }

 private:
  int device_;
  std::unique_ptr<Cublas> cublas_;
  std::unique_ptr<Cusolver> cusolver_;
};

}  // namespace gradstep::cuda
