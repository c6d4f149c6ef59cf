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
const kernels::GroupConstants* group_constants(const Constants& constants) {
  static std::deque<kernels::GroupConstants> kept;
  kernels::GroupConstants& group = kept.emplace_back();
  std::memcpy(group.usual.bytes, &constants, sizeof constants);
  std::memcpy(group.first.bytes, &constants, sizeof constants);
  return &group;
}

struct UpdateJob {
  const WorkList* work = nullptr;
  std::span<const UpdateItem> items;
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
    backend_.square_chunks({&work, {arrays, 0}, {}}, squares.data(), queue_);
  }
  double norm(const WorkList& work, std::span<const Array> arrays) {
    double norm = 0;
    backend_.measure({&work, {arrays, 0}, {}}, &norm, queue_);
    return norm;
  }
  void update(const UpdateJob& job) {
    std::vector<std::uint8_t> used(job.items.size(), 0);
    std::vector<UpdateItem> items(job.items.begin(), job.items.end());
    for (std::size_t i = 0; i < items.size(); ++i) items[i].used = &used[i];
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
  void select(const SelectJob& job, std::vector<std::int32_t>& indices) { backend_.select(job, indices, queue_); }
  void take(const Array& data, std::span<const std::int32_t> indices, void* values, bool clear) {
    backend_.take(data, indices, values, clear, queue_);
  }
  void put(const Array& data, std::span<const std::int32_t> indices, const void* values, bool add = false) {
    backend_.put(data, indices, values, add, queue_);
  }
  void sum_sparse(const SparseSum& job, std::vector<std::int32_t>& touched) {
    backend_.sum_sparse(job, touched, queue_);
  }
  void project_rows(const LowRank& job) { backend_.project_rows(job, queue_); }
  void project_columns(const LowRank& job) { backend_.project_columns(job, queue_); }
  void orthonormalize(const LowRank& job) { backend_.orthonormalize(job, queue_); }
  void expand(const LowRank& job, const Array& result, double factor) { backend_.expand(job, result, factor, queue_); }

 private:
  Backend& backend_;
  HostQueue queue_;
};

}  // namespace gradstep::test
