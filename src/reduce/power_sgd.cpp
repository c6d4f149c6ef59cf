// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// One round of power iteration per window (Vogels, Karimireddy, Jaggi 2019, algorithm 2): P = M Q is summed over the
// ranks and orthonormalised, Q = M^T P is averaged, and P Q^T stands for the average of M. The span of P does not
// depend on how it is scaled, so it is divided with what travels densely in the same all-reduce.
#include "reduce/power_sgd.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/random.h"

namespace gradstep {

namespace {

constexpr double kLargeFactor = 0x1p40;

}  // namespace

PowerSgdExchange::PowerSgdExchange(ExchangeResources& resources, const BucketPlan& plan,
                                   const gradstep_reducer_options& checked,
                                   std::span<const std::vector<std::int64_t>> shapes,
                                   std::span<const std::int64_t> sizes)
    : ExchangeByRounds(resources, plan, checked),
      feedback_(resources.site, plan.dtype, sizes, "residual", /*keeps=*/true) {
  std::int64_t begin = 0;
  for (const std::vector<std::int64_t>& shape : shapes) {
    Matrix matrix;
    matrix.begin = begin;
    matrix.rows = shape.empty() ? 1 : shape[0];
    matrix.cols = 1;
    for (std::size_t d = 1; d < shape.size(); ++d) matrix.cols *= shape[d];
    matrix.p_begin = p_size_;
    matrix.q_begin = q_size_;
    const std::int64_t rank = std::min<std::int64_t>({options().rank, matrix.rows, matrix.cols});
    if ((matrix.rows + matrix.cols) * rank < matrix.size()) {
      matrix.rank = rank;
      p_size_ += rank * matrix.rows;
      q_size_ += rank * matrix.cols;
    } else {
      p_size_ += matrix.size();
    }
    begin += matrix.size();
    matrices_.push_back(matrix);
  }
  const auto bytes = [&](std::int64_t elements) { return static_cast<std::size_t>(elements * size_of(plan_.dtype)); };
  p_ = resources_.site.allocate(bytes(p_size_), /*zeroed=*/false);
  q_ = resources_.site.allocate(bytes(q_size_), /*zeroed=*/false);
  next_q_ = resources_.site.allocate(bytes(q_size_), /*zeroed=*/false);
  norms_ = resources_.site.allocate(sizeof(Norms), /*zeroed=*/true);
  p_work_.append(p_size_);
  q_work_.append(q_size_);
  p_norm_.work = &p_work_;
  q_norm_.work = &q_work_;
  for (const Matrix& matrix : matrices_) fill(matrix);
  plan_dense(packed_work_, packed());
  plan_dense(kept_work_, feedback_.kept());
}

/// Any start will do that no gradient is orthogonal to. It is the same on all ranks and in every bucket.
void PowerSgdExchange::fill(const Matrix& matrix) {
  const std::int64_t count = matrix.rank * matrix.cols;
  const auto upload = [&]<class T>(std::vector<T> numbers) {
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      numbers[i] = static_cast<T>(kernels::signed_unit(kernels::mix64(i + 1)));
    }
    queue().upload(part(q_.data(), matrix.q_begin, 0).data, numbers.data(), numbers.size() * sizeof(T));
  };
  if (plan_.dtype == DType::f64) return upload(std::vector<double>(static_cast<std::size_t>(count)));
  upload(std::vector<float>(static_cast<std::size_t>(count)));
}

Array PowerSgdExchange::part(void* memory, std::int64_t begin, std::int64_t size) const {
  return compact_array(static_cast<std::byte*>(memory) + begin * size_of(plan_.dtype), size, plan_.dtype);
}

const LowRankPlan& PowerSgdExchange::low_rank(Work& work, const Array& memory) {
  work.matrices.clear();
  for (const Matrix& matrix : matrices_) {
    if (matrix.rank == 0) continue;
    work.matrices.push_back({part(memory.data, matrix.begin, matrix.size()), matrix.rows, matrix.cols, matrix.rank,
                             part(p_.data(), matrix.p_begin, 0).data, part(next_q_.data(), matrix.q_begin, 0).data,
                             seen(matrix).data, part(q_.data(), matrix.q_begin, 0).data});
  }
  work.low_rank.matrices = work.matrices;
  return work.low_rank;
}

/// The matrix's part of result().
Array PowerSgdExchange::seen(const Matrix& matrix) const { return part(result().data, matrix.begin, matrix.size()); }

void PowerSgdExchange::plan_dense(Work& work, const Array& memory) {
  for (const Matrix& matrix : matrices_) {
    if (matrix.rank > 0) continue;
    const Array wire = part(p_.data(), matrix.p_begin, matrix.size());
    const Array own = part(memory.data, matrix.begin, matrix.size());
    work.out.add({wire, own}, own.size);
    work.back.add({seen(matrix), wire}, own.size);
    work.back.add({own, compact_array(nullptr, own.size, own.dtype)}, own.size);
  }
}

// In an engine's order the bits of a sum may depend on what is summed beside it.
std::int64_t PowerSgdExchange::round_bytes() const {
  if (comm().reduction_order() == GRADSTEP_REDUCTION_ENGINE) return 0;
  return std::max(p_size_, q_size_) * size_of(plan_.dtype);
}

