// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// A bucket in pieces of whole chunks, one for each rank that works on what all vectors have there. The vectors are the
// ranks' own or, by hosts, the means of the hosts: then the bucket is a stretch for each owner of a host, and a stretch
// a piece for each host.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "reduce/exchange_resources.h"
#include "reduce/host_planes.h"
#include "reduce/plan.h"

namespace gradstep {

class ChunkPieces {
 public:
  /// `resources` outlive it. `chunks` are those of the bucket, in order. A small bucket of ranks' vectors is one piece,
  /// which every rank has.
  ChunkPieces(ExchangeResources& resources, const BucketPlan& plan, std::span<const Chunk> chunks);

  std::size_t vectors() const { return division_.ranks; }
  bool is_cut() const { return chunks_.size() > 2; }
  /// This rank's piece is chunks [begin, end).
  std::size_t begin() const { return static_cast<std::size_t>(chunks_[own_piece()]); }
  std::size_t end() const {
    return static_cast<std::size_t>(chunks_[own_piece() + (division_.group != nullptr ? 1 : 0)]);
  }

  /// Runs `body`, which makes the calls below, as what the communicator counts.
  void run(const Deadline& deadline, FunctionRef<void()> body);
  /// blocks = this rank's piece of every vector, one after the other. By hosts what is packed is summed there.
  void deal(const Array& packed, std::byte* blocks, const Deadline& deadline);
  /// All ranks get what each has written for its chunks, `bytes` for one.
  void gather(void* by_chunk, std::int64_t bytes, const Deadline& deadline);
  /// packed = all ranks' pieces.
  void collect(const std::byte* piece, const Array& packed, const Deadline& deadline);
  void settle(const Deadline& deadline);

 private:
  using Bounds = std::vector<std::int64_t>;

  std::size_t first_piece() const { return is_cut() ? division_.own * division_.ranks : 0; }
  std::size_t own_piece() const { return is_cut() ? first_piece() + division_.rank : 0; }
  /// Bytes of the pieces of this rank's stretch, and of the stretches of this host's ranks.
  std::span<const std::int64_t> piece_bytes(const Bounds& bounds, std::int64_t bytes);
  std::span<const std::int64_t> stretch_bytes(const Bounds& bounds, std::int64_t bytes);
  void spread(const std::byte* own, std::byte* all, const Bounds& bounds, std::int64_t bytes, const Deadline& deadline);

  ExchangeResources& resources_;
  std::unique_ptr<HostPlanes> hosts_;
  Division division_;                // each rank of the group has a vector
  Bounds chunks_;                    // piece q has chunks [q, q + 1)
  Bounds elements_;                  // likewise
  std::vector<std::int64_t> sizes_;  // scratch
};

}  // namespace gradstep
