// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "backend.h"

#include <cstdint>
#include <map>
#include <mutex>
#include <utility>

#include "operations.h"
#include "preconditioning/preconditioning.h"
#include "programs/programs.h"
#include "runtime/device.h"
#include "runtime/memory.h"
#include "runtime/queue.h"

namespace gradstep::cuda {

namespace {

CudaQueue& own(Queue& queue) { return static_cast<CudaQueue&>(queue); }

// cudaStreamLegacy and cudaStreamPerThread.
constexpr std::uintptr_t kLegacy = 1;
constexpr std::uintptr_t kPerThread = 2;

/// The legacy default stream has two names. That of each thread is one name for many, which no handle can keep apart.
cudaStream_t stream_of(void* handle) {
  const auto number = reinterpret_cast<std::uintptr_t>(handle);
  if (number == kPerThread) {
    fail_argument("stream: is cudaStreamPerThread, another one on each thread; expected one that was created, or NULL");
  }
  return number == kLegacy ? nullptr : static_cast<cudaStream_t>(handle);
}

class CudaBackend final : public Backend {
 public:
  CudaBackend(const std::shared_ptr<Allocator>& allocator, int device)
      : device_(device), memory_(std::make_shared<DeviceMemory>(allocator, device)) {}

  const char* name() const override { return "cuda"; }
  const char* instruction_set() const override { return "cuda"; }
  const std::shared_ptr<Memory>& memory() const override { return memory_; }

  Queue& queue(void* stream) override {
    cudaStream_t of_host = stream_of(stream);
    const std::lock_guard lock(mutex_);
    std::unique_ptr<CudaQueue>& queue = queues_[of_host];
    if (queue == nullptr) queue = std::make_unique<CudaQueue>(device_, of_host, memory_);
    return *queue;
  }

  void accumulate(const AccumulateJob& job, Queue& queue) override { cuda::accumulate(job, own(queue)); }
  void add_rows(const RowsJob& job, Queue& queue) override { cuda::add_rows(job, own(queue)); }

  void begin_step(const StepPlan& plan, const kernels::StepRequest& request, const double* values,
                  kernels::StepScalars* scalars, Queue& queue) override {
    cuda::begin_step(plan, request, values, scalars, own(queue));
  }
  void prepare_program(const rules::text::Code& program, DType arithmetic, bool is_plain) override {
    const bool is_double = arithmetic == DType::f64;
    compiled_program(program, is_double, is_plain ? ProgramKernel::plain : ProgramKernel::staged, device_);
    if (program.sum_count > 0) compiled_program(program, is_double, ProgramKernel::measure, device_);
  }
  void shape_gradients(const UnitPlan& plan, const kernels::StepScalars* scalars, Queue& queue) override {
    cuda::shape_gradients(plan, scalars, own(queue));
  }
  void measure_sums(const SumsPlan& plan, const kernels::StepScalars* scalars, rules::Sums* partials,
                    Queue& queue) override {
    cuda::measure_sums(plan, scalars, partials, own(queue));
  }
  void settle(const SumsPlan& plan, const kernels::StepScalars* scalars, Queue& queue) override {
    cuda::settle(plan, scalars, own(queue));
  }
  void update(const UpdatePlan& plan, kernels::StepScalars* scalars, Queue& queue) override {
    cuda::update(plan, scalars, own(queue));
  }
  void count_staying(const FinishPlan& plan, const kernels::StepScalars* scalars, double* partials,
                     Queue& queue) override {
    cuda::count_staying(plan, scalars, partials, own(queue));
  }
  void reserve_orthogonal(const OrthogonalPlan& plan, Queue& queue) override {
    cuda::reserve_orthogonal(plan, own(queue));
  }
  void orthogonalize(const OrthogonalPlan& plan, const kernels::StepScalars* scalars, Queue& queue) override {
    cuda::orthogonalize(plan, scalars, own(queue));
  }
  void reserve_factored(const FactoredPlan& plan, Queue& queue) override { cuda::reserve_factored(plan, own(queue)); }
  void factorize(const FactoredPlan& plan, const kernels::StepScalars* scalars, Queue& queue) override {
    cuda::factorize(plan, scalars, own(queue));
  }
  void take_gradients(const ProjectionPlan& plan, const kernels::StepScalars* scalars, Queue& queue) override {
    cuda::take_gradients(plan, scalars, own(queue));
  }
  void fill_bases(const ProjectionPlan& plan, Queue& queue) override { cuda::fill_bases(plan, own(queue)); }
  void project(const ProjectionPlan& plan, const kernels::StepScalars* scalars, Queue& queue) override {
    cuda::project(plan, scalars, own(queue));
  }
  void finish(const FinishPlan& plan, const kernels::StepScalars* scalars, Queue& queue) override {
    cuda::finish(plan, scalars, own(queue));
  }
  void average(const AveragePlan& plan, const kernels::StepScalars* scalars, Queue& queue) override {
    cuda::average(plan, scalars, own(queue));
  }
  void close_step(kernels::StepScalars* scalars, Queue& queue) override { cuda::close_step(scalars, own(queue)); }
  void encode(const float* from, const CodedNumbers& to, Queue& queue) override { cuda::encode(from, to, own(queue)); }
  void decode(const CodedNumbers& from, float* to, Queue& queue) override { cuda::decode(from, to, own(queue)); }
  void encode(const float* from, const StoredMatrix& to, Queue& queue) override { cuda::encode(from, to, own(queue)); }
  void decode(const StoredMatrix& from, float* to, Queue& queue) override { cuda::decode(from, to, own(queue)); }
  void write_identity(const StoredMatrix& to, double value, Queue& queue) override {
    cuda::write_identity(to, value, own(queue));
  }

