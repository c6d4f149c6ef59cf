// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Gradients of all ranks become one, in fused buckets that leave in a fixed order.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "backend/context.h"
#include "backend/own_plan.h"
#include "comm/communicator.h"
#include "core/buffer_list.h"
#include "core/busy_flag.h"
#include "core/function_ref.h"
#include "core/schema.h"
#include "core/state_part.h"
#include "gradstep/reducer.h"
#include "reduce/bucket.h"
#include "reduce/bucket_queue.h"
#include "reduce/control_round.h"
#include "reduce/cost_model.h"
#include "reduce/plan.h"
#include "reduce/reducer_options.h"

namespace gradstep {

class Reducer {
 public:
  /// Collective: takes a channel of its own and compares the plans.
  Reducer(std::shared_ptr<Context> context, Communicator& comm, const gradstep_reducer_options& options, Schema schema)
      : Reducer(std::move(context), comm, options, std::move(schema), comm.deadline()) {}
  /// For a call that has a deadline already.
  Reducer(std::shared_ptr<Context> context, Communicator& comm, const gradstep_reducer_options& options, Schema schema,
          const Deadline& deadline);
  ~Reducer() { drop_exchanges(); }
  Reducer(const Reducer&) = delete;
  Reducer& operator=(const Reducer&) = delete;

  // Lists of arrays were checked against the schema.

  /// A whole window. `results`, if not empty, get the outcome.
  void reduce(const BufferList& grads, const BufferList& results, double weight);
  /// reduce() without results. What the window leaves behind for the next one is kept only by commit(): a window that
  /// is reduced again instead has left nothing.
  void exchange_window(const BufferList& grads, double weight);
  /// Windows leave something behind for the next one.
  bool has_memory() const { return has_memory_; }
  /// Nothing, if the window's result is not finite.
  void commit();
  /// The gradients of the next windows are multiplied by it; what is kept becomes so, too.
  void set_loss_scale(double scale);
  /// A window of one bucket alone: its parameters' arrays become the outcome, those of others are left as they are, and
  /// gradients() shows nothing.
  void reduce_bucket(std::size_t index, const BufferList& arrays, double weight);
  std::size_t bucket_count() const { return buckets_.size(); }
  void begin(double weight);
  void push(std::size_t index, const Array& grad);
  void wait(const BufferList& results);
  /// No bucket is being exchanged behind the caller's back, and nothing is on its way on the device.
  bool is_idle() const { return queue_->is_idle() && resources_.site.is_idle() && resources_.lane().is_idle(); }
  void cancel();

  /// Asks for the control exchange in every window: the updater's way to learn that no rank had anything.
  void always_control() { always_control_ = true; }
  /// After a window with a control exchange: did any rank have a gradient?
  bool any_gradient() const { return control_.any_gradient(); }

  /// The outcome of the last window, in the buckets; data NULL where no rank had a gradient.
  BufferList gradients();
  /// The norm of gradients(), at the site.
  const double* norm();
  std::vector<gradstep_bucket_statistics> bucket_stats() const;
  /// One parameter's.
  Array residual(std::size_t index) const;

  /// What the next window depends on. Throws INVALID_STATE while a window is open.
  SavedPart save() const;
  /// Checks everything; what they return takes it over, and fails only where the device does.
  std::function<void()> load(LoadedPart& part);
  /// The tensors alone: of none or several ranks, whose sum becomes what this rank keeps, and of any one rank, for what
  /// is the same on all.
  std::function<void()> load_kept(std::span<LoadedPart> ranks, LoadedPart& any);
  std::function<void()> check_saved(const LoadedPart& part);
  /// Keeps what `old`, of the same schema and options but perhaps of other ranks, has kept. rejoin() belongs after it.
  /// `finished`: the peers have finished the window whose exchange failed in `old`; then what it leaves behind is kept.
  void take_over(Reducer& old, bool finished = false);
  /// Collective. What is to be the same on all ranks becomes so, as far as it can that of rank `root`, whatever each of
  /// them has taken over.
  void rejoin(std::int32_t root, const Deadline& deadline);

  Communicator& comm() const { return *resources_.comm; }
  const Schema& schema() const { return schema_; }
  const gradstep_reducer_options& options() const { return resources_.options; }
  BusyFlag& busy() { return busy_; }
  Site& site() { return resources_.site; }

