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

/// What splitting must save to be worth two more rounds.
constexpr std::int64_t kRoundBytes = 64 * 1024;

constexpr std::int64_t aligned(std::int64_t bytes) { return (bytes + 7) / 8 * 8; }

std::int64_t sum(std::span<const std::int64_t> numbers) {
  std::int64_t total = 0;
  for (const std::int64_t number : numbers) total += number;
  return total;
}

}  // namespace

std::int64_t selected_count(double sparsity, std::int64_t n) {
  return std::min(n, static_cast<std::int64_t>(std::ceil(sparsity * static_cast<double>(n))));
}

SparseExchange::SparseExchange(ExchangeResources& resources, const BucketPlan& plan,
                               std::span<const std::int64_t> sizes)
    : BucketExchange(resources, plan, /*zeroed=*/true), sizes_(sizes.begin(), sizes.end()), packed_(allocate(false)) {
  if (plan.elements > std::numeric_limits<std::int32_t>::max()) {
    fail(GRADSTEP_ERR_UNSUPPORTED,
         "a bucket has {} elements; sparse modes take buckets and parameters of up to 2^31 - 1", plan.elements);
  }
  if (options().residual != 0) residual_ = allocate(/*zeroed=*/true);
}

void SparseExchange::exchange(double divisor, const Deadline& deadline, gradstep_bucket_statistics& stats) {
  const auto start = std::chrono::steady_clock::now();
  select(stats);
  const auto nans = static_cast<std::int64_t>(selected_nans().size());
  stats.select_nanoseconds +=
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() - start).count();
  pieces_ = splits() ? world_size() : 1;
  agree(nans, deadline);
  compose();
  if (pieces_ > 1) {
    split(divisor, deadline);
    stats.algorithm = GRADSTEP_EXCHANGE_SPARSE_SPLIT;
  } else {
    gather(divisor, deadline);
    stats.algorithm = GRADSTEP_EXCHANGE_SPARSE_GATHER;
  }
  last_selected_ = 0;
  for (std::size_t r = 0; r < world_size(); ++r) {
    for (std::size_t q = 0; q < pieces_; ++q) last_selected_ += count_of(r, q);
  }
  stats.selected += static_cast<std::int64_t>(selected_.size());
}

void SparseExchange::select(gradstep_bucket_statistics& stats) {
  const bool by_count = options().mode == GRADSTEP_REDUCER_SPARSE_TOPK;
  for (;;) {
    selected_.clear();
    SelectJob job;
    job.by_count = by_count;
    job.threshold = options().sparsity;
    job.data = array(packed_);
    const auto select_part = [&](std::int64_t begin, std::int64_t size) {
      job.first = static_cast<std::int32_t>(begin);
      job.data.data = packed_.as<std::byte>() + begin * size_of(plan_.dtype);
      job.data.size = size;
      job.count = selected_count(options().sparsity, size);
      backend().select(job, selected_);
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
    backend().put(array(packed_), nans, nullptr);
    stats.nonfinite += static_cast<std::int64_t>(nans.size());
  }
}

/// Every NaN is among what is selected, unless there are more of them than that.
std::vector<std::int32_t> SparseExchange::selected_nans() const {
  std::vector<std::int32_t> nans;
  const auto look = [&](const auto* numbers) {
    for (const std::int32_t i : selected_) {
      if (std::isnan(numbers[i])) nans.push_back(i);
    }
  };
  if (plan_.dtype == DType::f64) {
    look(packed_.as<double>());
  } else {
    look(packed_.as<float>());
  }
  return nans;
}

// With T selected by P ranks together and U different indices among them, a rank sends T (P - 1) / P entries when they
// are gathered, and (T / P + U) (P - 1) / P when they are split. U and T of the last window are known to all ranks.
bool SparseExchange::splits() const {
  if (world_size() == 1 || !comm().can_exchange()) return false;
  if (options().sparse_exchange != GRADSTEP_SPARSE_EXCHANGE_AUTO) {
    return options().sparse_exchange == GRADSTEP_SPARSE_EXCHANGE_SPLIT;
  }
  const auto ranks = static_cast<std::int64_t>(world_size());
  const std::int64_t saved = last_selected_ - last_selected_ / ranks - static_cast<std::int64_t>(touched_.size());
  return saved * (ranks - 1) / ranks * (4 + size_of(plan_.dtype)) > kRoundBytes;
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
  std::memcpy(message, indices.data(), indices.size_bytes());
  backend().take(data, indices, message + aligned(count * 4), clear);
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
    write_message(array(packed_), rest.first(count), /*clear=*/options().residual != 0, message);
    message += message_bytes(static_cast<std::int64_t>(count));
    rest = rest.subspan(count);
  }
}

void SparseExchange::clear_result() {
  backend().put(result(), touched_, nullptr);
  touched_.clear();
}

void SparseExchange::gather(double divisor, const Deadline& deadline) {
  const std::byte* received = message_;
  if (world_size() > 1) {
    std::byte* all = resources_.incoming.reserve(sum(bytes_));
    comm().all_gather_v(message_, all, bytes_, deadline);
    received = all;
  }
  std::vector<SparseList> lists;
  for (std::size_t r = 0; r < world_size(); ++r) {
    lists.push_back(read_message(received, count_of(r, 0)));
    received += bytes_[r];
  }
  clear_result();
  backend().sum_sparse({result(), lists, 0, plan_.elements, divisor}, touched_);
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

  clear_result();
  std::vector<std::int32_t> own;
  backend().sum_sparse({result(), lists, piece_begin(rank()), piece_begin(rank() + 1), divisor}, own);
  touched_ = own;  // should the rest fail, the next window knows what to clear

  const auto own_count = static_cast<std::int64_t>(own.size());
  std::vector<std::int64_t> counts(world_size());
  comm().all_gather(&own_count, counts.data(), sizeof own_count, deadline);
  for (std::size_t r = 0; r < world_size(); ++r) bytes_[r] = message_bytes(counts[r]);
  std::byte* sums = resources_.outgoing.reserve(bytes_[rank()]);
  write_message(result(), own, /*clear=*/false, sums);
  std::byte* all = resources_.incoming.reserve(sum(bytes_));
  comm().all_gather_v(sums, all, bytes_, deadline);
  touched_.clear();
  for (std::size_t r = 0; r < world_size(); ++r) {
    const SparseList list = read_message(all, counts[r]);
    const std::span indices(list.indices, static_cast<std::size_t>(list.count));
    backend().put(result(), indices, list.values);
    touched_.insert(touched_.end(), indices.begin(), indices.end());
    all += bytes_[r];
  }
}

void SparseExchange::commit() {
  if (residual_.data() != nullptr) std::swap(packed_, residual_);
}

std::vector<KeptArray> SparseExchange::kept() {
  if (options().residual == 0) return {};
  return {{"residual", array(residual_)}};
}

}  // namespace gradstep
