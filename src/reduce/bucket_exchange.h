// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// How one bucket's gradients become those of all ranks: one class per mode, all behind this interface.
#pragma once

#include <limits>
#include <memory>
#include <optional>
#include <vector>

#include "backend/context.h"
#include "backend/plugin_loader.h"
#include "comm/communicator.h"
#include "comm/data_plane.h"
#include "comm/staging.h"
#include "gradstep/reducer.h"
#include "reduce/plan.h"

namespace gradstep {

/// What all buckets of a reducer share.
struct ReducerState {
  std::int64_t windows = 0;  ///< that have succeeded
  double loss_scale = 1;     ///< of the gradients, and so of what is kept
  double weight = 1;         ///< this rank's in the present window
};

/// What the buckets of one channel share. They leave one after the other, so one of each scratch is enough.
///
/// Exchanges have a lane: on a plugin's device a stream of their own, so that they go on beside what the host puts into
/// its streams. They follow the event after which their bucket is packed, and whoever uses what they leave behind in
/// the host's order joins them first. Elsewhere the lane is the site.
struct ExchangeResources {
  /// `state_of_all` outlives it.
  ExchangeResources(std::shared_ptr<Context> own_context, const Schema& schema, const gradstep_reducer_options& checked,
                    ReducerState& state_of_all)
      : context(std::move(own_context)),
        state(state_of_all),
        site(context->site(schema)),
        own_stream(make_own_stream(context->device_of(site.backend()))),
        own_lane(site),
        options(checked),
        outgoing(site.backend().memory()),
        incoming(site.backend().memory()),
        blocks(site.backend().memory()),
        nonfinite(site.allocate(sizeof(std::int64_t), /*zeroed=*/true)),
        half_norm(site.allocate(sizeof(double), /*zeroed=*/true)) {
    if (own_stream != nullptr) own_lane.use(own_stream.get());
  }

  Backend& backend() const { return site.backend(); }
  const Site& lane() const { return own_stream != nullptr ? own_lane : site; }
  /// A point behind what the host's order has now, for follow(). Throws INVALID_STATE inside a capture.
  Event record() const {
    if (own_stream == nullptr) return {};
    site.queue().check_not_capturing("ranks exchange something");
    return site.queue().record();
  }
  void follow(const Event& event) const {
    if (own_stream != nullptr) own_lane.queue().wait(event);
  }
  void join() const {
    if (own_stream != nullptr) site.queue().follow(own_lane.queue());
  }

  /// True if all numbers of a contiguous array at the site are finite. Waits for the queue.
  bool is_finite(const Array& numbers, Queue& queue) const;

  /// Collective the first time in a window.
  double agree_on_weight(const Deadline& deadline) {
    if (!total_weight) {
      double sum = state.weight;
      comm->all_reduce({&sum, 1, DType::f64, 0, nullptr, nullptr}, GRADSTEP_REDUCE_SUM, 1, deadline);
      total_weight = sum;
    }
    return *total_weight;
  }

  std::shared_ptr<Context> context;
  ReducerState& state;
  Site site;  ///< in the host's order
  std::shared_ptr<void> own_stream;
  Site own_lane;
  gradstep_reducer_options options;
  std::shared_ptr<Communicator> comm;
  std::unique_ptr<DataPlane> data;  ///< of comm, on memory of the site, in the order of the lane
  // The present window.
  std::optional<double> total_weight;  ///< all ranks', where an exchange has asked for it
  bool has_queued = false;             ///< exchanges are on their way on the device
  // At the site.
  Staging outgoing;
  Staging incoming;
  Staging blocks;
  Buffer nonfinite;
  Buffer half_norm;
};

/// Numbers below it neither become infinite in a sum of two, nor where one is added to any finite number.
double safe_bound(DType dtype);

/// Numbers of one parameter that stay from window to window.
struct KeptTensor {
  std::size_t position = 0;  ///< of the parameter in the bucket
  const char* name = "";
  Array array;
  /// Empty = the parameter's.
  std::vector<std::int64_t> shape = {};  // NOLINT(readability-redundant-member-init): lists may leave it out
  bool replicated = false;               ///< the same on all ranks; else this rank's own, to be added up
  bool is_scaled = true;                 ///< as gradients are, by the loss scale
};

class BucketExchange {
 public:
  /// `options` are the reducer's, with the mode that this bucket has.
  BucketExchange(ExchangeResources& resources, const BucketPlan& plan, const gradstep_reducer_options& options,
                 bool zeroed = false)
      : resources_(resources), plan_(plan), options_(options), memory_(allocate(zeroed)) {}
  virtual ~BucketExchange() = default;
  BucketExchange(const BucketExchange&) = delete;
  BucketExchange& operator=(const BucketExchange&) = delete;