 private:
  using Chosen = std::span<const std::unique_ptr<Bucket>>;
  struct Place {
    std::size_t bucket = 0;
    std::size_t position = 0;  // inside the bucket
    bool pushed = false;
    bool shown = false;  // after a window: it has a gradient on some rank
  };

  // choices.cpp: which mode each bucket has.
  bool is_auto() const { return options().mode == GRADSTEP_REDUCER_AUTO; }
  /// Collective: of every bucket. AUTO measures, and notes its predictions in `found`; rank 0's choices are those of
  /// all.
  std::vector<BucketChoice> choose(const std::vector<BucketPlan>& plans, std::span<gradstep_bucket_statistics> found,
                                   const Deadline& deadline);
  std::unique_ptr<Bucket> make_bucket(const BucketPlan& plan, const BucketChoice& choice,
                                      gradstep_bucket_statistics stats);
  std::vector<BucketChoice> choices() const;
  std::string text_of_choices() const;
  /// What AUTO made of the same buckets before; empty = nothing.
  std::vector<BucketChoice> saved_choices(const LoadedPart& part) const;
  /// Buckets with these choices, as far as the candidates allow them, in place of those that have others; NULL = stays.
  Buckets buckets_with(std::span<const BucketChoice> choices);
  void replace(Buckets fresh);

  void add_bucket(const BucketPlan& plan, const BucketChoice& choice, const gradstep_bucket_statistics& stats);
  Array result_of(std::size_t index) const;
  Backend& backend() const { return resources_.backend(); }
  /// In the host's order.
  Queue& queue() const { return resources_.site.queue(); }
  void check_closed() const;
  void check_channel() const;
  bool has_sent_all() const;
  void open_window(double weight);
  bool is_weighted() const { return options().average == GRADSTEP_AVERAGE_WEIGHTED; }
  void pack(Bucket& bucket, const BufferList& grads);
  void pack_one(std::size_t index, const Array& grad);
  void set_pushed(std::size_t index, const Array& grad);
  std::size_t full_buckets();
  void exchange_control(Chosen exchanged, const Deadline& deadline);
  /// Call in a catch block. Where buckets of the window may have left, and this rank alone has failed, the channel is
  /// aborted: peers would take the buckets of its next window for those that are missing.
  void give_up_window(bool has_left) noexcept;
  /// Nothing of an open window goes on: peers get an error, not a hang, where buckets have left.
  void drop_exchanges() noexcept;
  /// What is written to `targets` is there.
  void measure_window(Chosen exchanged, const BufferList& targets);
  bool is_finite(Bucket& bucket, const BufferList& targets);
  void settle(Chosen exchanged, const Deadline& deadline);
  void commit(Chosen exchanged);
  /// Work of exchanges, between what the host's order has now and what it will have.
  void run_in_lane(FunctionRef<void(Bucket&)> work, Chosen chosen);
  void run_window(const BufferList& grads, const BufferList& results, double weight);
  void finish_window(const BufferList& targets, const Deadline& deadline);
  void write_results(const BufferList& targets);

  ExchangeResources resources_;
  Schema schema_;
  Buckets buckets_;
  std::vector<Place> places_;  // by parameter
  WorkList work_;              // by parameter
  OwnBuffers shown_;
  std::vector<Array> bucket_results_;
  OwnPlan<CopyPlan, CopyItem> results_;
  std::uint64_t results_version_ = 0;  // of the targets that results_ writes
  NormPlan outcome_;
  Buffer norm_;  // of outcome_
  ControlRound control_;
  BusyFlag busy_;

  bool always_control_ = false;
  bool has_optional_ = false;   // parameters that all ranks may leave out of a window
  bool needs_control_ = false;  // by the schema or the options
  bool has_memory_ = false;
  bool has_chosen_ = false;  // AUTO: among several ranks, here or where this was saved
  bool keeps_ = true;        // what the window leaves behind
  bool open_ = false;
  bool complete_ = false;  // gradients() are valid
  bool measured_ = false;
  std::size_t full_buckets_ = 0;  // the first of them, in this window

  std::unique_ptr<BucketQueue> queue_;  // last: its exchanges use all the above
};

}  // namespace gradstep
