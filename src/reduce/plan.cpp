// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "reduce/plan.h"

#include <algorithm>

namespace gradstep {

const char* const PlanDigest::kWhat[] = {"the number of parameters", "the parameters' names", "the parameters' shapes",
                                         "the parameters' dtypes or flags", "the reducer's options"};

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

std::uint64_t hash_bytes(const void* data, std::size_t bytes, std::uint64_t seed) {
  std::uint64_t hash = seed;
  const auto* p = static_cast<const unsigned char*>(data);
  for (std::size_t i = 0; i < bytes; ++i) hash = (hash ^ p[i]) * 0x100000001b3ULL;
  return hash;
}

PlanDigest digest_of(const Schema& schema, std::int32_t mode, std::int32_t average, std::int64_t fuse_threshold) {
  PlanDigest digest{};
  digest.values[0] = schema.size();
  std::uint64_t names = hash_bytes(nullptr, 0);
  std::uint64_t shapes = names;
  std::uint64_t dtypes = names;
  for (const Parameter& parameter : schema) {
    names = hash_bytes(parameter.name.c_str(), parameter.name.size() + 1, names);
    const std::uint64_t ndim = parameter.shape.size();
    shapes = hash_bytes(&ndim, sizeof ndim, shapes);
    shapes = hash_bytes(parameter.shape.data(), parameter.shape.size() * sizeof(std::int64_t), shapes);
    const unsigned char facts[] = {static_cast<unsigned char>(arithmetic_dtype(parameter.dtype)),
                                   static_cast<unsigned char>(parameter.may_be_unused ? 1 : 0)};
    dtypes = hash_bytes(facts, sizeof facts, dtypes);
  }
  const std::int64_t options[] = {mode, average, fuse_threshold};
  digest.values[1] = names;
  digest.values[2] = shapes;
  digest.values[3] = dtypes;
  digest.values[4] = hash_bytes(options, sizeof options);
  return digest;
}

}  // namespace gradstep