  /// Where the gradients of the next window are packed: plan.elements numbers of plan.dtype.
  virtual Array packed() const { return array(memory_); }
  /// What is added to them on the way, element by element, multiplied by carried_factor(); data NULL = nothing.
  virtual Array carried() const { return {}; }
  virtual double carried_factor() const { return 1; }
  /// exchange() has divided by the total weight, where that is what the sum is to be divided by.
  virtual bool is_divided_by_weight() const { return false; }
  /// Where the outcome of an exchange is seen. Stays where it is.
  virtual Array result() const { return array(memory_); }

  /// A new window begins: what an exchange that failed has prepared is forgotten.
  void begin() { has_sent_ = false; }
  /// What is packed becomes what all ranks packed, divided by `divisor`. Collective; never called for an empty bucket.
  /// Like all that queues work here, in the order of the lane.
  /// A failure leaves behind nothing that a later window could see.
  virtual void exchange(double divisor, const Deadline& deadline, gradstep_bucket_statistics& stats) = 0;
  /// No element of the last exchange's result is larger, before it is divided by the weight; NaN or infinite where one
  /// may not be finite. Waits for the exchange. Up to safe_bound() what commit() keeps is finite, too.
  virtual double largest() { return std::numeric_limits<double>::infinity(); }
  /// The result is finite and may be larger: what commit() would keep becomes finite, too. In the host's order.
  virtual void limit_kept() {}
  /// What lies at the site and is asked for seldom.
  virtual void complete(gradstep_bucket_statistics& /*stats*/) const {}
  /// The whole window has succeeded, and its result is finite: what it leaves behind is kept from now on.
  virtual void commit() {}
  virtual std::vector<KeptTensor> kept() { return {}; }
  /// In the window that has failed this rank has given what the others need: they may have finished it.
  bool has_sent() const { return has_sent_; }
  /// They have. This exchange has all that `failed` had kept, and is of the same plan: it keeps what `failed` would
  /// have left behind by commit(), if need be with what rejoin() brings.
  virtual void finish(const BucketExchange& /*failed*/) {}
  /// Collective. The ranks are others than before, and may stand a window apart: they agree on what is to be the same
  /// on all of them, as far as it can that of `root`.
  virtual void rejoin(std::int32_t /*root*/, const Deadline& /*deadline*/) {}

 protected:
  void set_has_sent() { has_sent_ = true; }
  Buffer allocate(bool zeroed) const {
    const std::int64_t bytes = plan_.elements * size_of(plan_.dtype);
    return resources_.site.allocate(static_cast<std::size_t>(bytes), zeroed);
  }
  Array array(const Buffer& buffer) const { return {buffer.data(), plan_.elements, plan_.dtype, 0, nullptr, nullptr}; }
  Backend& backend() const { return resources_.backend(); }
  /// The lane's.
  Queue& queue() const { return resources_.lane().queue(); }
  Communicator& comm() const { return *resources_.comm; }
  DataPlane& data() const { return *resources_.data; }
  const gradstep_reducer_options& options() const { return options_; }
  std::size_t world_size() const { return static_cast<std::size_t>(comm().world_size()); }
  std::size_t rank() const { return static_cast<std::size_t>(comm().rank()); }

  ExchangeResources& resources_;
  const BucketPlan plan_;

 private:
  const gradstep_reducer_options options_;
  Buffer memory_;
  bool has_sent_ = false;
};

/// By options.mode; `shapes` of the bucket's parameters in the order of packing.
std::unique_ptr<BucketExchange> make_bucket_exchange(ExchangeResources& resources, const BucketPlan& plan,
                                                     const gradstep_reducer_options& options,
                                                     std::span<const std::vector<std::int64_t>> shapes);

}  // namespace gradstep
