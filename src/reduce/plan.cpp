// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "reduce/plan.h"

#include <algorithm>

#include "core/hash.h"

namespace gradstep {

std::vector<BucketPlan> plan_buckets(const Schema& schema, std::int64_t fuse_threshold) {
  std::vector<BucketPlan> done;
  std::vector<BucketPlan> open;  // at most one per dtype
  bool first = true;
  for (std::size_t k = schema.size(); k-- > 0;) {
    const DType dtype = arithmetic_dtype(schema[k].dtype);
    if (schema[k].size > fuse_threshold) {
      done.push_back({dtype, schema[k].size, {k}});
      continue;
    }
    auto bucket = std::find_if(open.begin(), open.end(), [&](const BucketPlan& b) { return b.dtype == dtype; });
    if (bucket == open.end()) bucket = open.insert(open.end(), BucketPlan{dtype, 0, {}});
    bucket->parameters.push_back(k);
    bucket->elements += schema[k].size;
    if (bucket->elements > (first ? fuse_threshold / 8 : fuse_threshold)) {
      done.push_back(std::move(*bucket));
      open.erase(bucket);
      first = false;
    }
  }
  std::move(open.begin(), open.end(), std::back_inserter(done));
  return done;
}

std::vector<std::vector<std::int64_t>> shapes_of(const BucketPlan& plan, const Schema& schema) {
  std::vector<std::vector<std::int64_t>> shapes;
  for (const std::size_t i : plan.parameters) shapes.push_back(schema[i].shape.list());
  return shapes;
}

PlanDigest digest_of(const Schema& schema, const gradstep_reducer_options& options) {
  PlanDigest digest{};
  const auto own = schema.digest(/*arithmetic=*/true);
  std::copy(own.begin(), own.end(), digest.values);
  digest.values[Schema::kDigestSize] = hash_bytes(&options, sizeof options);
  return digest;
}

const char* PlanDigest::what(std::size_t i) {
  return i < Schema::kDigestSize ? Schema::kDigestWords[i] : "the reducer's options";
}

}  // namespace gradstep
