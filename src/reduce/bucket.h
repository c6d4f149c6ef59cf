// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Parameters whose gradients travel together: packed by the host's order, exchanged in the lane, counted.
#pragma once

#include <array>
#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "backend/own_plan.h"
#include "core/buffer_list.h"
#include "core/schema.h"
#include "core/trace.h"
#include "reduce/bucket_exchange.h"
#include "reduce/control_round.h"
#include "reduce/cost_model.h"

namespace gradstep {

/// Buckets by their numbers.
struct BucketRange {
  std::size_t first = 0;
  std::size_t end = 0;
};

class Bucket {
 public:
  /// `options` are the reducer's, with the mode that this bucket has; `stats` what is known of it so far, the order of
  /// its sums too. `resources` and `schema` outlive it.
  Bucket(ExchangeResources& resources, const Schema& schema, const BucketPlan& plan,
         const gradstep_reducer_options& options, const gradstep_bucket_statistics& stats);

  bool is_empty() const { return plan_.elements == 0; }
  /// Indices of the schema, in the order of packing.
  const std::vector<std::size_t>& parameters() const { return plan_.parameters; }
  const BucketPlan& plan() const { return plan_; }
  const BucketChoice& choice() const { return choice_; }
  BucketExchange& exchange() { return *exchange_; }
  const BucketExchange& exchange() const { return *exchange_; }
  /// The outcome of the parameter at `position`; dealt out: of this rank's slice of it.
  Array result_of(std::size_t position) const;
  /// From the next window on the outcome is dealt out. Allocates memory for this rank's piece; that window frees the
  /// whole bucket's.
  void deal(BucketSlices slices);
  /// Undoes deal(), before that window.
  void collect() noexcept;
  const std::optional<BucketSlices>& slices() const { return slices_; }

  /// A new window. Gradients are multiplied by `multiplier` as they are packed; at 0 they are not read.
  void begin(double multiplier);
  /// Packs the gradients of all parameters; `grads` are those of the whole schema.
  void pack(const BufferList& grads);
  /// Packs that of the parameter at `position`; data NULL = zeros.
  void pack(std::size_t position, const Array& grad);
  /// All parameters of the window are packed.
  bool is_full() const { return pending_ == 0; }
  /// Notes the point of the host's order behind which everything is packed.
  void note_packed() { packed_ = resources_.record(); }
  /// Exchanges what is packed, by `deadline`. May run on the progress thread, beside pack() of other buckets: touches
  /// nothing but what exchanges share, this bucket, and its statistics under their lock.
  void exchange(const Deadline& deadline);
  /// exchange() of buckets of one channel that each may follow the one before it. Where they are several, their rounds
  /// are common ones. `control`, unless NULL, may be exchanged with them.
  static void exchange_together(std::span<Bucket* const> buckets, const Deadline& deadline,
                                ControlRound* control = nullptr);
  /// What this rank gives in one round that others may join, in the next window; 0 = none may.
  std::int64_t round_bytes() const;
  /// Rounds of both may be one.
  bool may_join(const Bucket& other) const;
  /// Divides the outcome by the total weight of the ranks, where the exchange has not.
  void divide(double weight);

  gradstep_bucket_statistics stats() const;
  /// What a phase of bucket `index`, this one, says of itself.
  std::array<trace::Number, 4> numbers(std::size_t index) const;

 private:
  /// Copies of a bucket's gradients to where they are packed, or sums with what is carried.
  struct Packing {
    std::uint64_t version = 0;  // of the gradients; 0 = unknown
    const void* packed = nullptr;
    double multiplier = 1;
    OwnPlan<CopyPlan, CopyItem> copies;
    OwnPlan<CombinePlan, CombineItem> sums;
  };

  void forget_plans() noexcept;
  Array packed_in(const Array& whole, std::size_t position) const;
  CombineItem addition_of(std::size_t position, const Array& grad) const;
  Packing& packing_of(const BufferList& grads);
  void exchange_alone(double divisor, const Deadline& deadline, gradstep_bucket_statistics& stats);
  gradstep_bucket_statistics stats_so_far() const;
  void set_stats(const gradstep_bucket_statistics& stats);
  void count_packing(std::chrono::steady_clock::time_point start);

  ExchangeResources& resources_;
  const Schema& schema_;
  const BucketPlan plan_;
  const BucketChoice choice_;
  std::unique_ptr<BucketExchange> exchange_;
  std::vector<std::int64_t> offsets_;   // by position, elements
  std::optional<BucketSlices> slices_;  // dealt out
  std::vector<WorkList> work_;          // by position
  std::array<Packing, 2> packings_;     // what is packed and what is carried change places in some modes
  OwnPlan<CopyPlan, CopyItem> itself_;  // the result, to be divided
  double multiplier_ = 1;
  std::size_t pending_ = 0;  // parameters not packed in this window
  Event packed_;

  mutable std::mutex stats_mutex_;
  gradstep_bucket_statistics stats_;
};

/// In the order in which they leave.
using Buckets = std::vector<std::unique_ptr<Bucket>>;

}  // namespace gradstep
