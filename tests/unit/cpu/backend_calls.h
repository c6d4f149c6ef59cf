// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// A backend's operations with lists at hand, done when the call returns.
#pragma once

#include <cstring>
#include <deque>
#include <span>
#include <vector>

#include "backend/backend.h"

namespace gradstep::test {

/// A rule's constants, for first steps as for others. They stay until the end.
template <class Constants>
const rules::GroupConstants* group_constants(const Constants& constants, double decay = 0) {
  static std::deque<rules::GroupConstants> kept;
  rules::GroupConstants& group = kept.emplace_back();
  std::memcpy(group.usual.numbers, &constants, sizeof constants);
  group.usual.decay = decay;
  group.first = group.usual;
  return &group;
}

/// An UpdateItem with arrays of its own.
struct OwnItem : UpdateItem {
  Array param;
  Array gradient;
  Array update;
};

struct UpdateJob {
  const WorkList* work = nullptr;
  std::span<const OwnItem> items;
  double grad_multiplier = 1;
  double clip_value = 0;
  std::int64_t step = 0;
};

class BackendCalls {
 public:
  explicit BackendCalls(Backend& backend) : backend_(backend) {}

  Backend* operator->() const { return &backend_; }

  void accumulate(const AccumulateJob& job) { backend_.accumulate(job, queue_); }
  void add_rows(const Array& sum, const Array& indices, const Array& values, std::int64_t row_size, double factor) {
    backend_.add_rows({sum, indices, values, row_size, factor}, queue_);
  }
  void square_chunks(const WorkList& work, std::span<const Array> arrays, std::span<double> squares) {
    backend_.square_chunks({&work, {arrays, 0}, {}}, 1, squares.data(), queue_);
  }
  double norm(const WorkList& work, std::span<const Array> arrays) {
    double norm = 0;
    backend_.measure({&work, {arrays, 0}, {}}, &norm, queue_);
    return norm;
  }
  void update(const UpdateJob& job) {
    std::vector<std::uint8_t> used(job.items.size(), 0);
    std::vector<UpdateItem> items(job.items.begin(), job.items.end());
    for (std::size_t i = 0; i < items.size(); ++i) {
      items[i].param = &job.items[i].param;
      items[i].gradient = &job.items[i].gradient;
      items[i].update = &job.items[i].update;
      items[i].used = &used[i];
    }
    kernels::StepScalars scalars;
    scalars.gate = 1;
    scalars.grad_multiplier = job.grad_multiplier;
    scalars.steps = job.step;
    UpdatePlan plan;
    plan.work = job.work;
    plan.items = items;
    plan.clip_value = job.clip_value;
    backend_.update(plan, &scalars, queue_);
  }
  void encode(const float* from, const CodedNumbers& to) { backend_.encode(from, to, queue_); }
  void decode(const CodedNumbers& from, float* to) { backend_.decode(from, to, queue_); }
  std::int64_t encode_rest(float* numbers, const CodedNumbers& to) {
    std::int64_t nonfinite = 0;
    backend_.encode_rest(numbers, to, &nonfinite, queue_);
    return nonfinite;
  }
  void add_decoded(const CodedNumbers& from, float* sums, double divisor) {
    backend_.add_decoded(from, sums, divisor, queue_);
  }
  void copy(const WorkList& work, std::span<const CopyItem> items, double multiplier, double divisor) {
    backend_.copy({&work, items, {}}, multiplier, divisor, queue_);
  }
  void combine(const WorkList& work, std::span<const CombineItem> items) {
    backend_.combine({&work, items, {}}, queue_);
  }
  void combine_vectors(const WorkList& work, std::span<const LinearCombination> items) {
    backend_.combine_vectors({&work, items, {}}, queue_);
  }
  void dot_chunks(const WorkList& work, std::span<const CombineItem> items, std::span<Dots> dots) {
    backend_.dot_chunks({&work, items, {}}, dots.data(), queue_);
  }
  void adasum(const AdasumPlan& plan) { backend_.adasum(plan, queue_); }
  void sum_ranks(const RankSum& job) { backend_.sum_ranks(job, queue_); }
  void clamp(const Array& data, double bound) { backend_.clamp(data, bound, queue_); }
  std::int64_t count_nonfinite(const Array& data) {
    std::int64_t count = 0;
    backend_.count_nonfinite(data, &count, queue_);
    return count;
  }
  struct Found {
    std::vector<std::int32_t> indices;
    std::vector<double> values;
    std::int64_t nans = 0;
  };
  /// The largest of each part, which follow each other.
  Found select_largest(const Array& data, std::span<const SelectPart> parts, NanRule nans = {}) {
    Found found;
    SelectPlan plan;
    plan.data = data;
    plan.parts = parts;
    plan.nans = nans;
    plan.nans.found = &found.nans;
    std::int64_t count = 0;
    for (const SelectPart& part : parts) count += part.count;
    write(found, data.dtype, count, [&](const Selection& to) { backend_.select_largest(plan, to, queue_); });
    return found;
  }
  /// All that reach it, and how many are in each piece.
  Found select_reaching(const Array& data, double threshold, std::span<std::int64_t> counts) {
    Found found;
    SelectPlan plan;
    plan.data = data;
    plan.threshold = threshold;
    plan.nans.found = &found.nans;
    backend_.count_reaching(plan, static_cast<std::int64_t>(counts.size()), counts.data(), queue_);
    std::int64_t all = 0;
    for (const std::int64_t count : counts) all += count;
    write(found, data.dtype, all, [&](const Selection& to) { backend_.select_reaching(plan, to, queue_); });
    return found;
  }
  std::vector<std::int64_t> count_pieces(std::span<const std::int32_t> indices, std::int64_t elements,
                                         std::int64_t pieces) {
    std::vector<std::int64_t> counts(static_cast<std::size_t>(pieces), -1);
    backend_.count_pieces(list_of(indices, nullptr), elements, pieces, counts.data(), queue_);
    return counts;
  }
  static SparseList list_of(std::span<const std::int32_t> indices, const void* values) {
    return {indices.data(), values, static_cast<std::int64_t>(indices.size()), nullptr};
  }
  void take(const Array& data, const SparseList& list, void* values) { backend_.take(data, list, values, queue_); }
  void put(const Array& data, const SparseList& list, bool add = false) { backend_.put(data, list, add, queue_); }
  /// Answers the indices that occur.
  std::vector<std::int32_t> sum_sparse(const Array& destination, std::span<const SparseList> lists, std::int64_t begin,
                                       std::int64_t end, double divisor) {
    std::size_t all = 0;
    for (const SparseList& list : lists) all += static_cast<std::size_t>(list.count);
    std::vector<std::int32_t> touched(all);
    std::int64_t count = -1;
    backend_.sum_sparse({destination, lists, begin, end, divisor, touched.data(), &count, {}}, queue_);
    touched.resize(static_cast<std::size_t>(count));
    return touched;
  }
  void project_rows(std::span<const LowRank> matrices) { backend_.project_rows({matrices, {}}, queue_); }
  void project_columns(std::span<const LowRank> matrices) { backend_.project_columns({matrices, {}}, queue_); }
  void orthonormalize(std::span<const LowRank> matrices) { backend_.orthonormalize({matrices, {}}, queue_); }
  void keep_factors(std::span<const LowRank> matrices) { backend_.keep_factors({matrices, {}}, queue_); }
  void expand(std::span<const LowRank> matrices, double factor) { backend_.expand({matrices, {}}, factor, queue_); }

 private:
  /// body(to) with room for `count`.
  template <class Body>
  static void write(Found& found, DType dtype, std::int64_t count, Body body) {
    found.indices.resize(static_cast<std::size_t>(count));
    found.values.resize(found.indices.size());
    if (dtype == DType::f64) return body(Selection{found.indices.data(), found.values.data()});
    std::vector<float> floats(found.indices.size());
    body(Selection{found.indices.data(), floats.data()});
    found.values.assign(floats.begin(), floats.end());
  }

  Backend& backend_;
  HostQueue queue_;
};

}  // namespace gradstep::test
