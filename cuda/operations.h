// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// The operations of the backend, one file of kernels each. All are put into the queue.
#pragma once

#include "backend/backend.h"
#include "runtime/queue.h"

namespace gradstep::cuda {

// kernels/accumulate.cu
void accumulate(const AccumulateJob& job, CudaQueue& queue);
void add_rows(const RowsJob& job, CudaQueue& queue);

// kernels/norm.cu
void square_chunks(const NormPlan& plan, double scale, double* partials, CudaQueue& queue);
void fold(const double* partials, std::int64_t count, double* norm, CudaQueue& queue);
void measure(const NormPlan& plan, double* norm, CudaQueue& queue);
void dot_chunks(const CombinePlan& plan, Dots* dots, CudaQueue& queue);

// kernels/step.cu
void begin_step(const StepPlan& plan, const kernels::StepRequest& request, const double* values,
                kernels::StepScalars* scalars, CudaQueue& queue);
void close_step(kernels::StepScalars* scalars, CudaQueue& queue);

// kernels/gradient_units.cu
void shape_gradients(const UnitPlan& plan, const kernels::StepScalars* scalars, CudaQueue& queue);

// kernels/settle.cu
void measure_sums(const SumsPlan& plan, const kernels::StepScalars* scalars, rules::Sums* partials, CudaQueue& queue);
void settle(const SumsPlan& plan, const kernels::StepScalars* scalars, CudaQueue& queue);

// kernels/update.cu
void update(const UpdatePlan& plan, kernels::StepScalars* scalars, CudaQueue& queue);

// kernels/orthogonalize.cu
void reserve_orthogonal(const OrthogonalPlan& plan, CudaQueue& queue);
void orthogonalize(const OrthogonalPlan& plan, const kernels::StepScalars* scalars, CudaQueue& queue);

// kernels/factorize.cu
void reserve_factored(const FactoredPlan& plan, CudaQueue& queue);
void factorize(const FactoredPlan& plan, const kernels::StepScalars* scalars, CudaQueue& queue);

// kernels/project.cu
void take_gradients(const ProjectionPlan& plan, const kernels::StepScalars* scalars, CudaQueue& queue);
void fill_bases(const ProjectionPlan& plan, CudaQueue& queue);
void project(const ProjectionPlan& plan, const kernels::StepScalars* scalars, CudaQueue& queue);

// kernels/finish.cu
void count_staying(const FinishPlan& plan, const kernels::StepScalars* scalars, double* partials, CudaQueue& queue);
void finish(const FinishPlan& plan, const kernels::StepScalars* scalars, CudaQueue& queue);

// kernels/average.cu
void average(const AveragePlan& plan, const kernels::StepScalars* scalars, CudaQueue& queue);

// kernels/codes.cu
void encode(const float* from, const CodedNumbers& to, CudaQueue& queue);
void decode(const CodedNumbers& from, float* to, CudaQueue& queue);
void encode_rest(float* numbers, const CodedNumbers& to, CudaQueue& queue);
void add_decoded(const CodedNumbers& from, float* sums, double divisor, CudaQueue& queue);

// kernels/stored_matrix.cu
void encode(const float* from, const StoredMatrix& to, CudaQueue& queue);
void decode(const StoredMatrix& from, float* to, CudaQueue& queue);
void write_identity(const StoredMatrix& to, double value, CudaQueue& queue);

// kernels/arrays.cu
void copy(const CopyPlan& plan, double multiplier, double divisor, CudaQueue& queue);
void combine(const CombinePlan& plan, CudaQueue& queue);
void combine_vectors(const LinearPlan& plan, CudaQueue& queue);
void adasum(const AdasumPlan& plan, CudaQueue& queue);
void clamp(const Array& data, double bound, CudaQueue& queue);
void count_nonfinite(const Array& data, std::int64_t* count, CudaQueue& queue);

// kernels/rank_sum.cu
void sum_ranks(const RankSum& job, CudaQueue& queue);

// kernels/selection.cu
void select_largest(const SelectPlan& plan, const Selection& to, CudaQueue& queue);
void count_reaching(const SelectPlan& plan, std::int64_t pieces, std::int64_t* counts, CudaQueue& queue);
void select_reaching(const SelectPlan& plan, const Selection& to, CudaQueue& queue);

// kernels/sparse.cu
void count_pieces(const SparseList& list, std::int64_t elements, std::int64_t pieces, std::int64_t* counts,
                  CudaQueue& queue);
void take(const Array& data, const SparseList& list, void* values, CudaQueue& queue);
void put(const Array& data, const SparseList& list, bool add, CudaQueue& queue);
void sum_sparse(const SparseSum& job, CudaQueue& queue);

// kernels/low_rank.cu
void reserve_low_rank(const LowRankPlan& plan, CudaQueue& queue);
void project_rows(const LowRankPlan& plan, CudaQueue& queue);
void project_columns(const LowRankPlan& plan, CudaQueue& queue);
void orthonormalize(const LowRankPlan& plan, CudaQueue& queue);
void keep_factors(const LowRankPlan& plan, CudaQueue& queue);
void expand(const LowRankPlan& plan, double factor, CudaQueue& queue);

}  // namespace gradstep::cuda
