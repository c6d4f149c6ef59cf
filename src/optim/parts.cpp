// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "optim/parts.h"

#include <algorithm>
#include <functional>
#include <numeric>

#include "comm/compare_ranks.h"
#include "core/error.h"
#include "core/hash.h"
#include "core/shape.h"
#include "optim/assignment.h"

namespace gradstep {

namespace {

constexpr int kMostNamedRanks = 4;

std::int64_t product(std::span<const std::int64_t> shape) {
  return std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies());
}

bool have_common_elements(const Box& a, const Box& b) {
  for (std::size_t axis = 0; axis < a.shape.size(); ++axis) {
    if (a.offset[axis] + a.shape[axis] <= b.offset[axis] || b.offset[axis] + b.shape[axis] <= a.offset[axis]) {
      return false;
    }
  }
  return true;
}

std::vector<std::uint64_t> hashes_of_wholes(const Schema& schema) {
  std::vector<std::uint64_t> hashes;
  for (const Parameter& parameter : schema) {
    const std::span<const std::int64_t> whole = parameter.whole_shape();
    const std::uint64_t axes = whole.size();
    hashes.push_back(hash_bytes(whole.data(), whole.size_bytes(), hash_bytes(&axes, sizeof axes)));
  }
  return hashes;
}

}  // namespace

void for_each_run(std::span<const std::int64_t> whole, const Box& box,
                  FunctionRef<void(std::int64_t begin, std::int64_t count)> run) {
  if (box.size == 0) return;
  // Axes that the box has all of, and the one before them, make up a run.
  std::size_t inner = whole.size();
  std::int64_t count = 1;
  while (inner > 0 && count == product(whole.subspan(inner))) count *= box.shape[--inner];
  std::vector<std::int64_t> index(inner, 0);
  for (std::int64_t at = 0; at < box.size; at += count) {
    std::int64_t begin = 0;
    for (std::size_t axis = 0; axis < whole.size(); ++axis) {
      begin = begin * whole[axis] + box.offset[axis] + (axis < inner ? index[axis] : 0);
    }
    run(begin, count);
    for (std::size_t axis = inner; axis-- > 0;) {
      ++index[axis];
      if (index[axis] < box.shape[axis]) break;
      index[axis] = 0;
    }
  }
}

std::vector<std::int64_t> strides_of(std::span<const std::int64_t> whole) {
  std::vector<std::int64_t> strides(whole.size(), 1);
  for (std::size_t axis = whole.size(); axis-- > 1;) strides[axis - 1] = strides[axis] * whole[axis];
  return strides;
}

Array box_in(const Array& whole, std::span<const std::int64_t> strides, const Box& box) {
  const std::int64_t first = std::inner_product(strides.begin(), strides.end(), box.offset.begin(), std::int64_t{0});
  Array found = part_of(whole, first, box.size);
  found.ndim = static_cast<std::int32_t>(strides.size());
  found.shape = box.shape.data();
  found.strides = strides.data();
  return found;
}

void check_has_no_parts(const Schema& schema) {
  const auto part = std::ranges::find_if(schema, &Parameter::is_part);
  if (part == schema.end()) return;
  fail(GRADSTEP_ERR_UNSUPPORTED,
       "parameter '{}': is a part of {}, expected whole parameters: attach_shards takes parts", part->name,
       shape_text(part->whole_shape()));
}

void check_parts_are_attached(const Schema& schema, bool is_attached) {
  if (is_attached) return;
  const auto part = std::ranges::find_if(schema, &Parameter::is_part);
  if (part == schema.end()) return;
  fail(GRADSTEP_ERR_INVALID_STATE, "parameter '{}': is a part of {}: attach the ranks that have the others first",
       part->name, shape_text(part->whole_shape()));
}

