// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// SINGA's sparsification: u = gradient + residual, the large elements of u travel, the others are the next residual. u
// is written beside the old residual, so a failed window is undone by forgetting u, and a successful one is kept by
// exchanging the two buffers.
//
// Two ways lead to the same bits. Gathered: every rank gets all selections and sums them in the order of ranks. Split:
// the ranks own shares of the indices, sum what was selected there, and give the sums to all; where ranks select the
// same elements that is less to send. Messages are a list of indices and a list of values, each aligned to 8 bytes.
#include "reduce/sparse.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <limits>

#include "core/error.h"

namespace gradstep {

namespace {

constexpr std::int64_t aligned(std::int64_t bytes) { return (bytes + 7) / 8 * 8; }

std::int64_t total_of(std::span<const std::int64_t> numbers) {
  std::int64_t total = 0;
  for (const std::int64_t number : numbers) total += number;
  return total;
}

/// What is too large fails before its memory is asked for.
BucketPlan of_checked_size(BucketPlan plan) {
  if (plan.elements > kMostSparseElements) {
    fail(GRADSTEP_ERR_UNSUPPORTED,
         "a bucket has {} elements; sparse modes take buckets and parameters of up to 2^31 - 1", plan.elements);
  }
  return plan;
}

}  // namespace

std::int64_t selected_count(double sparsity, std::int64_t n) {
  return std::min(n, static_cast<std::int64_t>(std::ceil(sparsity * static_cast<double>(n))));
}

SparseExchange::SparseExchange(ExchangeResources& resources, const BucketPlan& plan,
                               const gradstep_reducer_options& checked, std::span<const std::int64_t> sizes)
    : BucketExchange(resources, of_checked_size(plan), checked, /*zeroed=*/true),
      sizes_(sizes.begin(), sizes.end()),
      packed_(allocate(false)) {
  if (options().residual != 0) residual_ = allocate(/*zeroed=*/true);
  work_.append(plan_.elements);
  if (has_momentum()) {
    velocity_ = allocate(/*zeroed=*/true);
    new_velocity_ = allocate(/*zeroed=*/false);
  }
  if (is_ef21()) {
    total_ = allocate(/*zeroed=*/true);
    estimated_ = allocate(/*zeroed=*/true);
  }
}

double SparseExchange::carried_factor() const {
  if (has_momentum()) return options().momentum_correction;
  return is_ef21() ? -1 : 1;
}

double SparseExchange::sparsity_now() const {
  const std::int64_t window = resources_.windows;
  if (window >= options().warmup_steps) return options().sparsity;
  const double part = static_cast<double>(window + 1) / static_cast<double>(options().warmup_steps + 1);
  return std::pow(options().sparsity, part);
}

void SparseExchange::exchange(double divisor, const Deadline& deadline, gradstep_bucket_statistics& stats) {
  const auto start = std::chrono::steady_clock::now();
  if (has_momentum()) {
    const CombineItem accumulated{array(packed_), array(residual_), array(new_velocity_)};
    backend().combine({&work_, {&accumulated, 1}, {}}, queue());
  }
  select(stats);
  const auto nans = static_cast<std::int64_t>(selected_nans().size());
  stats.select_nanoseconds +=
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() - start).count();
  pieces_ = splits() ? world_size() : 1;
  agree(nans, deadline);
  compose();
  if (has_momentum()) backend().put(array(new_velocity_), selected_, nullptr, /*add=*/false, queue());
  set_has_sent();
  const double sum_divisor = is_ef21() ? 1 : divisor;
  if (pieces_ > 1) {
    split(sum_divisor, deadline);
    stats.algorithm = GRADSTEP_EXCHANGE_SPARSE_SPLIT;
  } else {
    gather(sum_divisor, deadline);
    stats.algorithm = GRADSTEP_EXCHANGE_SPARSE_GATHER;
  }
  if (is_ef21()) {
    const CombineItem estimated{array(estimated_), array(total_), sum()};
    backend().combine({&work_, {&estimated, 1}, {}}, queue());
    const CopyItem divided{array(estimated_), array(estimated_)};
    if (divisor != 1) backend().copy({&work_, {&divided, 1}, {}}, 1, divisor, queue());
  }
  last_selected_ = 0;
  for (std::size_t r = 0; r < world_size(); ++r) {
    for (std::size_t q = 0; q < pieces_; ++q) last_selected_ += count_of(r, q);
  }
  stats.selected += static_cast<std::int64_t>(selected_.size());
}

