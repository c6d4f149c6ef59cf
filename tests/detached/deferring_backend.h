// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// A backend made of another one, whose every operation becomes a piece of work. When that is done is for a subclass to
// say. What an operation is given is copied, as any backend must that is not done when it returns.
#pragma once

#include <functional>
#include <memory>

#include "backend/backend.h"

namespace gradstep::test {

class DeferringBackend : public Backend {
 public:
  /// `inner` computes, at once, with the host's memory.
  explicit DeferringBackend(Backend& inner) : inner_(inner) {}

  const char* name() const override { return inner_.name(); }
  const char* instruction_set() const override { return inner_.instruction_set(); }
  void prepare_program(const rules::text::Code& program, DType arithmetic, bool is_plain) override {
    inner_.prepare_program(program, arithmetic, is_plain);
  }

  void accumulate(const AccumulateJob& job, Queue& queue) override;
  void add_rows(const RowsJob& job, Queue& queue) override;
  void begin_step(const StepPlan& plan, const kernels::StepRequest& request, const double* values,
                  kernels::StepScalars* scalars, Queue& queue) override;
  void shape_gradients(const UnitPlan& plan, const kernels::StepScalars* scalars, Queue& queue) override;
  void measure_sums(const SumsPlan& plan, const kernels::StepScalars* scalars, rules::Sums* partials,
                    Queue& queue) override;
  void settle(const SumsPlan& plan, const kernels::StepScalars* scalars, Queue& queue) override;
  void update(const UpdatePlan& plan, kernels::StepScalars* scalars, Queue& queue) override;
  void count_staying(const FinishPlan& plan, const kernels::StepScalars* scalars, double* partials,
                     Queue& queue) override;
  void reserve_orthogonal(const OrthogonalPlan& plan, Queue& /*queue*/) override {
    inner_.reserve_orthogonal(plan, host_);
  }
  void orthogonalize(const OrthogonalPlan& plan, const kernels::StepScalars* scalars, Queue& queue) override;
  void reserve_factored(const FactoredPlan& plan, Queue& /*queue*/) override { inner_.reserve_factored(plan, host_); }
  void factorize(const FactoredPlan& plan, const kernels::StepScalars* scalars, Queue& queue) override;
  void take_gradients(const ProjectionPlan& plan, const kernels::StepScalars* scalars, Queue& queue) override;
  void fill_bases(const ProjectionPlan& plan, Queue& queue) override;
  void project(const ProjectionPlan& plan, const kernels::StepScalars* scalars, Queue& queue) override;
  void finish(const FinishPlan& plan, const kernels::StepScalars* scalars, Queue& queue) override;
  void average(const AveragePlan& plan, const kernels::StepScalars* scalars, Queue& queue) override;
  void close_step(kernels::StepScalars* scalars, Queue& queue) override;
  void encode(const float* from, const CodedNumbers& to, Queue& queue) override;
  void decode(const CodedNumbers& from, float* to, Queue& queue) override;
  void encode(const float* from, const StoredMatrix& to, Queue& queue) override;
  void decode(const StoredMatrix& from, float* to, Queue& queue) override;
  void write_identity(const StoredMatrix& to, double value, Queue& queue) override;
  void square_chunks(const NormPlan& plan, double scale, double* partials, Queue& queue) override;
  void fold(const double* partials, std::int64_t count, double* norm, Queue& queue) override;
  void measure(const NormPlan& plan, double* norm, Queue& queue) override;
  void copy(const CopyPlan& plan, double multiplier, double divisor, Queue& queue) override;
  void combine(const CombinePlan& plan, Queue& queue) override;
  void combine_vectors(const LinearPlan& plan, Queue& queue) override;
  void sum_ranks(const RankSum& job, Queue& queue) override;
  void dot_chunks(const CombinePlan& plan, Dots* dots, Queue& queue) override;
  void adasum(const AdasumPlan& plan, Queue& queue) override;
  void clamp(const Array& data, double bound, Queue& queue) override;
  void count_nonfinite(const Array& data, std::int64_t* count, Queue& queue) override;
  void encode_rest(float* numbers, const CodedNumbers& to, std::int64_t* nonfinite, Queue& queue) override;
  void add_decoded(const CodedNumbers& from, float* sums, double divisor, Queue& queue) override;
  void project_rows(const LowRankPlan& plan, Queue& queue) override;
  void project_columns(const LowRankPlan& plan, Queue& queue) override;
  void orthonormalize(const LowRankPlan& plan, Queue& queue) override;
  void keep_factors(const LowRankPlan& plan, Queue& queue) override;
  void expand(const LowRankPlan& plan, double factor, Queue& queue) override;
  void select_largest(const SelectPlan& plan, const Selection& to, Queue& queue) override;
  void count_reaching(const SelectPlan& plan, std::int64_t pieces, std::int64_t* counts, Queue& queue) override;
  void select_reaching(const SelectPlan& plan, const Selection& to, Queue& queue) override;
  void count_pieces(const SparseList& list, std::int64_t elements, std::int64_t pieces, std::int64_t* counts,
                    Queue& queue) override;
  void take(const Array& data, const SparseList& list, void* values, Queue& queue) override;
  void put(const Array& data, const SparseList& list, bool add, Queue& queue) override;
  void sum_sparse(const SparseSum& job, Queue& queue) override;
  std::unique_ptr<Preconditioning> make_preconditioning(const rules::ShampooForm& form) override;

 protected:
  /// `work` is to be done in the order of `queue`.
  virtual void put_into(Queue& queue, std::function<void()> work) = 0;

  Backend& inner() const { return inner_; }
  Queue& host() { return host_; }

 private:
  Backend& inner_;
  HostQueue host_;
};

}  // namespace gradstep::test