Parts::Parts(const Schema& schema, std::int32_t ranks, const std::vector<bool>& has_state)
    : ranks_(ranks),
      divided_(schema.size()),
      owners_(schema.size(), -1),
      travels_(schema.size()),
      wholes_(hashes_of_wholes(schema)) {
  for (std::size_t i = 0; i < schema.size(); ++i) {
    const Parameter& parameter = schema[i];
    first_.push_back(own_boxes_.size());
    own_boxes_.insert(own_boxes_.end(), parameter.shape.begin(), parameter.shape.end());
    const std::span<const std::int64_t> offset = parameter.offset();
    own_boxes_.insert(own_boxes_.end(), offset.begin(), offset.end());
    own_boxes_.resize(first_.back() + 2 * parameter.shape.size());
    own_boxes_.push_back(!has_state.empty() && has_state[i] ? 1 : 0);
  }
  first_.push_back(own_boxes_.size());
  const auto all = static_cast<std::size_t>(ranks_);
  boxes_.resize(own_boxes_.size() * all);
  sizes_.resize(schema.size() * all);
  stands_.resize(sizes_.size());
  room_.resize(sizes_.size());
}

void Parts::exchange(Communicator& comm, const Schema& schema, const Deadline& deadline) {
  const auto word = [&](std::size_t i) {
    return fmt::format("the shape of the whole of parameter '{}'", schema[i].name);
  };
  compare_ranks(comm, wholes_, word, deadline, room_);
  const std::size_t bytes = own_boxes_.size() * sizeof own_boxes_[0];
  comm.all_gather(own_boxes_.data(), boxes_.data(), static_cast<std::int64_t>(bytes), deadline);
  own_boxes_ = {};
  wholes_ = room_ = {};
  for (std::int32_t rank = 0; rank < ranks_; ++rank) {
    for (std::size_t i = 0; i < schema.size(); ++i) sizes_[place(rank, i)] = product(box(rank, i).shape);
  }
  for (std::size_t i = 0; i < schema.size(); ++i) check(schema[i], i);
}

void Parts::name_owners(const Schema& schema, const std::vector<double>& costs) {
  std::vector<double> left(schema.size(), 0);  // costs of those that no rank has yet
  std::vector<double> loads(static_cast<std::size_t>(ranks_), 0);
  for (std::size_t i = 0; i < schema.size(); ++i) {
    if (!divided_[i] || costs.empty() || !(costs[i] > 0)) continue;
    const auto name_first = [&](auto is_it) {
      for (std::int32_t rank = 0; rank < ranks_ && owners_[i] < 0; ++rank) {
        if (is_it(rank)) owners_[i] = rank;
      }
    };
    name_first([&](std::int32_t rank) { return sizes_[place(rank, i)] == schema[i].whole_size(); });
    travels_[i] = owners_[i] < 0;
    name_first([&](std::int32_t rank) { return has_state(rank, i); });
    (owners_[i] < 0 ? left[i] : loads[static_cast<std::size_t>(owners_[i])]) += costs[i];
  }
  const std::vector<std::int32_t> dealt = assign_longest_first(left, ranks_, std::move(loads));
  for (std::size_t i = 0; i < left.size(); ++i) {
    if (left[i] > 0) owners_[i] = dealt[i];
  }
}

std::span<const std::int64_t> Parts::numbers(std::int32_t rank, std::size_t parameter) const {
  return std::span(boxes_).subspan(static_cast<std::size_t>(rank) * first_.back() + first_[parameter],
                                   first_[parameter + 1] - first_[parameter] - 1);
}

Box Parts::box(std::int32_t rank, std::size_t parameter) const {
  const std::span<const std::int64_t> found = numbers(rank, parameter);
  const std::size_t axes = found.size() / 2;
  return {found.first(axes), found.last(axes), sizes_[place(rank, parameter)]};
}

std::string Parts::text(std::int32_t rank, std::size_t parameter) const {
  const Box found = box(rank, parameter);
  return fmt::format("rank {} has {} at {}", rank, shape_text(found.shape), shape_text(found.offset));
}

