// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Some rules step whole tensors, and ranks may have only parts of them (parts.h). In a step each such tensor is at its
// owner. All ranks send the parts of all tensors in one exchange, and get them back in another.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "backend/bound_copies.h"
#include "backend/site.h"
#include "comm/data_plane.h"
#include "core/schema.h"
#include "optim/parts.h"
#include "optim/working_buffers.h"

namespace gradstep {

class PartOwners final : public WorkingBuffers {
 public:
  /// `site` and `data` outlive it. `parts` have their owners.
  PartOwners(const Site& site, DataPlane& data, const Schema& schema, std::unique_ptr<const Parts> parts,
             std::int32_t rank);
  const Parts& parts() const { return *parts_; }
  /// False: every rank steps what it has, and nothing else here is called.
  bool have_work() const { return !tensors_.empty(); }

  /// Brings the owners gradients, in the arithmetic dtype, and parameters. `grads`, the host's, become those that the
  /// step works on. Collective.
  void bring(const StepBuffers& buffers, std::vector<Array>& grads, const Deadline& deadline);
  void stage(const BufferList& /*params*/) override {}  // they came with the gradients
  /// The host's arrays, and of a tensor with an owner the whole or nothing.
  std::span<const Array> params() const override { return params_; }
  std::span<const Array> updates() const override { return updates_; }
  void publish(const BufferList& targets, const Deadline& deadline) override;

  std::size_t bytes() const { return parts_->bytes() + near_.bytes() + far_.bytes() + wholes_.bytes(); }

 private:
  enum class Way : std::uint8_t { to_owners, back };
  /// By rank, in bytes.
  struct Traffic {
    std::vector<std::int64_t> sent;
    std::vector<std::int64_t> received;
  };
  struct Tensor {
    std::size_t parameter = 0;
    std::vector<std::int64_t> strides;  ///< of the whole
    // The whole at its owner, else nothing.
    Array param;
    Array grad;
  };

  /// Calls visit(tensor, elements) for the parts of a rank that go to an owner, or come back.
  template <class Visit>
  void for_each_piece(Way way, std::int32_t holder, std::int32_t owner, Visit visit) const;
  Traffic traffic(Way way) const;
  void place_wholes();
  void place_pieces();

  const Site& site_;
  DataPlane& data_;
  std::unique_ptr<const Parts> parts_;
  std::int32_t rank_;
  std::vector<Tensor> tensors_;
  Traffic to_owners_;
  Traffic back_;
  Buffer near_;    // this rank's parts, one owner's after another's
  Buffer far_;     // parts of the tensors that it owns, one rank's after another's
  Buffer wholes_;  // those tensors
  WorkList out_work_;
  BoundCopies grads_out_{BoundCopies::Direction::from_host};
  BoundCopies params_out_{BoundCopies::Direction::from_host};
  WorkList join_work_;
  std::vector<CopyItem> joined_;  // parts into wholes
  CopyPlan join_;
  WorkList cut_work_;
  std::vector<CopyItem> parted_;  // wholes into parts
  CopyPlan cut_;
  WorkList in_work_;
  BoundCopies results_in_{BoundCopies::Direction::to_host};
  std::vector<Array> params_;
  std::vector<Array> updates_;
};

}  // namespace gradstep
