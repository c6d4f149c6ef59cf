// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// A model spread over ranks: who owns which part of every tensor (dealing.h), and how gradients and parameters travel
// in a step.
//
// A slice begins at a multiple of kChunk, so that a norm is folded from the very partials of an unsharded step and
// block codes stay whole. An optimizer that deals out something else than elements gets whole tensors on every rank.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "backend/bound_copies.h"
#include "backend/context.h"
#include "comm/communicator.h"
#include "comm/data_plane.h"
#include "core/schema.h"
#include "gradstep/sharding.h"
#include "optim/arena_region.h"
#include "optim/chunk_partials.h"
#include "optim/dealing.h"
#include "optim/part_owners.h"
#include "optim/parts.h"
#include "optim/staged_parameters.h"

namespace gradstep {

/// How the gradients of a sharded step become one.
struct GradientExchange {
  std::int32_t gradients = GRADSTEP_SHARDED_GRADIENTS_LOCAL;
  bool in_slices = false;  ///< what is given are this rank's slices of the gradients of all ranks
  bool is_agreed = false;  ///< the ranks have compared what a step needs to be equal, and none has found_inf
  std::int32_t average = GRADSTEP_AVERAGE_MEAN;
  double weight = 1;            ///< of this rank, for AVERAGE_WEIGHTED
  bool needs_gradient = false;  ///< no step where no rank has a gradient
  std::uint64_t window = 0;     ///< stands for what ranks must agree on of the window that the gradients are of
};

class Sharding {
 public:
  /// `channel` is this object's own. `site` is the optimizer's, and outlives this. Where `dealing` has groups, steps
  /// get their gradients in slices. `parts`: those of a dealing in parts, whose gradients are REDUCED, whatever the
  /// options say; else NULL.
  Sharding(const Context& context, const Site& site, std::shared_ptr<Communicator> channel, const Schema& schema,
           const gradstep_sharding_options& options, const Dealing& dealing,
           std::unique_ptr<const Parts> parts = nullptr);

  const gradstep_sharding_options& options() const { return options_; }
  const GradientExchange& default_exchange() const { return exchange_; }
  bool is_whole() const { return is_whole_; }
  /// What the host has spread: ranks step what they have, or own. NULL = this object deals out what ranks have.
  const Parts* parts() const { return owners_ != nullptr ? &owners_->parts() : nullptr; }
  /// Each rank steps slices of the host's buffers, which are gathered.
  bool has_slices() const { return !is_whole_ && owners_ == nullptr; }
  bool takes_slices() const { return takes_slices_; }
  Communicator& comm() const { return *comm_; }
  DataPlane& data() const { return data_; }

  /// This rank's part of parameter i.
  Slice slice(std::size_t i) const { return slices_[static_cast<std::size_t>(comm_->rank())][i]; }
  Slice slice(std::int32_t rank, std::size_t i) const { return slices_[static_cast<std::size_t>(rank)][i]; }
  /// The chunks of this rank's slices, item i being the slice of parameter i.
  const WorkList& work() const { return own_work_; }

  /// NULL = a step works on the host's buffers.
  WorkingBuffers* working() {
    if (has_slices()) return &parameters_;
    return owners_ != nullptr && owners_->have_work() ? owners_.get() : nullptr;
  }

  /// What ranks must agree on before a step. Sums over the ranks where ranks may differ.
  struct Agreement {
    bool found_inf = false;     ///< in: here; out: on any rank
    bool wants_norm = false;    ///< equal on all ranks, or MISMATCH on all
    bool any_gradient = false;  ///< out: some rank has a gradient, as far as ranks were asked
    bool has_failed = false;    ///< in: this rank cannot step; ABORTED on all
    std::uint64_t facts = 0;    ///< in: stands for what must be equal on all ranks
    bool is_equal = true;       ///< out: `facts` is
  };
  /// One exchange before anything is changed. Collective; `deadline` is that of the whole step.
  Agreement agree(const BufferList& grads, const GradientExchange& exchange, Agreement own, const Deadline& deadline);
  /// Brings every rank its slices of the gradients for which agree() was called, and owners the parameters with them.
  /// Collective.
  void bring_gradients(const StepBuffers& buffers, const GradientExchange& exchange, const Deadline& deadline);
  /// By parameter: this rank's slice, contiguous in the arithmetic dtype (without slices and REDUCED: the host's own;
  /// in slices: those; with an owner: the whole or nothing); no data = no rank has a gradient.
  BufferList gradients() const { return {gradient_slices_, gradients_version_}; }
  /// What ranks measure of their chunks, brought together.
  const ChunkPartials& partials() const { return partials_; }
  /// The rank that has the first element of a parameter.
  std::int32_t owner(std::size_t parameter) const;
  /// The norm of the whole gradient, at the site. Collective. With f64 gradients the host waits for it, and a second
  /// exchange follows where their squares have left f64's range.
  const double* norm(const Deadline& deadline);
  /// The largest magnitude of an element of the whole gradient, on the host. Collective.
  const double* largest(const Deadline& deadline);

  std::int64_t bytes() const;

 private:
  void place_gradients(const Schema& schema);
  /// A part of a parameter is stepped with the others or not at all: throws MISMATCH on all ranks.
  void check_presence() const;
  void show_gradients(std::span<const Array> grads, bool local);

  const Site& site_;
  std::shared_ptr<Communicator> comm_;
  mutable DataPlane data_;  // of comm_
  gradstep_sharding_options options_;
  GradientExchange exchange_;
  bool is_whole_;
  bool takes_slices_;
  std::unique_ptr<PartOwners> owners_;  // of parts; NULL = there are none
  bool has_wide_ = false;               // f64 gradients
  RankSlices slices_;
  std::vector<bool> may_be_unused_;
  WorkList work_;      // of the whole tensors
  WorkList own_work_;  // of this rank's slices
  WorkList part_;      // of this rank's slices, at their places in the whole tensors
  std::vector<ArenaRegion> gradient_regions_;
  Buffer arena_;  // gradients on their way out, then parameters on their way in
  StagedParameters parameters_;
  BoundCopies gradients_in_{BoundCopies::Direction::from_host};  // to the arena
  std::vector<Array> gradient_slices_;
  std::uint64_t gradients_version_ = new_version();
  std::vector<Array> whole_slices_;  // those of gradients of parameters that have one
  std::vector<double> control_;
  NormPlan own_norm_;
  Buffer squares_;  // the norm, and the partials of all ranks
  ChunkPartials partials_;
  double largest_ = 0;
};

}  // namespace gradstep