void Parts::check(const Parameter& parameter, std::size_t i) {
  std::vector<std::int32_t> standing;
  for (std::int32_t rank = 0; rank < ranks_; ++rank) {
    if (sizes_[place(rank, i)] > 0) standing.push_back(rank);
  }
  std::ranges::stable_sort(standing, [&](std::int32_t a, std::int32_t b) {
    return std::ranges::lexicographical_compare(numbers(a, i), numbers(b, i));
  });
  const auto replicas = std::ranges::unique(
      standing, [&](std::int32_t a, std::int32_t b) { return std::ranges::equal(numbers(a, i), numbers(b, i)); });
  standing.erase(replicas.begin(), replicas.end());
  std::int64_t found = 0;
  for (const std::int32_t rank : standing) {
    stands_[place(rank, i)] = true;
    found += sizes_[place(rank, i)];
  }
  const std::int64_t expected = parameter.whole_size();
  check_overlaps(parameter, i, standing);
  if (found == expected) {
    for (std::int32_t rank = 0; rank < ranks_; ++rank) divided_[i] = divided_[i] || sizes_[place(rank, i)] != expected;
    return;
  }
  std::string parts;
  for (std::int32_t rank = 0; rank < std::min(ranks_, kMostNamedRanks); ++rank) {
    parts += fmt::format("{}{}", rank > 0 ? ", " : "", text(rank, i));
  }
  if (ranks_ > kMostNamedRanks) parts += ", ...";
  fail(GRADSTEP_ERR_MISMATCH,
       "parameter '{}': the parts of all ranks have {} elements, expected the {} of a whole of {}: {}", parameter.name,
       found, expected, shape_text(parameter.whole_shape()), parts);
}

/// Boxes are compared along the axis on which the most of them begin at places of their own.
void Parts::check_overlaps(const Parameter& parameter, std::size_t i, std::vector<std::int32_t> standing) const {
  if (standing.size() < 2) return;
  const auto begins = [&](std::size_t axis) {
    std::vector<std::int64_t> all;
    for (const std::int32_t rank : standing) all.push_back(box(rank, i).offset[axis]);
    std::ranges::sort(all);
    return std::ranges::unique(all).begin() - all.begin();
  };
  std::size_t axis = 0;
  for (std::size_t other = 1; other < parameter.shape.size(); ++other) {
    if (begins(other) > begins(axis)) axis = other;
  }
  std::ranges::stable_sort(standing, {}, [&](std::int32_t rank) { return box(rank, i).offset[axis]; });
  for (std::size_t k = 0; k < standing.size(); ++k) {
    const Box one = box(standing[k], i);
    for (std::size_t m = k + 1; m < standing.size(); ++m) {
      const Box other = box(standing[m], i);
      if (other.offset[axis] >= one.offset[axis] + one.shape[axis]) break;
      if (!have_common_elements(one, other)) continue;
      fail(GRADSTEP_ERR_MISMATCH, "parameter '{}': {} and {}, expected equal parts or no element in common",
           parameter.name, text(standing[k], i), text(standing[m], i));
    }
  }
}

std::size_t Parts::bytes() const {
  const std::size_t bits = divided_.capacity() + stands_.capacity() + travels_.capacity();
  return (boxes_.capacity() + sizes_.capacity()) * sizeof(std::int64_t) + first_.capacity() * sizeof(std::size_t) +
         owners_.capacity() * sizeof(std::int32_t) + bits / 8;
}

RankSlices Parts::slices() const {
  RankSlices slices(static_cast<std::size_t>(ranks_));
  for (std::size_t i = 0; i < divided_.size(); ++i) {
    std::int64_t whole = 0;
    for (std::int32_t rank = 0; rank < ranks_; ++rank) whole += stands(rank, i) ? sizes_[place(rank, i)] : 0;
    for (std::int32_t rank = 0; rank < ranks_; ++rank) {
      std::int64_t size = sizes_[place(rank, i)];
      if (travels(i)) size = rank == owner(i) ? whole : 0;
      slices[static_cast<std::size_t>(rank)].push_back({0, size});
    }
  }
  return slices;
}

}  // namespace gradstep
