// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// What exchanges of gradients need: a channel, a place for their work, scratch memory.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "backend/context.h"
#include "comm/communicator.h"
#include "comm/data_plane.h"
#include "comm/staging.h"
#include "core/function_ref.h"
#include "core/schema.h"
#include "gradstep/reducer.h"
#include "reduce/lent_memory.h"

namespace gradstep {

/// What the exchanges of a reducer share, whatever their channels.
struct WindowState {
  std::int64_t windows = 0;  ///< that have succeeded
  double loss_scale = 1;     ///< of the gradients, and so of what is kept
  double weight = 1;         ///< this rank's in the present window
};

/// What the buckets of one channel share. They leave one after the other, so one of each scratch is enough. The first
/// channel's resources have those of the others.
///
/// Exchanges have a lane: on a plugin's device a stream of their own, so that they go on beside what the host puts into
/// its streams. They follow the event after which their bucket is packed, and users of their results in the host's
/// order join them first. Elsewhere the lane is the site.
struct ExchangeResources {
  /// Without a channel.
  ExchangeResources(std::shared_ptr<Context> own_context, const Site& where, const gradstep_reducer_options& checked);
  /// Collective: takes a channel of its own, on which all ranks have the same schema and options.
  ExchangeResources(const std::shared_ptr<Context>& own_context, Communicator& parent, const Schema& schema,
                    const gradstep_reducer_options& checked, const Deadline& deadline);

  /// Exchanges may run beside what the host's thread does. Exchanges that are queued on the device do not wait, and
  /// are in the same order on all ranks if the calls are.
  bool may_overlap() const { return comm->overlaps() && !data->is_queued(); }
  /// Rounds of buckets that leave together are better one: each costs a delay of the network. Where exchanges are
  /// queued on a device no thread waits for a round.
  bool has_common_rounds() const { return comm->connection().engine().is_over_network() && !data->is_queued(); }
  /// The channels of so many buckets: as many as options.channels says, at most one for each.
  std::size_t channels_for(std::size_t buckets) const;
  /// Collective: opens channels_for(buckets). Once, on the first.
  void open_channels(std::size_t buckets, const Deadline& deadline);
  /// What the bucket's channel has.
  ExchangeResources& of_bucket(std::size_t bucket);
  std::vector<std::shared_ptr<Communicator>> channels() const;
  /// The sum over all channels.
  gradstep_comm_statistics comm_stats() const;
  /// A new window, with this rank's weight.
  void begin_window(double weight);

  Backend& backend() const { return site.backend(); }
  const Site& lane() const { return own_stream != nullptr ? own_lane : site; }
  /// A point behind what the host's order has now, for follow(). Throws INVALID_STATE inside a capture.
  Event record() const {
    if (own_stream == nullptr) return {};
    site.queue().check_not_capturing("ranks exchange something");
    return site.queue().record();
  }
  /// A point behind what the lane has now, for the site's order. Nothing where the lane is the site.
  Event record_lane() const { return own_stream != nullptr ? own_lane.queue().record() : Event(); }
  void follow(const Event& event) const {
    if (own_stream != nullptr) own_lane.queue().wait(event);
  }
  void join() const {
    if (own_stream != nullptr) site.queue().follow(own_lane.queue());
  }

  /// Work of exchanges, between what the host's order has now and what it will have.
  void run_in_lane(FunctionRef<void()> work) const {
    follow(record());
    work();
    join();
  }

  /// True if all numbers of a contiguous array at the site are finite. Waits for the queue.
  bool is_finite(const Array& numbers, Queue& queue) const;

  /// Collective the first time in a window.
  double agree_on_weight(const Deadline& deadline);

  std::shared_ptr<Context> context;
  Site site;  ///< in the host's order
  std::shared_ptr<void> own_stream;
  Site own_lane;
  gradstep_reducer_options options;
  std::shared_ptr<Communicator> comm;
  std::unique_ptr<DataPlane> data;  ///< of comm, on memory of the site, in the order of the lane
  std::shared_ptr<WindowState> state = std::make_shared<WindowState>();
  std::shared_ptr<MemoryPool> pool = std::make_shared<MemoryPool>();  ///< for what is packed, where it is scattered
  std::vector<std::unique_ptr<ExchangeResources>> further;            ///< of the other channels
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

}  // namespace gradstep