void SparseExchange::select(gradstep_bucket_statistics& stats) {
  const bool by_count = options().mode == GRADSTEP_REDUCER_SPARSE_TOPK;
  const double sparsity = sparsity_now();
  for (;;) {
    selected_.clear();
    SelectJob job;
    job.by_count = by_count;
    job.threshold = sparsity;
    job.data = array(packed_);
    const auto select_part = [&](std::int64_t begin, std::int64_t size) {
      job.first = static_cast<std::int32_t>(begin);
      job.data.data = packed_.as<std::byte>() + begin * size_of(plan_.dtype);
      job.data.size = size;
      job.count = selected_count(sparsity, size);
      backend().select(job, selected_, queue());
    };
    if (options().selection == GRADSTEP_SELECTION_BUCKET) {
      select_part(0, plan_.elements);
    } else {
      std::int64_t begin = 0;
      for (const std::int64_t size : sizes_) {
        select_part(begin, size);
        begin += size;
      }
    }
    if (options().nan_policy != GRADSTEP_NAN_ZERO) return;
    const std::vector<std::int32_t> nans = selected_nans();
    if (nans.empty()) return;
    backend().put(array(packed_), nans, nullptr, /*add=*/false, queue());
    if (has_momentum()) backend().put(array(new_velocity_), nans, nullptr, /*add=*/false, queue());
    stats.nonfinite += static_cast<std::int64_t>(nans.size());
  }
}

/// Every NaN is among what is selected, unless there are more of them than that.
std::vector<std::int32_t> SparseExchange::selected_nans() {
  std::byte* values = resources_.outgoing.reserve(static_cast<std::int64_t>(selected_.size()) * size_of(plan_.dtype));
  backend().take(array(packed_), selected_, values, /*clear=*/false, queue());
  std::vector<std::int32_t> nans;
  const auto look = [&](const auto* numbers) {
    for (std::size_t j = 0; j < selected_.size(); ++j) {
      if (std::isnan(numbers[j])) nans.push_back(selected_[j]);
    }
  };
  if (plan_.dtype == DType::f64) {
    look(reinterpret_cast<const double*>(values));
  } else {
    look(reinterpret_cast<const float*>(values));
  }
  return nans;
}

// With T selected by P ranks together and U different indices among them, a rank sends T (P - 1) / P entries when they
// are gathered, and (T / P + U) (P - 1) / P when they are split. U and T of the last window are known to all ranks.
// Two more rounds must be worth it.
bool SparseExchange::splits() const {
  if (world_size() == 1 || !comm().can_exchange()) return false;
  if (options().sparse_exchange != GRADSTEP_SPARSE_EXCHANGE_AUTO) {
    return options().sparse_exchange == GRADSTEP_SPARSE_EXCHANGE_SPLIT;
  }
  const auto ranks = static_cast<std::int64_t>(world_size());
  const std::int64_t saved = last_selected_ - last_selected_ / ranks - static_cast<std::int64_t>(touched_.size());
  return saved * (ranks - 1) / ranks * (4 + size_of(plan_.dtype)) > kGatherBytes;
}

std::int64_t SparseExchange::piece_begin(std::size_t q) const {
  return plan_.elements * static_cast<std::int64_t>(q) / static_cast<std::int64_t>(pieces_);
}