std::optional<Round> PowerSgdExchange::start(double divisor, gradstep_bucket_statistics& stats) {
  stats.algorithm = GRADSTEP_EXCHANGE_FACTORS;
  divisor_ = divisor;
  has_columns_ = has_expanded_ = false;
  backend().copy(packed_work_.out.plan(), 1, 1, queue());
  queue().copy(next_q_.data(), q_.data(), q_.bytes());
  backend().project_rows(low_rank(packed_work_, packed()), queue());
  if (q_size_ == 0) set_has_sent();
  return mean_of(p_, p_size_);
}

std::optional<Round> PowerSgdExchange::proceed(const Received& /*received*/, gradstep_bucket_statistics& /*stats*/) {
  if (!has_columns_) {
    has_columns_ = true;
    backend().orthonormalize(packed_work_.low_rank, queue());
    backend().project_columns(packed_work_.low_rank, queue());
    set_has_sent();
    if (q_size_ > 0) return mean_of(next_q_, q_size_);
  }
  finish_exchange();
  return {};
}

std::optional<Round> PowerSgdExchange::mean_of(Buffer& factors, std::int64_t size) const {
  const auto ranks = static_cast<double>(world_size());
  return Round{Call::all_reduce(part(factors.data(), 0, size), GRADSTEP_REDUCE_SUM, ranks)};
}

void PowerSgdExchange::finish_exchange() {
  const auto ranks = static_cast<double>(world_size());
  // What came back are means; a sum is so many times that.
  factor_ = divisor_ == ranks ? 1 : ranks / divisor_;
  backend().copy(packed_work_.back.plan(), factor_, 1, queue());
  backend().expand(packed_work_.low_rank, factor_, queue());  // what the factors leave out stays in packed()
  has_expanded_ = true;
  const Array p = part(p_.data(), 0, p_size_);
  const Array q = part(next_q_.data(), 0, q_size_);
  p_norm_.arrays = {{&p, 1}, /*version=*/0};
  q_norm_.arrays = {{&q, 1}, /*version=*/0};
  backend().measure(p_norm_, &norms_.as<Norms>()->p, queue());
  backend().measure(q_norm_, &norms_.as<Norms>()->q, queue());
}

// Rows of P, which is orthonormal, are no longer than 1, but for roundings. An element that is not finite makes NaNs of
// Q.
double PowerSgdExchange::largest() {
  seen_norms_ = read(queue(), norms_.as<Norms>());
  return 2 * factor_ * (seen_norms_.p + seen_norms_.q);
}

// Where gradients of ranks nearly cancel, a finite mean leaves what is infinite on one of them, or would be in later
// sums.
void PowerSgdExchange::limit_kept() { backend().clamp(packed(), safe_bound(plan_.dtype), resources_.site.queue()); }

// From a factor that is zero, as all are of a gradient that is, none but zero would come in the next window.
void PowerSgdExchange::commit() {
  if (q_size_ > 0) backend().keep_factors(low_rank(packed_work_, packed()), queue());
  if (seen_norms_.q > kLargeFactor) {
    // Only its directions count: the next window's P must not become infinite of it. A power of two changes no bit.
    const Array q = part(next_q_.data(), 0, q_size_);
    const CopyItem itself{q, q};
    const double scale = std::max(std::ldexp(1.0, -std::ilogb(seen_norms_.q)), 0x1p-126);
    backend().copy({&q_work_, {&itself, 1}, {}}, scale, 1, queue());
  }
  feedback_.commit();
  std::swap(packed_work_, kept_work_);
  std::swap(q_, next_q_);
}

std::vector<KeptTensor> PowerSgdExchange::kept() {
  std::vector<KeptTensor> list;
  feedback_.list(list);
  for (std::size_t i = 0; i < matrices_.size(); ++i) {
    const Matrix& matrix = matrices_[i];
    if (matrix.rank > 0) {
      const Array factors = part(q_.data(), matrix.q_begin, matrix.rank * matrix.cols);
      list.push_back({i, "factor", factors, {matrix.rank, matrix.cols}, /*replicated=*/true, /*is_scaled=*/false});
    }
  }
  return list;
}

// P is orthonormal by then, and M is whole unless Q came as well.
void PowerSgdExchange::finish(const BucketExchange& failed) {
  const auto* other = dynamic_cast<const PowerSgdExchange*>(&failed);
  if (other == nullptr) return;
  feedback_.finish(other->feedback_, queue());
  queue().copy(p_.data(), other->p_.data(), p_.bytes());
  if (!other->has_expanded_) backend().copy(kept_work_.back.plan(), 1, 1, queue());
  lacks_factor_ = !other->has_expanded_ && q_size_ > 0;
}

void PowerSgdExchange::rejoin(std::int32_t root, const Deadline& deadline) {
  data().broadcast(q_.data(), q_size_ * size_of(plan_.dtype), root, deadline);
  if (!lacks_factor_) return;
  queue().copy(next_q_.data(), q_.data(), q_.bytes());
  backend().expand(low_rank(kept_work_, carried()), 1, queue());
  lacks_factor_ = false;
}

}  // namespace gradstep