  void square_chunks(const NormPlan& plan, double scale, double* partials, Queue& queue) override {
    cuda::square_chunks(plan, scale, partials, own(queue));
  }
  void fold(const double* partials, std::int64_t count, double* norm, Queue& queue) override {
    cuda::fold(partials, count, norm, own(queue));
  }
  void measure(const NormPlan& plan, double* norm, Queue& queue) override { cuda::measure(plan, norm, own(queue)); }
  void copy(const CopyPlan& plan, double multiplier, double divisor, Queue& queue) override {
    cuda::copy(plan, multiplier, divisor, own(queue));
  }
  void combine(const CombinePlan& plan, Queue& queue) override { cuda::combine(plan, own(queue)); }
  void combine_vectors(const LinearPlan& plan, Queue& queue) override { cuda::combine_vectors(plan, own(queue)); }
  void sum_ranks(const RankSum& job, Queue& queue) override { cuda::sum_ranks(job, own(queue)); }

  void dot_chunks(const CombinePlan& plan, Dots* dots, Queue& queue) override {
    cuda::dot_chunks(plan, dots, own(queue));
  }
  void adasum(const AdasumPlan& plan, Queue& queue) override { cuda::adasum(plan, own(queue)); }
  void clamp(const Array& data, double bound, Queue& queue) override { cuda::clamp(data, bound, own(queue)); }
  void count_nonfinite(const Array& data, std::int64_t* count, Queue& queue) override {
    cuda::count_nonfinite(data, count, own(queue));
  }
  void encode_rest(float* numbers, const CodedNumbers& to, std::int64_t* nonfinite, Queue& queue) override {
    cuda::count_nonfinite(compact_array(numbers, to.count, DType::f32), nonfinite, own(queue));
    cuda::encode_rest(numbers, to, own(queue));
  }
  void add_decoded(const CodedNumbers& from, float* sums, double divisor, Queue& queue) override {
    cuda::add_decoded(from, sums, divisor, own(queue));
  }

  void select_largest(const SelectPlan& plan, const Selection& to, Queue& queue) override {
    cuda::select_largest(plan, to, own(queue));
  }
  void count_reaching(const SelectPlan& plan, std::int64_t pieces, std::int64_t* counts, Queue& queue) override {
    cuda::count_reaching(plan, pieces, counts, own(queue));
  }
  void select_reaching(const SelectPlan& plan, const Selection& to, Queue& queue) override {
    cuda::select_reaching(plan, to, own(queue));
  }
  void count_pieces(const SparseList& list, std::int64_t elements, std::int64_t pieces, std::int64_t* counts,
                    Queue& queue) override {
    cuda::count_pieces(list, elements, pieces, counts, own(queue));
  }
  void take(const Array& data, const SparseList& list, void* values, Queue& queue) override {
    cuda::take(data, list, values, own(queue));
  }
  void put(const Array& data, const SparseList& list, bool add, Queue& queue) override {
    cuda::put(data, list, add, own(queue));
  }
  void sum_sparse(const SparseSum& job, Queue& queue) override { cuda::sum_sparse(job, own(queue)); }

  void reserve_low_rank(const LowRankPlan& plan, Queue& queue) override { cuda::reserve_low_rank(plan, own(queue)); }
  void project_rows(const LowRankPlan& plan, Queue& queue) override { cuda::project_rows(plan, own(queue)); }
  void project_columns(const LowRankPlan& plan, Queue& queue) override { cuda::project_columns(plan, own(queue)); }
  void orthonormalize(const LowRankPlan& plan, Queue& queue) override { cuda::orthonormalize(plan, own(queue)); }
  void keep_factors(const LowRankPlan& plan, Queue& queue) override { cuda::keep_factors(plan, own(queue)); }
  void expand(const LowRankPlan& plan, double factor, Queue& queue) override { cuda::expand(plan, factor, own(queue)); }

  std::unique_ptr<Preconditioning> make_preconditioning(const rules::ShampooForm& /*form*/) override {
    return cuda::make_preconditioning(device_, memory_);
  }

 private:
  int device_;
  std::shared_ptr<Memory> memory_;
  std::map<cudaStream_t, std::unique_ptr<CudaQueue>> queues_;
  std::mutex mutex_;
};

}  // namespace

std::unique_ptr<Backend> make_backend(const std::shared_ptr<Allocator>& allocator, int device) {
  check_device_exists(device);
  return std::make_unique<CudaBackend>(allocator, device);
}

}  // namespace gradstep::cuda
