// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// The buckets of a reducer, and the place of every parameter in them.
#pragma once

#include <cstddef>
#include <vector>

#include "core/schema.h"
#include "reduce/bucket.h"

namespace gradstep {

class BucketLayout {
 public:
  struct Place {
    std::size_t bucket = 0;
    std::size_t position = 0;  ///< inside the bucket
  };

  /// By plan_buckets(). Collective: opens the channels of buckets; mode AUTO chooses for each bucket. `resources`, with
  /// a channel, and `schema` outlive it.
  BucketLayout(ExchangeResources& resources, const Schema& schema, const Deadline& deadline);

  const Buckets& buckets() const { return buckets_; }
  std::size_t parameters() const { return places_.size(); }
  const Place& place_of(std::size_t parameter) const { return places_[parameter]; }
  Bucket& bucket_of(std::size_t parameter) const { return *buckets_[places_[parameter].bucket]; }
  /// The parameter's outcome of the last window.
  Array result_of(std::size_t parameter) const;

 private:
  Buckets buckets_;
  std::vector<Place> places_;  // by parameter
};

}  // namespace gradstep
