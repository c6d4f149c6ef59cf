// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// How one bucket's gradients become those of all ranks: one class per mode, all behind this interface.
#pragma once

#include <memory>
#include <vector>

#include "backend/context.h"
#include "comm/communicator.h"
#include "comm/staging.h"
#include "gradstep/reducer.h"
#include "reduce/plan.h"

namespace gradstep {

/// What the buckets of a reducer share. They leave one after the other, so one of each scratch is enough.
struct ExchangeResources {
  ExchangeResources(std::shared_ptr<Context> own_context, const gradstep_reducer_options& checked)
      : context(std::move(own_context)),
        options(checked),
        outgoing(context->allocator()),
        incoming(context->allocator()) {}

  Backend& backend() const { return context->backend(); }

  std::shared_ptr<Context> context;
  gradstep_reducer_options options;
  std::shared_ptr<Communicator> comm;
  Staging outgoing;
  Staging incoming;
};

/// Numbers of this rank that stay from window to window, one per element of the bucket.
struct KeptArray {
  const char* name;
  Array array;
};

class BucketExchange {
 public:
  BucketExchange(ExchangeResources& resources, const BucketPlan& plan, bool zeroed = false)
      : resources_(resources), plan_(plan), memory_(allocate(zeroed)) {}
  virtual ~BucketExchange() = default;
  BucketExchange(const BucketExchange&) = delete;
  BucketExchange& operator=(const BucketExchange&) = delete;

  /// Where the gradients of the next window are packed: plan.elements numbers of plan.dtype.
  virtual Array packed() const { return array(memory_); }
  /// What is added to them on the way, element by element; data NULL = nothing.
  virtual Array carried() const { return {}; }
  /// Where the outcome of an exchange is seen. Stays where it is.
  virtual Array result() const { return array(memory_); }

  /// What is packed becomes what all ranks packed, divided by `divisor`. Collective; never called for an empty bucket.
  /// A failure leaves behind nothing that a later window could see.
  virtual void exchange(double divisor, const Deadline& deadline, gradstep_bucket_statistics& stats) = 0;
  /// The whole window has succeeded: what it leaves behind for the next one is kept from now on.
  virtual void commit() {}
  virtual std::vector<KeptArray> kept() { return {}; }

 protected:
  Buffer allocate(bool zeroed) const {
    const std::int64_t bytes = plan_.elements * size_of(plan_.dtype);
    return resources_.context->allocate(static_cast<std::size_t>(bytes), zeroed);
  }
  Array array(const Buffer& buffer) const { return {buffer.data(), plan_.elements, plan_.dtype, 0, nullptr, nullptr}; }
  Backend& backend() const { return resources_.backend(); }
  Communicator& comm() const { return *resources_.comm; }
  const gradstep_reducer_options& options() const { return resources_.options; }
  std::size_t world_size() const { return static_cast<std::size_t>(comm().world_size()); }
  std::size_t rank() const { return static_cast<std::size_t>(comm().rank()); }

  ExchangeResources& resources_;
  const BucketPlan plan_;

 private:
  Buffer memory_;
};

/// By options.mode. `sizes`: elements of the bucket's parameters in the order of packing.
std::unique_ptr<BucketExchange> make_bucket_exchange(ExchangeResources& resources, const BucketPlan& plan,
                                                     std::span<const std::int64_t> sizes);

}  // namespace gradstep
