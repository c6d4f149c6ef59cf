// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// The handles that an updater chains, and how far it has come with them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "accumulate/accumulator.h"
#include "core/busy_flag.h"
#include "optim/optimizer.h"
#include "reduce/reducer.h"

namespace gradstep {

struct Chain {
  std::shared_ptr<Optimizer> optimizer;
  std::shared_ptr<Accumulator> accumulator;  ///< NULL: every push is a window
  std::shared_ptr<Reducer> reducer;          ///< NULL: no other ranks
  std::shared_ptr<Optimizer> outer;          ///< steps by what rounds of local steps have changed; NULL: no rounds

  /// Where saving is collective, the communicator over which it is; else NULL.
  Communicator* peers() const {
    if (has_peers()) return &reducer->comm();
    return optimizer->is_sharded() ? &optimizer->sharding()->comm() : nullptr;
  }
  /// The reducer has other ranks.
  bool has_peers() const { return reducer && reducer->comm().world_size() > 1; }
  /// The optimizer has parts of parameters, or is attached to ranks that have.
  bool has_parts() const {
    return optimizer->schema().has_parts() || (optimizer->is_sharded() && optimizer->sharding()->parts() != nullptr);
  }
  /// Throws UNSUPPORTED, where the host has spread the parameters, for what can end a window on some of the ranks
  /// alone.
  void check_parts() const;
};

/// Where the window stands that the next push or flush works on.
enum class Window : std::uint8_t {
  open,     ///< takes micro-batches
  full,     ///< has ended; an attempt to apply it has failed
  reduced,  ///< its exchange is done, the step is missing
  stepped   ///< its local step is done, the exchange is missing
};

struct Progress {
  Window window = Window::open;
  std::optional<bool> local_step;  ///< the window ends a round: whether its local step was applied
  std::int64_t windows = 0;        ///< that are finished: the number of the one that comes, the same on all ranks
  std::int64_t known_skips = 0;    ///< skipped steps of the optimizer that are already counted in the statistics
  std::int64_t recoveries = 0;
  std::int64_t recovered_at = 0;  ///< windows at the last of them

  /// The local step of the window is done, and its exchange or outer step is not. `in_rounds`: there is an outer
  /// optimizer.
  bool is_stepped(bool in_rounds) const {
    return window == Window::stepped || (in_rounds && window == Window::reduced);
  }
};

/// Exclusive use of one object, which lives until it is given back: the call may replace it in the chain.
template <class Object>
class Held {
 public:
  Held(std::shared_ptr<Object> object, const char* name) : object_(std::move(object)) {
    if (object_) exclusive_.emplace(object_->busy(), name);
  }

 private:
  std::shared_ptr<Object> object_;
  std::optional<Exclusive> exclusive_;  // last: given back before the object may go
};

/// Exclusive use of the handles in the chain during a call of the updater.
class HeldChain {
 public:
  explicit HeldChain(const Chain& chain)
      : optimizer_(chain.optimizer, "the updater's optimizer"),
        accumulator_(chain.accumulator, "the updater's accumulator"),
        reducer_(chain.reducer, "the updater's reducer"),
        outer_(chain.outer, "the updater's outer optimizer") {}

 private:
  Held<Optimizer> optimizer_;
  Held<Accumulator> accumulator_;
  Held<Reducer> reducer_;
  Held<Optimizer> outer_;
};

}  // namespace gradstep
