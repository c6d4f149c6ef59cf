// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// How one bucket's gradients become those of all ranks: one class per mode, all behind this interface.
#pragma once

#include <limits>
#include <memory>
#include <span>
#include <vector>

#include "gradstep/reducer.h"
#include "reduce/bucket_slices.h"
#include "reduce/exchange_resources.h"
#include "reduce/kept_tensor.h"
#include "reduce/lent_memory.h"
#include "reduce/plan.h"

namespace gradstep {

class ExchangeByRounds;

class BucketExchange {
 public:
  /// `options` are the reducer's, with the mode that this bucket has.
  BucketExchange(ExchangeResources& resources, const BucketPlan& plan, const gradstep_reducer_options& options,
                 bool zeroed = false)
      : resources_(resources), plan_(plan), options_(options), memory_(resources.site, bytes_of(plan), zeroed) {}
  virtual ~BucketExchange() = default;
  BucketExchange(const BucketExchange&) = delete;
  BucketExchange& operator=(const BucketExchange&) = delete;

  /// From the next window on the outcome is this rank's slices, where the mode can scatter. `slices` outlive this.
  /// Allocates their memory; what is packed lies in memory of the resources' pool. NULL undoes it before that window.
  void deal(const BucketSlices* slices);
  bool scatters() const { return slices_ != nullptr && can_scatter(); }

  /// Where the gradients of the next window are packed: plan.elements numbers of plan.dtype. Behind take_memory().
  virtual Array packed() const { return whole(); }
  /// What is added to them on the way, element by element, multiplied by carried_factor(); data NULL = nothing.
  virtual Array carried() const { return {}; }
  virtual double carried_factor() const { return 1; }
  /// exchange() has divided by the total weight, where that is what the sum is to be divided by.
  virtual bool is_divided_by_weight() const { return false; }
  /// Where the outcome of an exchange is seen: the bucket, or, scattered, this rank's piece. Stays where it is.
  virtual Array result() const { return scatters() ? piece() : whole(); }

  /// A new window begins: what an exchange that failed has prepared is forgotten.
  void begin() { has_sent_ = false; }
  /// Call before anything is packed. A second call in a window does nothing.
  virtual void take_memory() { memory_.take(resources_.site); }
  /// Call after the exchange. What was packed is read by work before `last_use` alone.
  virtual void give_memory(const Event& last_use) noexcept { memory_.give(last_use); }
  /// What is packed becomes what all ranks packed, divided by `divisor`. Collective; never called for an empty bucket.
  /// Like all that queues work here, in the order of the lane.
  /// A failure leaves behind nothing that a later window could see.
  virtual void exchange(double divisor, const Deadline& deadline, gradstep_bucket_statistics& stats) = 0;
  /// This, if others can make its rounds (reduce/exchange_rounds.h).
  virtual ExchangeByRounds* by_rounds() { return nullptr; }
  /// No element of the last exchange's result is larger, before it is divided by the weight; NaN or infinite where one
  /// may not be finite. Waits for the exchange. Up to safe_bound() what commit() keeps is finite, too.
  virtual double largest() { return std::numeric_limits<double>::infinity(); }
  /// The result is finite and may be larger: what commit() would keep becomes finite, too. In the host's order.
  virtual void limit_kept() {}
  /// What lies at the site and is rarely asked for.
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
  /// exchange() can stop at the slices of each rank.
  virtual bool can_scatter() const { return false; }
  /// Call in take_memory() where nothing is packed in the bucket's own memory.
  void do_without_memory() noexcept { memory_.do_without(); }
  /// The memory of what is packed is a pool's.
  virtual void lend_from(MemoryPool* pool) { memory_.lend_from(pool); }
  const BucketSlices& slices() const { return *slices_; }

  void set_has_sent() { has_sent_ = true; }
  Buffer allocate(bool zeroed) const { return resources_.site.allocate(bytes_of(plan_), zeroed); }
  Array array(const Buffer& buffer) const { return {buffer.data(), plan_.elements, plan_.dtype, 0, nullptr, nullptr}; }
  Array whole() const { return {memory_.data(), plan_.elements, plan_.dtype, 0, nullptr, nullptr}; }
  Array piece() const { return compact_array(piece_.data(), slices_->piece, plan_.dtype); }
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
  static std::size_t bytes_of(const BucketPlan& plan) {
    return static_cast<std::size_t>(plan.elements * size_of(plan.dtype));
  }

  const gradstep_reducer_options options_;
  LentMemory memory_;
  const BucketSlices* slices_ = nullptr;
  Buffer piece_;  // this rank's, where the exchange scatters
  bool has_sent_ = false;
};

/// By options.mode; `shapes` of the bucket's parameters in the order of packing.
std::unique_ptr<BucketExchange> make_bucket_exchange(ExchangeResources& resources, const BucketPlan& plan,
                                                     const gradstep_reducer_options& options,
                                                     std::span<const std::vector<std::int64_t>> shapes);

}  // namespace gradstep
