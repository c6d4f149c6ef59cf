// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// The buckets of a reducer, and the place of every parameter in them.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "core/schema.h"
#include "core/state_part.h"
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
  std::span<const std::unique_ptr<Bucket>> buckets(BucketRange range) const {
    return std::span(buckets_).subspan(range.first, range.end - range.first);
  }
  BucketRange all() const { return {0, buckets_.size()}; }
  std::size_t parameters() const { return places_.size(); }
  const Place& place_of(std::size_t parameter) const { return places_[parameter]; }
  Bucket& bucket_of(std::size_t parameter) const { return *buckets_[places_[parameter].bucket]; }
  /// The parameters of each bucket, in the order of packing.
  std::vector<std::vector<std::size_t>> groups() const;
  /// The parameter's outcome of the last window.
  Array result_of(std::size_t parameter) const;
  /// Deals out the outcome of every bucket from the next window on; on an exception, of none. collect() undoes it
  /// before that window.
  void deal(const DealtSlices& dealt);
  void collect() noexcept;
  bool is_dealt() const { return is_dealt_; }
  bool is_dealt_as(const DealtSlices& dealt) const;
  /// Buckets take turns in memory: what is packed in one lies there until it is exchanged.
  bool lends_memory() const;
  /// Throws UNSUPPORTED where a window brings slices alone; `what` would show more.
  void check_brings_all(const char* what) const;
  /// Some bucket keeps something for the next window.
  bool has_memory() const { return has_memory_; }

  // Which mode each bucket has. Mode AUTO chooses once: what it has chosen goes with what its modes keep from window to
  // window, into files and to the ranks that go on after a failure.

  bool is_auto() const { return resources_.options.mode == GRADSTEP_REDUCER_AUTO; }
  /// Mode AUTO has made them among several ranks, here or where this was saved.
  bool has_chosen() const { return has_chosen_; }
  std::vector<BucketChoice> choices() const;
  std::string text_of_choices() const;
  /// What AUTO made of the same buckets before; empty = nothing.
  std::vector<BucketChoice> saved_choices(const LoadedPart& part) const;
  /// Buckets with these choices, as far as the candidates allow them, in place of those that have others; NULL = stays.
  Buckets buckets_with(std::span<const BucketChoice> choices) const;
  /// Takes them. `has_chosen`: they are choices of AUTO.
  void replace(Buckets fresh, bool has_chosen);

 private:
  /// Collective: of every bucket. AUTO measures, and notes its predictions in `found`; rank 0's choices are those of
  /// all.
  std::vector<BucketChoice> choose(const std::vector<BucketPlan>& plans, std::span<gradstep_bucket_statistics> found,
                                   const Deadline& deadline);
  std::unique_ptr<Bucket> make_bucket(std::size_t index, const BucketPlan& plan, const BucketChoice& choice,
                                      gradstep_bucket_statistics stats) const;
  Communicator& comm() const { return *resources_.comm; }
  const gradstep_reducer_options& options() const { return resources_.options; }

  ExchangeResources& resources_;
  const Schema& schema_;
  Buckets buckets_;
  std::vector<Place> places_;  // by parameter
  bool has_memory_ = false;
  bool has_chosen_ = false;
  bool is_dealt_ = false;
};

}  // namespace gradstep
