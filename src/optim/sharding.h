// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// A model spread over ranks: who owns which part of every tensor, and how gradients and parameters travel in a step.
//
// The chunks of all parameters, in the order of the schema, are dealt out in one contiguous run per rank, by elements.
// A slice thus begins at a multiple of kChunk, so that a norm is folded from the very partials of an unsharded step and
// block codes stay whole. An optimizer that deals out something else than elements gets whole tensors on every rank.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "backend/bound_copies.h"
#include "backend/context.h"
#include "comm/communicator.h"
#include "comm/data_plane.h"
#include "core/schema.h"
#include "gradstep/sharding.h"
#include "optim/state/stored_state.h"

namespace gradstep {

/// How the gradients of a sharded step become one.
struct GradientExchange {
  std::int32_t gradients = GRADSTEP_SHARDED_GRADIENTS_LOCAL;
  std::int32_t average = GRADSTEP_AVERAGE_MEAN;
  double weight = 1;            ///< of this rank, for AVERAGE_WEIGHTED
  bool needs_gradient = false;  ///< no step where no rank has a gradient
  std::uint64_t window = 0;     ///< stands for what ranks must agree on of the window that the gradients are of
};

enum class Dealing : std::uint8_t {
  chunks,  ///< every rank has slices of its own
  whole,   ///< every rank has everything: gradients are all-reduced, parameters stay where they are
};

class Sharding {
 public:
  /// What ranks compare before they share state, for compare_ranks(). `rule` tells apart whatever must be equal on all
  /// of them.
  static std::vector<std::uint64_t> facts(const Schema& schema, const std::string& rule, std::int64_t step_count,
                                          const gradstep_sharding_options& options);
  static const char* fact_text(std::size_t i);

  /// `channel` is this object's own. `site` is the optimizer's, and outlives this.
  Sharding(const Context& context, const Site& site, std::shared_ptr<Communicator> channel, const Schema& schema,
           const gradstep_sharding_options& options, Dealing dealing);

  const gradstep_sharding_options& options() const { return options_; }
  const GradientExchange& default_exchange() const { return exchange_; }
  bool is_whole() const { return dealing_ == Dealing::whole; }
  Communicator& comm() const { return *comm_; }
  DataPlane& data() const { return data_; }

  /// This rank's part of parameter i.
  Slice slice(std::size_t i) const { return slices_[static_cast<std::size_t>(comm_->rank())][i]; }
  Slice slice(std::int32_t rank, std::size_t i) const { return slices_[static_cast<std::size_t>(rank)][i]; }
  /// The chunks of this rank's slices, item i being the slice of parameter i.
  const WorkList& work() const { return own_work_; }

  /// What ranks must agree on before a step. Sums over the ranks where ranks may differ.
  struct Agreement {
    bool found_inf = false;     ///< in: here; out: on any rank
    bool wants_norm = false;    ///< equal on all ranks, or MISMATCH on all
    bool any_gradient = false;  ///< out: some rank has a gradient
    bool has_failed = false;    ///< in: this rank cannot step; ABORTED on all
    std::uint64_t facts = 0;    ///< in: stands for what must be equal on all ranks
    bool is_equal = true;       ///< out: `facts` is
  };
  /// One exchange before anything is changed. Collective; `deadline` is that of the whole step.
  Agreement agree(const BufferList& grads, const GradientExchange& exchange, Agreement own, const Deadline& deadline);
  /// Brings every rank its slices of the gradients for which agree() was called. Collective.
  void bring_gradients(const BufferList& grads, const GradientExchange& exchange, const Deadline& deadline);
  /// By parameter: this rank's slice, contiguous in the arithmetic dtype (whole and REDUCED: the host's own); no data =
  /// no rank has a gradient.
  BufferList gradients() const { return {gradient_slices_, gradients_version_}; }
  /// Sums of squares of this rank's chunks, in their place among those of all ranks. Collective; at the site.
  void gather_partials(const NormPlan& own, double scale, double* partials, const Deadline& deadline) const;
  std::int64_t chunk_count() const;
  /// The norm of the whole gradient, at the site. Collective. With f64 gradients the host waits for it, and a second
  /// exchange follows where their squares have left f64's range.
  const double* norm(const Deadline& deadline);
  /// The largest magnitude of an element of the whole gradient, on the host. Collective.
  const double* largest(const Deadline& deadline);

  /// Copies this rank's slices of the parameters into staging, where the step works on them.
  void stage(const BufferList& params);
  std::span<const Array> staged() const { return staged_slices_; }
  /// Gathers what all ranks have staged and, when all is there, writes it to the targets. Collective.
  void publish(const BufferList& targets, const Deadline& deadline);

  /// Writes the whole of a tensor of which this rank has `own`: `per_block` elements of the parameter make one of it.
  /// Collective.
  void gather(std::size_t parameter, const Array& own, std::int64_t per_block, void* whole,
              const Deadline& deadline) const;

  std::int64_t bytes() const;

 private:
  /// Parameters of one dtype, one after the other in the arena. A rank's slices of them are contiguous there.
  struct Region {
    DType dtype = DType::f32;
    std::vector<std::size_t> parameters;
    std::vector<std::int64_t> first;   ///< by position: where the parameter begins, in elements
    std::vector<std::int64_t> counts;  ///< elements by rank
    std::vector<std::int64_t> bytes;   ///< by rank
    std::int64_t offset = 0;           ///< of the region in the arena, in bytes
    std::int64_t elements = 0;
    std::int64_t own_first = 0;  ///< where this rank's elements begin
    Buffer own;                  ///< gradients: this rank's elements, reduced; none if it has all
  };

  void deal_out(const Schema& schema);
  void stage_slices(const Schema& schema);
  std::vector<Region> regions(const Schema& schema, bool arithmetic);
  Array arena_array(const Region& region, std::int64_t first, std::int64_t count) const;
  void keep_own(Region& region);
  void show_gradients(std::span<const Array> grads, bool local);

  const Site& site_;
  std::shared_ptr<Communicator> comm_;
  mutable DataPlane data_;  // of comm_
  gradstep_sharding_options options_;
  GradientExchange exchange_;
  Dealing dealing_;
  std::vector<std::vector<Slice>> slices_;          // by rank, then parameter
  std::vector<std::int64_t> chunk_counts_;          // by rank
  std::vector<std::int64_t> partial_bytes_;         // of their sums of squares, by rank
  mutable std::vector<std::int64_t> gather_bytes_;  // of one state, by rank: room made beforehand
  std::vector<bool> may_be_unused_;
  WorkList work_;      // of the whole tensors
  WorkList own_work_;  // of this rank's slices
  WorkList part_;      // of this rank's slices, at their places in the whole tensors
  std::vector<Region> gradient_regions_;
  std::vector<Region> param_regions_;
  Buffer arena_;  // gradients on their way out, then parameters on their way in
  BoundCopies gradients_in_{BoundCopies::Direction::from_host};  // to the arena, as are
  BoundCopies params_in_{BoundCopies::Direction::from_host};
  BoundCopies params_out_{BoundCopies::Direction::to_host};
  std::vector<Array> gradient_slices_;
  std::uint64_t gradients_version_ = new_version();
  std::vector<Array> whole_slices_;  // those of gradients of parameters that have one
  std::vector<Array> staged_slices_;
  std::vector<double> control_;
  NormPlan own_norm_;
  Buffer squares_;  // the norm, and the partials of all ranks
  double largest_ = 0;
};

}  // namespace gradstep
