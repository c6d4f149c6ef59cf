// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// After a failure ranks may stand apart: one has finished the exchange in which another one failed. They tell each
// other where they stand, and a rank that is behind takes over the parameters and the state of the one that is
// furthest.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "comm/communicator.h"
#include "comm/data_plane.h"
#include "gradstep/tensor.h"
#include "optim/optimizer.h"
#include "optim/state_holdings.h"
#include "updater/outer_rounds.h"

namespace gradstep {

/// What a rank has of an optimizer's state, and how it shares that.
struct Share {
  std::int64_t steps = -1;  // of this rank's part, whether or not parameters have come; -1 = its numbers are gone
  std::int64_t skipped = 0;
  std::int64_t is_ahead = 0;    // 1: the last step has not reached all parameters
  std::int64_t buffers = 0;     // of the whole state
  std::int64_t bytes = 0;       // of all of them
  std::int64_t ranks = 0;       // that share the state; 0 = it is whole here
  std::int64_t rank = 0;        // among them
  std::int64_t is_reached = 0;  // 1: nothing is known to keep them from an exchange
  std::int64_t in_slices = 0;   // 1: a reducer brings each of them its slices of the gradients
  std::int64_t gradients = 0;   // gradstep_sharding_options
  std::int64_t average = 0;
  std::int64_t preconditioners = 0;
};

/// Where a rank stands. Recovery fills in what the optimizers know.
struct Standing {
  std::int64_t windows = 0;      // that are finished, on all ranks of the same history the same ones
  std::int64_t pushes = 0;       // micro-batches in the window after them
  std::int64_t is_stepped = 0;   // 1: its local step is made, its exchange is not
  std::int64_t local_steps = 0;  // since parameters were exchanged
  std::int64_t rounds = -1;      // of local steps that are exchanged; -1 = there are no rounds
  std::int64_t partition = 0;    // the next one to be exchanged
  std::int64_t recoveries = 0;
  std::int64_t recovered_at = 0;  // windows, at the last of them
  std::int64_t is_newcomer = 0;   // 1: it has no history, and takes over all that it lacks
  std::int64_t has_reducer = 0;
  double weight = 1;  // mean over the windows of the round that is under way

  std::int64_t steps = 0;  // -1 = without parameters and a state that belong together
  Share own;
  Share outer;
};

/// What ranks that stand together have in common; the rest is each one's own. Newcomers take over the rest as well.
enum class Replicated : std::uint8_t { nothing, parameters, parameters_and_state };

/// Until commit() nothing has changed, and every call but commit() is collective.
class Recovery {
 public:
  /// Gathers where the ranks stand. Throws MISMATCH if their states differ in form, INVALID_STATE if none is whole.
  /// `rounds`: NULL without an outer optimizer. Its start and the outer state are replicated.
  /// `deadline` is that of the whole call.
  Recovery(Communicator& comm, Optimizer& optimizer, OuterRounds* rounds, Standing own, const Deadline& deadline);
  ~Recovery();
  Recovery(const Recovery&) = delete;
  Recovery& operator=(const Recovery&) = delete;

  /// The lowest of the ranks that are furthest: most rounds, then most steps, then most windows. A newcomer is none
  /// where others have a history.
  std::int32_t root() const { return static_cast<std::int32_t>(root_); }
  const Standing& root_standing() const { return all_[root_]; }
  const Standing& own_standing() const { return all_[static_cast<std::size_t>(comm_.rank())]; }
  bool is_root() const { return root() == comm_.rank(); }

  /// This rank takes over all that the root has: it has just come, or the ranks have stepped different windows.
  bool takes_over() const { return !together_ || own_standing().is_newcomer != 0; }
  /// All stand at the same push of the same window.
  bool keeps_windows() const { return keeps_windows_; }
  /// No rank has made a local step since the last exchange.
  bool is_between_rounds() const;
  /// What this rank has in its window is in the root's parameters: the exchange that failed here succeeded there.
  bool is_finished_by_root() const;

  /// The state of either optimizer has been dealt out to ranks.
  bool is_sharded() const { return sharded(&Standing::own).ranks > 0 || sharded(&Standing::outer).ranks > 0; }
  /// How the optimizer's state is shared: what the root says of it, or, where the root has it whole, the first rank
  /// that shares it.
  const Share& sharded(Share Standing::* share) const;
  /// Deals such a state out over the ranks of the communicator, from what they have. Groups: those of a reducer that
  /// brings slices. Throws INVALID_STATE on all ranks where a part of it is gone.
  void deal_out(const std::vector<std::vector<std::size_t>>& groups);

  /// Brings the root's parameters and state, as far as ranks take them over, which stay aside. params were checked
  /// against the optimizer's schema.
  void bring(std::span<const Array> params, Replicated replicated);
  /// Parameters and state are the root's from here on.
  void commit();

 private:
  /// A host buffer or a state buffer, and the contiguous copy of it that travels.
  struct Transfer {
    Array target;
    Buffer staging;
    bool is_replicated = false;  // on all ranks, not only on those that take over everything
    Array staged() const { return {staging.data(), target.size, target.dtype, 0, nullptr, nullptr}; }
  };

  /// An optimizer whose state is taken over.
  struct Taken {
    Optimizer& optimizer;
    std::vector<std::uint8_t> flags;
    bool is_replicated;
  };

  /// An optimizer whose state is dealt out anew.
  struct Dealt {
    Optimizer* optimizer;
    std::unique_ptr<Sharding> next;
  };

  void check_forms() const;
  void deal_out(Optimizer& optimizer, Share Standing::* share, const std::vector<std::vector<std::size_t>>& groups);
  bool asks_peers(Share Standing::* share) const;
  bool is_dealt(const Optimizer& optimizer) const;
  void find_root();
  void compare();
  bool is_taken(bool is_replicated) const { return is_replicated || takes_over(); }
  void stage(const Array& target, bool is_replicated);
  void stage_state(Optimizer& optimizer, bool is_replicated);
  void copy(bool out);

  Communicator& comm_;
  Optimizer& optimizer_;
  OuterRounds* rounds_;
  DataPlane data_;
  const Deadline deadline_;
  std::vector<Standing> all_;
  std::size_t root_ = 0;
  bool has_newcomers_ = false;
  bool together_ = false;  // all that are no newcomers have stepped the same windows, and no step is to be undone
  bool keeps_windows_ = false;
  std::vector<Transfer> transfers_;
  std::vector<Taken> taken_;
  std::vector<Dealt> dealt_;
};

}  // namespace gradstep
