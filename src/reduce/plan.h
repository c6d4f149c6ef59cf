// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// How gradients are packed into buckets: fixed at creation, a function of the schema and the options only.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/schema.h"
#include "gradstep/reducer.h"

namespace gradstep {

/// What one reducer may have.
inline constexpr std::int32_t kMostChannels = 16;

struct BucketPlan {
  DType dtype = DType::f32;
  std::int64_t elements = 0;
  std::vector<std::size_t> parameters;  // in the order of packing
};

/// Parameters in reverse order; above `fuse_threshold` elements alone; else packed until a bucket holds more than it.
/// The first packed bucket closes at an eighth.
std::vector<BucketPlan> plan_buckets(const Schema& schema, std::int64_t fuse_threshold);

/// The bucket's parameters, in the order of packing.
std::vector<std::vector<std::int64_t>> shapes_of(const BucketPlan& plan, const Schema& schema);

/// Numbers that must agree across ranks: the schema's, and the options.
struct PlanDigest {
  static constexpr std::size_t kCount = Schema::kDigestSize + 1;
  std::uint64_t values[kCount];
  /// Words for a text when number i does not.
  static const char* what(std::size_t i);
};

/// `options` as checked_reducer_options gives them.
PlanDigest digest_of(const Schema& schema, const gradstep_reducer_options& options);

}  // namespace gradstep
