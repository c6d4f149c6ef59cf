// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Reductions over an engine's ranks, of arrays that lie at one site. What they put into the site's queue is done in its
// order; at the host it is done when a call returns.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "backend/site.h"
#include "backend/work_list.h"
#include "comm/collectives.h"
#include "comm/engine.h"
#include "comm/staging.h"
#include "core/function_ref.h"

namespace gradstep {

class Reductions {
 public:
  /// Runs work that waits for peers.
  using Wait = std::function<void(FunctionRef<void()>)>;

  /// `site` outlives it. `order` is an enum gradstep_reduction_order.
  Reductions(std::shared_ptr<Engine> engine, const Site& site, std::int32_t order, std::shared_ptr<SentBytes> sent,
             Wait wait_for_peers);

  Collectives& collectives() { return collectives_; }

  // As the calls of Communicator of the same names.
  void all_reduce(const Array& data, std::int32_t op, double divisor, const Deadline& deadline);
  void reduce_scatter(const Array& input, const Array& output, std::int32_t op, const Deadline& deadline);
  void reduce_scatter_v(const Array& data, std::span<const std::int64_t> counts, std::int32_t op, double divisor,
                        const Deadline& deadline);

 private:
  std::int32_t rank() const { return engine_->rank(); }
  std::int32_t world_size() const { return engine_->world_size(); }

  void meet(const Deadline& deadline);
  void all_reduce_gathered(const Array& data, std::int32_t op, double divisor, const Deadline& deadline);
  void all_reduce_direct(const Array& data, std::int32_t op, double divisor, const Deadline& deadline);
  void all_reduce_native(const Array& data, std::int32_t op, double divisor, const Deadline& deadline);
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
  Wait wait_for_peers_;
  Collectives collectives_;
  Staging staging_;                   // at the site
  std::vector<const void*> sources_;  // of the sum in progress, one per rank
  std::vector<Array> pieces_;         // likewise
  WorkList work_;                     // of work_size_ elements
  std::int64_t work_size_ = 0;
};

}  // namespace gradstep
