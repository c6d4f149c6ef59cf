// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// How gradients are packed into buckets: fixed at creation, a function of the schema and the options only.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/schema.h"

namespace gradstep {

struct BucketPlan {
  DType dtype = DType::f32;
  std::int64_t elements = 0;
  std::vector<std::size_t> parameters;  // in the order of packing
};

/// Parameters in reverse order; above `fuse_threshold` elements alone; else packed until a bucket holds more than it.
/// The first packed bucket closes at an eighth.
std::vector<BucketPlan> plan_buckets(const Schema& schema, std::int64_t fuse_threshold);

/// Numbers that must agree across ranks, each with the words for a text when they do not.
struct PlanDigest {
  static constexpr int kCount = 5;
  static const char* const kWhat[kCount];
  std::uint64_t values[kCount];
};

PlanDigest digest_of(const Schema& schema, std::int32_t mode, std::int32_t average, std::int64_t fuse_threshold);

/// FNV-1a, 64 bits.
std::uint64_t hash_bytes(const void* data, std::size_t bytes, std::uint64_t seed = 0xcbf29ce484222325ULL);

}  // namespace gradstep
