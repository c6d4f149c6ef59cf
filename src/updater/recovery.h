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
#include "updater/outer_rounds.h"

namespace gradstep {

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

  std::int64_t steps = 0;  // -1 = without a whole state to give
  std::int64_t skipped = 0;
  std::int64_t buffers = 0;  // of the state
  std::int64_t bytes = 0;    // of all of them
  std::int64_t outer_steps = 0;
  std::int64_t outer_skipped = 0;
};

/// What ranks that stand together have in common; the rest is each one's own.
enum class Replicated : std::uint8_t { nothing, parameters, parameters_and_state };

/// Until commit() nothing has changed, and every call but commit() is collective.
class Recovery {
 public:
  /// Gathers where the ranks stand. Throws MISMATCH if their states differ in form, INVALID_STATE if none is whole.
  /// `rounds`: NULL without an outer optimizer. Its start and the outer state are replicated.
  /// `deadline` is that of the whole call.
  Recovery(Communicator& comm, Optimizer& optimizer, OuterRounds* rounds, Standing own, const Deadline& deadline);

  /// The lowest of the ranks that are furthest: most rounds, then most steps, then most windows.
  std::int32_t root() const { return static_cast<std::int32_t>(root_); }
  const Standing& root_standing() const { return all_[root_]; }
  const Standing& own_standing() const { return all_[static_cast<std::size_t>(comm_.rank())]; }
  bool is_root() const { return root() == comm_.rank(); }

  /// All ranks have stepped the same windows, and none of their steps is to be undone.
  bool together() const { return together_; }
  /// All stand at the same push of the same window.
  bool keeps_windows() const { return keeps_windows_; }
  /// What this rank has in its window is in the root's parameters: the exchange that failed here succeeded there.
  bool is_finished_by_root() const;

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
    Array staged() const { return {staging.data(), target.size, target.dtype, 0, nullptr, nullptr}; }
  };

  /// An optimizer whose state is taken over.
  struct Taken {
    Optimizer& optimizer;
    std::vector<std::uint8_t> flags;
  };

  void check_forms() const;
  void find_root();
  void compare();
  void stage(const Array& target);
  void stage_state(Optimizer& optimizer);
  void copy(bool out);

  Communicator& comm_;
  Optimizer& optimizer_;
  OuterRounds* rounds_;
  DataPlane data_;
  const Deadline deadline_;
  std::vector<Standing> all_;
  std::size_t root_ = 0;
  bool together_ = false;
  bool keeps_windows_ = false;
  std::vector<Transfer> transfers_;
  std::vector<Taken> taken_;
};

}  // namespace gradstep
