// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// A reduction around a ring (Patarasuk and Yuan, Bandwidth optimal all-reduce algorithms, 2009): the data are cut into
// a piece for each rank. In the first P - 1 steps a piece grows by the data of one rank after the other, in the rest it
// goes round once more, complete. A rank has one neighbour that it sends to and one that it receives from, so where the
// ranks of a host follow each other, every link carries each piece once for both halves.
//
// Pieces travel in segments, so that adding, sending and receiving go on at once: what has come is added and passed on,
// and kSegmentsAhead receives are waiting meanwhile. A complete piece may be received over what this rank had there:
// that was on its way before any other rank could complete the piece. All ranks meet first, so that they compare their
// calls.
#include <algorithm>
#include <cstddef>
#include <vector>

#include "backend/plugin.h"
#include "comm/plugins/failure.h"
#include "comm/plugins/gloo/mesh.h"
#include "core/slice.h"

namespace gradstep::gloo_plugin {

using namespace plugin;

namespace {

constexpr std::int64_t kSegmentBytes = std::int64_t{1} << 17;
constexpr std::int64_t kSegmentsAhead = 16;
/// Pieces begin at multiples of this many elements, so that sums are aligned.
constexpr std::int64_t kGrain = 64;

/// What goes in a segment of one step: elements [begin, begin + count), which may be none.
struct Segment {
  std::int64_t begin;
  std::int64_t count;
};

/// Who sends what in which step.
class Course {
 public:
  Course(const gradstep_plugin_ring& ring, int rank, int size)
      : ranks_(size),
        place_(static_cast<int>(std::find(ring.ranks, ring.ranks + size, rank) - ring.ranks)),
        count_(ring.count),
        segment_(std::max(kGrain, kSegmentBytes / ring.element_bytes / kGrain * kGrain)),
        piece_(equal_share(count_, size, kGrain)) {
    segments_ = (piece_ + segment_ - 1) / segment_;
    next_ = ring.ranks[(place_ + 1) % size];
    previous_ = ring.ranks[(place_ + size - 1) % size];
  }

  int next() const { return next_; }
  int previous() const { return previous_; }
  /// Segments of one step.
  std::int64_t segments() const { return segments_; }
  /// Segments of all steps.
  std::int64_t all_segments() const { return 2 * (ranks_ - 1) * segments_; }
  bool is_added(std::int64_t segment) const { return step_of(segment) < ranks_ - 1; }
  bool is_last_sum(std::int64_t segment) const { return step_of(segment) == ranks_ - 2; }
  /// Segments are counted through all steps.
  Segment sent(std::int64_t segment) const { return of_piece(place_ - step_of(segment), segment); }
  Segment received(std::int64_t segment) const { return of_piece(place_ - step_of(segment) - 1, segment); }

 private:
  std::int64_t step_of(std::int64_t segment) const { return segment / segments_; }
  Segment of_piece(std::int64_t piece, std::int64_t segment) const {
    const std::int64_t first = (piece + 2 * ranks_) % ranks_ * piece_;
    const std::int64_t end = std::min(count_, first + piece_);
    const std::int64_t begin = std::min(end, first + segment % segments_ * segment_);
    return {begin, std::min(segment_, end - begin)};
  }

  std::int64_t ranks_;
  int place_;
  std::int64_t count_;
  std::int64_t segment_;
  std::int64_t piece_;
  std::int64_t segments_ = 0;
  int next_ = 0;
  int previous_ = 0;
};

}  // namespace

void Mesh::reduce_by_ring(const gradstep_plugin_ring& ring, const Deadline& deadline) {
  // In the ring a rank hears of two others alone, and what it would tell them waits behind the data.
  const char token = 1;
  std::vector<char> tokens(static_cast<std::size_t>(size));
  all_gather(&token, tokens.data(), 1, deadline);
  const Course course(ring, rank, size);
  const std::int64_t all = course.all_segments();
  blocks_.resize(static_cast<std::size_t>(kSegmentsAhead * std::max(kSegmentBytes, kGrain * ring.element_bytes)));
  const std::int64_t block = static_cast<std::int64_t>(blocks_.size()) / kSegmentsAhead;
  const auto at = [&](std::int64_t element) { return static_cast<char*>(ring.data) + element * ring.element_bytes; };
  const auto place_of = [&](std::int64_t segment) {
    return course.is_added(segment) ? blocks_.data() + segment % kSegmentsAhead * block
                                    : at(course.received(segment).begin);
  };
  const auto receive = [&](std::int64_t segment) {
    const Segment in = course.received(segment);
    if (in.count == 0) return;
    post_recv(course.previous(), place_of(segment), in.count * ring.element_bytes, Way::announced);
  };
  std::int64_t sends = 0;
  const auto send = [&](std::int64_t segment) {
    const Segment out = course.sent(segment);
    if (out.count == 0) return;
    post_send(course.next(), at(out.begin), out.count * ring.element_bytes, Way::announced);
    ++sends;
  };
  for (std::int64_t segment = 0; segment < std::min(kSegmentsAhead, all); ++segment) receive(segment);
  for (std::int64_t segment = 0; segment < course.segments(); ++segment) send(segment);
  for (std::int64_t segment = 0; segment < all; ++segment) {
    if (const Segment in = course.received(segment); in.count > 0) {
      wait_recv(course.previous(), Way::announced, deadline);
      if (course.is_added(segment)) {
        check_callback(ring.add(ring.user, at(in.begin), place_of(segment), in.count, course.is_last_sum(segment)));
      }
    }
    if (segment + course.segments() < all) send(segment + course.segments());
    if (segment + kSegmentsAhead < all) receive(segment + kSegmentsAhead);
  }
  for (; sends > 0; --sends) wait_send(course.next(), deadline);
}

}  // namespace gradstep::gloo_plugin
