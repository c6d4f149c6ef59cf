// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Runs calls over an engine, on memory of one site. What they put into the site's queue is done in its order; at the
// host it is done when a call returns.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "backend/site.h"
#include "backend/work_list.h"
#include "comm/call.h"
#include "comm/collectives.h"
#include "comm/engine.h"
#include "comm/peer_wait.h"
#include "comm/staging.h"

namespace gradstep {

class Channel {
 public:
  /// `site` and `wait` outlive it. `order` is an enum gradstep_reduction_order. `wait` NULL = no call waits for peers:
  /// calls are queued.
  Channel(std::shared_ptr<Engine> engine, const Site& site, std::int32_t order, std::shared_ptr<Sent> sent,
          PeerWait* wait);

  Engine& engine() { return *engine_; }
  /// The ranks in the order in which they pass on what goes round. Neighbours on one host save their links.
  void set_ring(std::vector<std::int32_t> ranks) { ring_ = std::move(ranks); }
  /// Large sums go round a ring.
  bool has_ring() const { return order_ == GRADSTEP_REDUCTION_ENGINE && engine_->has_ring() && !ring_.empty(); }
  void run(const Call& call, const Deadline& deadline);
  /// All-reduces are the engine's own.
  bool sums_natively() const { return engine_->vtable().all_reduce != nullptr && native_order_serves(); }

 private:
  std::int32_t rank() const { return engine_->rank(); }
  std::int32_t world_size() const { return engine_->world_size(); }

  void wait_for_peers(FunctionRef<void()> work) {
    if (wait_ == nullptr) return work();
    wait_->run(work);
  }
  void move(const Call& call, const Deadline& deadline);
  void meet(const Deadline& deadline);
  void all_reduce(const Array& data, std::int32_t op, double divisor, const Deadline& deadline);
  void all_reduce_gathered(const Array& data, std::int32_t op, double divisor, const Deadline& deadline);
  void all_reduce_direct(const Array& data, std::int32_t op, double divisor, const Deadline& deadline);
  bool goes_by_ring(const Array& data) const;
  void all_reduce_by_ring(const Array& data, std::int32_t op, double divisor, const Deadline& deadline);
  void all_reduce_native(const Array& data, std::int32_t op, double divisor, const Deadline& deadline);
  void reduce_scatter(const Array& input, const Array& output, std::int32_t op, const Deadline& deadline);
  void reduce_scatter_v(const Array& data, std::span<const std::int64_t> counts, std::int32_t op, double divisor,
                        const Deadline& deadline);
  void reduce_scatter_direct(const Array& input, const Array& output, std::int32_t op, const Deadline& deadline);
  void reduce_scatter_gathered(const Array& input, const Array& output, std::int32_t op, const Deadline& deadline);
  void scatter_pieces(std::span<const Array> pieces, std::int32_t op, double divisor, const Deadline& deadline);
  void scatter_pieces_gathered(std::span<const Array> pieces, std::int32_t op, double divisor,
                               const Deadline& deadline);
  void sum_blocks(const std::byte* blocks, std::int64_t stride, const Array& destination, std::int64_t count,
                  std::int32_t op, double divisor);
  bool native_order_serves() const;
  const WorkList& work_for(std::int64_t count);

  std::shared_ptr<Engine> engine_;
  const Site& site_;
  std::int32_t order_;
  PeerWait* wait_;
  Collectives collectives_;
  std::vector<std::int32_t> ring_;
  Staging staging_;                   // at the site
  std::vector<const void*> sources_;  // of the sum in progress, one per rank
  std::vector<Array> pieces_;         // likewise
  WorkList work_;                     // of work_size_ elements
  std::int64_t work_size_ = 0;
};

}  // namespace gradstep