/// headers_ = what every rank is about to send. Throws NUMERIC on all ranks if one has NaNs that it must not send.
void SparseExchange::agree(std::int64_t nans, const Deadline& deadline) {
  std::vector<std::int64_t> own = {options().nan_policy == GRADSTEP_NAN_ERROR ? nans : 0};
  auto begin = selected_.begin();
  for (std::size_t q = 0; q < pieces_; ++q) {
    const auto end = std::lower_bound(begin, selected_.end(), piece_begin(q + 1));
    own.push_back(end - begin);
    begin = end;
  }
  headers_.resize(own.size() * world_size());
  comm().all_gather(own.data(), headers_.data(), static_cast<std::int64_t>(own.size() * sizeof(std::int64_t)),
                    deadline);
  for (std::size_t r = 0; r < world_size(); ++r) {
    const std::int64_t found = headers_[r * own.size()];
    if (found != 0) {
      fail(GRADSTEP_ERR_NUMERIC, "gradient + residual of rank {} has {} elements that are NaN (nan_policy is error)", r,
           found);
    }
  }
}

std::int64_t SparseExchange::message_bytes(std::int64_t count) const {
  return aligned(count * 4) + aligned(count * size_of(plan_.dtype));
}

SparseList SparseExchange::read_message(const std::byte* message, std::int64_t count) const {
  return {reinterpret_cast<const std::int32_t*>(message), message + aligned(count * 4), count};
}

void SparseExchange::write_message(const Array& data, std::span<const std::int32_t> indices, bool clear,
                                   std::byte* message) {
  const auto count = static_cast<std::int64_t>(indices.size());
  std::memset(message, 0, static_cast<std::size_t>(message_bytes(count)));
  if (!indices.empty()) std::memcpy(message, indices.data(), indices.size_bytes());
  backend().take(data, indices, message + aligned(count * 4), clear, queue());
}

/// message_ = one message for each piece; bytes_ = how long every rank's are together.
void SparseExchange::compose() {
  bytes_.assign(world_size(), 0);
  for (std::size_t r = 0; r < world_size(); ++r) {
    for (std::size_t q = 0; q < pieces_; ++q) bytes_[r] += message_bytes(count_of(r, q));
  }
  message_ = resources_.outgoing.reserve(bytes_[rank()]);
  std::byte* message = message_;
  std::span<const std::int32_t> rest = selected_;
  for (std::size_t q = 0; q < pieces_; ++q) {
    const auto count = static_cast<std::size_t>(count_of(rank(), q));
    write_message(array(packed_), rest.first(count), /*clear=*/options().residual != 0 && !is_ef21(), message);
    message += message_bytes(static_cast<std::int64_t>(count));
    rest = rest.subspan(count);
  }
}

void SparseExchange::clear_sum() {
  backend().put(sum(), touched_, nullptr, /*add=*/false, queue());
  touched_.clear();
}

void SparseExchange::gather(double divisor, const Deadline& deadline) {
  const std::byte* received = message_;
  if (world_size() > 1) {
    std::byte* all = resources_.incoming.reserve(total_of(bytes_));
    comm().all_gather_v(message_, all, bytes_, deadline);
    received = all;
  }
  std::vector<SparseList> lists;
  for (std::size_t r = 0; r < world_size(); ++r) {
    lists.push_back(read_message(received, count_of(r, 0)));
    received += bytes_[r];
  }
  clear_sum();
  backend().sum_sparse({sum(), lists, 0, plan_.elements, divisor}, touched_, queue());
}

