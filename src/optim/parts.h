// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Parameters that a host has spread over ranks: which part of each whole every rank has. A part is a box of the whole;
// ranks with equal boxes are replicas of each other. What a rule steps as a whole has one owner among the ranks.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "comm/communicator.h"
#include "core/array.h"
#include "core/function_ref.h"
#include "core/schema.h"
#include "core/slice.h"

namespace gradstep {

/// A box of a whole.
struct Box {
  std::span<const std::int64_t> shape;
  std::span<const std::int64_t> offset;
  std::int64_t size = 0;
};

/// That of a parameter which is a part.
inline Box box_of(const Parameter& part) { return {part.shape, part.offset(), part.size}; }

/// Calls run(begin, count) for the elements [begin, begin + count) of the whole, in the order in which they lie in the
/// box.
void for_each_run(std::span<const std::int64_t> whole, const Box& box,
                  FunctionRef<void(std::int64_t begin, std::int64_t count)> run);

/// The distances of elements along each axis of a whole.
std::vector<std::int64_t> strides_of(std::span<const std::int64_t> whole);
/// The elements of a box, shown in the whole; all must stay.
Array box_in(const Array& whole, std::span<const std::int64_t> strides, const Box& box);

/// Throws UNSUPPORTED where parameters are parts of wholes.
void check_has_no_parts(const Schema& schema);
/// Throws INVALID_STATE where parameters are parts of wholes, unless the ranks that have the others are attached.
void check_parts_are_attached(const Schema& schema, bool is_attached);

class Parts {
 public:
  /// With room for what exchange() brings. `has_state`: by parameter, whether this rank holds an owner's state; empty =
  /// it holds none.
  Parts(const Schema& schema, std::int32_t ranks, const std::vector<bool>& has_state = {});
  /// Collective, by ranks whose parameters have equal names. Throws MISMATCH, on all ranks alike, unless the parts of
  /// all ranks make up each whole: every element of it is in one box, which several ranks may have.
  void exchange(Communicator& comm, const Schema& schema, const Deadline& deadline);
  /// After exchange(), alike on all ranks: names an owner of each divided parameter with a cost above 0 (Dealing). It
  /// is a rank whose part is the whole, else one that holds the state, else, the costliest parameter first, the rank
  /// with the least cost so far (assignment.h).
  void name_owners(const Schema& schema, const std::vector<double>& costs);

  std::int32_t ranks() const { return ranks_; }
  Box box(std::int32_t rank, std::size_t parameter) const;
  /// False: every rank has all of it.
  bool is_divided(std::size_t parameter) const { return divided_[parameter]; }
  /// Whether this is the rank whose elements stand for the box: one of those that have it.
  bool stands(std::int32_t rank, std::size_t parameter) const { return stands_[place(rank, parameter)]; }
  /// The rank whose state of the whole counts; -1 = each rank steps its part.
  std::int32_t owner(std::size_t parameter) const { return owners_[parameter]; }
  /// Whether the ranks send their parts to an owner, for none of them has the whole.
  bool travels(std::size_t parameter) const { return travels_[parameter]; }
  bool any_travels() const { return std::ranges::find(travels_, true) != travels_.end(); }
  /// Whether the rank held an owner's state of the parameter when the parts were exchanged.
  bool has_state(std::int32_t rank, std::size_t parameter) const {
    return boxes_[static_cast<std::size_t>(rank) * first_.back() + first_[parameter + 1] - 1] != 0;
  }
  /// By rank and parameter: all that each rank steps.
  RankSlices slices() const;
  std::size_t bytes() const;

 private:
  std::size_t place(std::int32_t rank, std::size_t parameter) const {
    return static_cast<std::size_t>(rank) * divided_.size() + parameter;
  }
  /// Marks the ranks that stand for the boxes of a parameter.
  void check(const Parameter& parameter, std::size_t i);
  void check_overlaps(const Parameter& parameter, std::size_t i, std::vector<std::int32_t> standing) const;
  /// "rank 0 has (2,3) at (0,0)".
  std::string text(std::int32_t rank, std::size_t parameter) const;

  /// The shape of a rank's box, and its offset.
  std::span<const std::int64_t> numbers(std::int32_t rank, std::size_t parameter) const;

  std::int32_t ranks_;
  std::vector<std::size_t> first_;    // by parameter: where its numbers begin in those of a rank; then their number
  std::vector<std::int64_t> boxes_;   // by rank, then parameter: shape and offset, and whether it has state
  std::vector<std::int64_t> sizes_;   // by place()
  std::vector<bool> divided_;         // by parameter
  std::vector<bool> stands_;          // by place()
  std::vector<std::int32_t> owners_;  // by parameter
  std::vector<bool> travels_;         // by parameter
  // For exchange() alone.
  std::vector<std::int64_t> own_boxes_;
  std::vector<std::uint64_t> wholes_;  // by parameter: stands for the shape of the whole
  std::vector<std::uint64_t> room_;
};

}  // namespace gradstep