void SparseExchange::split(double divisor, const Deadline& deadline) {
  std::int64_t incoming_bytes = 0;
  for (std::size_t r = 0; r < world_size(); ++r) incoming_bytes += message_bytes(count_of(r, rank()));
  std::byte* received = resources_.incoming.reserve(incoming_bytes);
  std::vector<Communicator::Outgoing> outgoing;
  std::vector<Communicator::Incoming> incoming;
  std::vector<SparseList> lists;
  std::byte* message = message_;
  for (std::size_t q = 0; q < world_size(); ++q) {
    outgoing.push_back({message, message_bytes(count_of(rank(), q))});
    message += outgoing.back().bytes;
    incoming.push_back({received, message_bytes(count_of(q, rank()))});
    received += incoming.back().bytes;
    lists.push_back(read_message(static_cast<const std::byte*>(incoming.back().data), count_of(q, rank())));
  }
  std::memcpy(incoming[rank()].data, outgoing[rank()].data, static_cast<std::size_t>(outgoing[rank()].bytes));
  comm().exchange(outgoing, incoming, deadline);

  clear_sum();
  std::vector<std::int32_t> own;
  backend().sum_sparse({sum(), lists, piece_begin(rank()), piece_begin(rank() + 1), divisor}, own, queue());
  touched_ = own;  // should the rest fail, the next window knows what to clear

  const auto own_count = static_cast<std::int64_t>(own.size());
  std::vector<std::int64_t> counts(world_size());
  comm().all_gather(&own_count, counts.data(), sizeof own_count, deadline);
  for (std::size_t r = 0; r < world_size(); ++r) bytes_[r] = message_bytes(counts[r]);
  std::byte* sums = resources_.outgoing.reserve(bytes_[rank()]);
  write_message(sum(), own, /*clear=*/false, sums);
  std::byte* all = resources_.incoming.reserve(total_of(bytes_));
  comm().all_gather_v(sums, all, bytes_, deadline);
  touched_.clear();
  for (std::size_t r = 0; r < world_size(); ++r) {
    const SparseList list = read_message(all, counts[r]);
    const std::span indices(list.indices, static_cast<std::size_t>(list.count));
    backend().put(sum(), indices, list.values, /*add=*/false, queue());
    touched_.insert(touched_.end(), indices.begin(), indices.end());
    all += bytes_[r];
  }
}

/// EF21's estimate grows by what was sent.
void SparseExchange::grow_estimate() {
  std::byte* values = resources_.outgoing.reserve(static_cast<std::int64_t>(selected_.size()) * size_of(plan_.dtype));
  backend().take(array(packed_), selected_, values, /*clear=*/false, queue());
  backend().put(array(residual_), selected_, values, /*add=*/true, queue());
}

void SparseExchange::commit() {
  if (is_ef21()) {
    grow_estimate();
    // And the sum of all estimates by what all have sent.
    std::byte* values = resources_.outgoing.reserve(static_cast<std::int64_t>(touched_.size()) * size_of(plan_.dtype));
    backend().take(sum(), touched_, values, /*clear=*/false, queue());
    backend().put(array(total_), touched_, values, /*add=*/true, queue());
    return;
  }
  if (residual_.data() != nullptr) std::swap(packed_, residual_);
  if (has_momentum()) std::swap(velocity_, new_velocity_);
}

std::vector<KeptTensor> SparseExchange::kept() {
  std::vector<KeptTensor> list;
  std::int64_t begin = 0;
  for (std::size_t i = 0; i < sizes_.size(); ++i) {
    const auto part = [&](const Buffer& buffer) {
      Array array = this->array(buffer);
      array.data = buffer.as<std::byte>() + begin * size_of(plan_.dtype);
      array.size = sizes_[i];
      return array;
    };
    if (is_ef21()) {
      list.push_back({i, "estimate", part(residual_)});
      list.push_back({i, "total_estimate", part(total_), {}, /*replicated=*/true});
    } else if (options().residual != 0) {
      list.push_back({i, "residual", part(residual_)});
    }
    if (has_momentum()) list.push_back({i, "velocity", part(velocity_)});
    begin += sizes_[i];
  }
  return list;
}

// What was sent is out of packed_ and new_velocity_ by then. EF21's sum of estimates comes with rejoin().
void SparseExchange::finish(const BucketExchange& failed) {
  const auto* other = dynamic_cast<const SparseExchange*>(&failed);
  if (other == nullptr) return;
  const auto copy = [this](const Buffer& to, const Buffer& from) { queue().copy(to.data(), from.data(), to.bytes()); };
  if (is_ef21()) {
    copy(packed_, other->packed_);
    selected_ = other->selected_;
    grow_estimate();
    return;
  }
  copy(residual_, other->packed_);
  copy(velocity_, other->new_velocity_);
}

// The estimate of a rank that is gone must not stay in the sum of all.
void SparseExchange::rejoin(std::int32_t /*root*/, const Deadline& deadline) {
  if (!is_ef21()) return;
  const CopyItem own{array(total_), array(residual_)};
  backend().copy({&work_, {&own, 1}, {}}, 1, 1, queue());
  data().all_reduce(array(total_), GRADSTEP_REDUCE_SUM, 1, deadline);
}

}  // namespace gradstep
