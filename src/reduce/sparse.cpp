// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// SINGA's sparsification: u = gradient + residual, the large elements of u travel, the others are the next residual. u
// is written beside the old residual, so a failed window is undone by forgetting u, and a successful one is kept by
// exchanging the two buffers.
//
// Two ways lead to the same bits. Gathered: every rank gets all selections and sums them in the order of ranks. Split:
// the ranks own shares of the indices, sum what was selected there, and give the sums to all; where ranks select the
// same elements that is less to send. Messages are a list of indices and a list of values, each aligned to 8 bytes;
// they are written, summed and cleared where the gradients lie. Where how many are selected is fixed, and all
// selections are gathered, nobody asks for an answer: NaNs are told in front of the message. Else the ranks tell each
// other first how long their messages are.
#include "reduce/sparse.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>

#include "core/error.h"

namespace gradstep {

namespace {

constexpr std::int64_t kIndexSize = sizeof(std::int32_t);
constexpr std::int64_t kCountSize = sizeof(std::int64_t);
/// In front of a message of a fixed length: the NaNs in it, and that length.
constexpr std::size_t kHead = 2;
constexpr std::int64_t kHeadSize = kHead * kCountSize;

constexpr std::int64_t aligned(std::int64_t bytes) { return (bytes + 7) / 8 * 8; }

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
      packed_(allocate(false)),
      message_(resources.site.backend().memory()),
      touched_memory_(resources.site.backend().memory()) {
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
  const auto numbers = [&](std::size_t count) {
    return resources.site.allocate(count * sizeof(std::int64_t), /*zeroed=*/true);
  };
  nonfinite_ = numbers(1);
  head_ = numbers(kHead);
  norm_ = resources.site.allocate(sizeof(double), /*zeroed=*/true);
  counts_ = numbers(1 + world_size());
  all_counts_ = numbers((1 + world_size()) * world_size());
}

double SparseExchange::carried_factor() const {
  if (has_momentum()) return options().momentum_correction;
  return is_ef21() ? -1 : 1;
}

double SparseExchange::sparsity_now() const {
  const std::int64_t window = resources_.state.windows;
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
  pieces_ = splits() ? world_size() : 1;
  select();
  if (queue().is_host()) complete(stats);
  stats.select_nanoseconds +=
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() - start).count();
  if (!is_fixed()) agree(deadline);
  if (!by_count()) select_counted();
  leave_rest();
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
  } else if (residual_.data() != nullptr || has_momentum()) {
    measure_lists();
  }
  last_selected_ = 0;
  for (std::size_t r = 0; r < world_size(); ++r) {
    for (std::size_t q = 0; q < pieces_; ++q) last_selected_ += count_of(r, q);
  }
  stats.selected += own_count_;
}

/// What was added up, of all ranks.
void SparseExchange::measure_lists() {
  list_work_.clear();
  list_values_.clear();
  list_values_.reserve(lists_.size());
  for (const SparseList& list : lists_) {
    list_work_.append(list.count);
    list_values_.push_back({const_cast<void*>(list.values), list.count, plan_.dtype, 0, nullptr, nullptr});
  }
  list_norm_.work = &list_work_;
  list_norm_.arrays = {list_values_, /*version=*/0};
  backend().measure(list_norm_, norm_.as<double>(), queue());
}

// What is not finite is selected before anything else, so that it shows here if it is somewhere in a residual. EF21's
// result has all that came before in it.
double SparseExchange::largest() {
  if (is_ef21()) return BucketExchange::largest();
  return static_cast<double>(world_size()) * read(queue(), norm_.as<double>());
}

void SparseExchange::complete(gradstep_bucket_statistics& stats) const {
  stats.nonfinite = read(queue(), nonfinite_.as<std::int64_t>());
}

void SparseExchange::bind_parts() {
  const double sparsity = sparsity_now();
  if (sparsity == bound_sparsity_) return;
  parts_.clear();
  part_counts_ = 0;
  const auto add = [&](std::int64_t size) {
    parts_.push_back({size, selected_count(sparsity, size)});
    part_counts_ += parts_.back().count;
  };
  if (options().selection == GRADSTEP_SELECTION_BUCKET) {
    add(plan_.elements);
  } else {
    for (const std::int64_t size : sizes_) add(size);
  }
  write(queue(), head_.as<std::int64_t>() + 1, part_counts_);
  selection_.data = next_selection_.data = {};
  bound_sparsity_ = sparsity;
}

/// Makes selection_ one of packed_ as it is now.
void SparseExchange::bind_selection() {
  if (by_count()) bind_parts();
  if (selection_.data.data == packed_.data()) return;
  const std::int32_t nan_policy = options().nan_policy;
  selection_.parts = parts_;
  selection_.threshold = options().sparsity;
  selection_.nans.zero = nan_policy == GRADSTEP_NAN_ZERO;
  if (has_momentum()) selection_.nans.also = array(new_velocity_);
  if (nan_policy == GRADSTEP_NAN_ZERO) selection_.nans.found = nonfinite_.as<std::int64_t>();
  if (nan_policy == GRADSTEP_NAN_ERROR) selection_.nans.found = head_.as<std::int64_t>();
  selection_.prepared.forget();
  selection_.data = array(packed_);
}

/// What is sent, or, by a threshold, how much of it there is.
void SparseExchange::select() {
  bind_selection();
  if (options().nan_policy == GRADSTEP_NAN_ERROR) queue().zero(head_.data(), kCountSize);
  std::int64_t* counts = counts_.as<std::int64_t>() + 1;
  const auto pieces = static_cast<std::int64_t>(pieces_);
  if (!by_count()) return backend().count_reaching(selection_, pieces, counts, queue());
  own_count_ = part_counts_;
  own_ = message_.reserve(kHeadSize + message_bytes(own_count_)) + kHeadSize;
  backend().select_largest(selection_, write_message(own_, own_count_), queue());
  if (pieces_ > 1) backend().count_pieces(own_list(), plan_.elements, pieces, counts, queue());
}

void SparseExchange::select_counted() {
  own_count_ = 0;
  for (std::size_t q = 0; q < pieces_; ++q) own_count_ += count_of(rank(), q);
  own_ = message_.reserve(kHeadSize + message_bytes(own_count_)) + kHeadSize;
  backend().select_reaching(selection_, write_message(own_, own_count_), queue());
}

/// Takes what is sent out of what stays.
void SparseExchange::leave_rest() {
  SparseList sent = own_list();
  sent.values = nullptr;
  if (options().residual != 0 && !is_ef21()) backend().put(array(packed_), sent, /*add=*/false, queue());
  if (has_momentum()) backend().put(array(new_velocity_), sent, /*add=*/false, queue());
}

// With T selected by P ranks together and U different indices among them, a rank sends T (P - 1) / P entries when they
// are gathered, and (T / P + U) (P - 1) / P when they are split. U and T of the last window are known to all ranks.
// Two or three more rounds must be worth it.
bool SparseExchange::splits() const {
  if (world_size() == 1 || !comm().can_exchange()) return false;
  if (options().sparse_exchange != GRADSTEP_SPARSE_EXCHANGE_AUTO) {
    return options().sparse_exchange == GRADSTEP_SPARSE_EXCHANGE_SPLIT;
  }
  const auto ranks = static_cast<std::int64_t>(world_size());
  const auto pays = [&](std::int64_t different) {
    const std::int64_t saved = last_selected_ - last_selected_ / ranks - different;
    return saved * (ranks - 1) / ranks * (4 + size_of(plan_.dtype)) > kGatherBytes;
  };
  // U is no less than a rank's share of T: often that settles it, and a device need not be asked.
  return pays(last_selected_ / ranks) && pays(touched_count());
}

std::int64_t SparseExchange::touched_count() const {
  return touched_.present != nullptr ? read(queue(), touched_.present) : touched_.count;
}

std::int64_t SparseExchange::piece_begin(std::size_t q) const {
  return plan_.elements * static_cast<std::int64_t>(q) / static_cast<std::int64_t>(pieces_);
}

/// headers_ = what every rank is about to send.
void SparseExchange::agree(const Deadline& deadline) {
  queue().copy(counts_.data(), head_.data(), kCountSize);
  const auto bytes = static_cast<std::int64_t>((1 + pieces_) * sizeof(std::int64_t));
  const DataPlane::Seen all = data().all_gather_seen(counts_.data(), all_counts_.data(), bytes, bytes, deadline);
  read_headers(all.first, all.stride);
}

/// Reads the headers of all ranks on the host. Throws NUMERIC on all ranks if one has NaNs that it must not send. Only
/// NaNs that were selected are counted: there may be more.
void SparseExchange::read_headers(const std::byte* first, std::int64_t stride) {
  const std::size_t length = 1 + pieces_;
  headers_.resize(length * world_size());
  for (std::size_t r = 0; r < world_size(); ++r) {
    std::memcpy(&headers_[r * length], first + static_cast<std::int64_t>(r) * stride, length * sizeof(std::int64_t));
  }
  for (std::size_t r = 0; r < world_size(); ++r) {
    if (options().nan_policy == GRADSTEP_NAN_ERROR && headers_[r * length] != 0) {
      fail(GRADSTEP_ERR_NUMERIC,
           "gradient + residual of rank {} has NaN: {} of the elements that it would send are (nan_policy is error)", r,
           headers_[r * length]);
    }
  }
}

std::int64_t SparseExchange::message_bytes(std::int64_t count) const {
  return aligned(count * kIndexSize) + aligned(count * size_of(plan_.dtype));
}

SparseList SparseExchange::read_message(const std::byte* message, std::int64_t count) const {
  return {reinterpret_cast<const std::int32_t*>(message), message + aligned(count * kIndexSize), count, nullptr};
}

Selection SparseExchange::write_message(std::byte* message, std::int64_t count) {
  std::byte* values = message + aligned(count * kIndexSize);
  const auto fill = [&](std::byte* list, std::int64_t bytes) {
    if (aligned(bytes) > bytes) queue().zero(list + bytes, static_cast<std::size_t>(aligned(bytes) - bytes));
  };
  fill(message, count * kIndexSize);
  fill(values, count * size_of(plan_.dtype));
  return {reinterpret_cast<std::int32_t*>(message), values};
}

// Should the rest of an exchange fail, the next one does not know where to clear.
void SparseExchange::clear_sum() {
  if (all_touched_) {
    queue().zero(sum().data, static_cast<std::size_t>(sum().bytes()));
  } else if (touched_.count > 0) {
    backend().put(sum(), touched_, /*add=*/false, queue());
  }
  touched_ = {};
  all_touched_ = true;
}

/// sum() = that of lists_, which have indices in [begin, end).
void SparseExchange::sum_lists(std::int64_t begin, std::int64_t end, double divisor) {
  std::int64_t room = 0;
  for (const SparseList& list : lists_) room += list.count;
  clear_sum();
  std::byte* touched = touched_memory_.reserve(kCountSize + room * kIndexSize);
  sum_.destination = sum();
  sum_.lists = lists_;
  sum_.begin = begin;
  sum_.end = end;
  sum_.divisor = divisor;
  sum_.touched_count = reinterpret_cast<std::int64_t*>(touched);
  sum_.touched = reinterpret_cast<std::int32_t*>(touched + kCountSize);
  backend().sum_sparse(sum_, queue());
  touched_ = {sum_.touched, nullptr, room, sum_.touched_count};
}

void SparseExchange::gather(double divisor, const Deadline& deadline) {
  const std::byte* received = is_fixed() ? gather_fixed(deadline) : gather_agreed(deadline);
  const std::int64_t head = is_fixed() ? kHeadSize : 0;
  lists_.clear();
  for (std::size_t r = 0; r < world_size(); ++r) {
    lists_.push_back(read_message(received + head, count_of(r, 0)));
    received += head + message_bytes(count_of(r, 0));
  }
  sum_lists(0, plan_.elements, divisor);
  all_touched_ = false;
}

/// All ranks' messages, each with its head.
const std::byte* SparseExchange::gather_fixed(const Deadline& deadline) {
  if (world_size() == 1) {
    headers_ = {0, own_count_};
    if (options().nan_policy == GRADSTEP_NAN_ERROR) {
      const std::int64_t own[] = {read(queue(), head_.as<std::int64_t>()), own_count_};
      read_headers(reinterpret_cast<const std::byte*>(own), 0);
    }
    return own_ - kHeadSize;
  }
  queue().copy(own_ - kHeadSize, head_.data(), kHeadSize);
  const std::int64_t bytes = kHeadSize + message_bytes(own_count_);
  std::byte* all = resources_.incoming.reserve(bytes * static_cast<std::int64_t>(world_size()));
  const DataPlane::Seen heads = data().all_gather_seen(own_ - kHeadSize, all, bytes, kHeadSize, deadline);
  read_headers(heads.first, heads.stride);
  for (std::size_t r = 0; r < world_size(); ++r) {
    if (count_of(r, 0) != own_count_) {
      fail(GRADSTEP_ERR_MISMATCH, "rank {} has selected {} elements, this rank {}: they are not in the same window", r,
           count_of(r, 0), own_count_);
    }
  }
  return all;
}

const std::byte* SparseExchange::gather_agreed(const Deadline& deadline) {
  if (world_size() == 1) return own_;
  bytes_.resize(world_size());
  for (std::size_t r = 0; r < world_size(); ++r) bytes_[r] = message_bytes(count_of(r, 0));
  std::byte* all = resources_.incoming.reserve(total_of(bytes_));
  data().all_gather_v(own_, all, bytes_, deadline);
  return all;
}

void SparseExchange::split(double divisor, const Deadline& deadline) {
  exchange_pieces(deadline);
  sum_lists(piece_begin(rank()), piece_begin(rank() + 1), divisor);
  share_sums(deadline);
}

/// lists_ = what all ranks have selected in this rank's piece.
void SparseExchange::exchange_pieces(const Deadline& deadline) {
  bytes_.resize(world_size());
  incoming_bytes_.resize(world_size());
  for (std::size_t q = 0; q < world_size(); ++q) {
    bytes_[q] = message_bytes(count_of(rank(), q));
    incoming_bytes_[q] = message_bytes(count_of(q, rank()));
  }
  std::byte* outgoing = resources_.outgoing.reserve(total_of(bytes_));
  std::byte* message = outgoing;
  const SparseList own = own_list();
  std::int64_t begin = 0;
  for (std::size_t q = 0; q < world_size(); ++q) {
    const std::int64_t count = count_of(rank(), q);
    const Selection piece = write_message(message, count);
    queue().copy(piece.indices, own.indices + begin, static_cast<std::size_t>(count * kIndexSize));
    queue().copy(piece.values, static_cast<const std::byte*>(own.values) + begin * size_of(plan_.dtype),
                 static_cast<std::size_t>(count * size_of(plan_.dtype)));
    message += bytes_[q];
    begin += count;
  }
  std::byte* received = resources_.incoming.reserve(total_of(incoming_bytes_));
  data().exchange(outgoing, bytes_, received, incoming_bytes_, deadline);
  lists_.clear();
  for (std::size_t r = 0; r < world_size(); ++r) {
    lists_.push_back(read_message(received, count_of(r, rank())));
    received += incoming_bytes_[r];
  }
}

/// From the sums of this rank's piece to those of all.
void SparseExchange::share_sums(const Deadline& deadline) {
  const DataPlane::Seen counted =
      data().all_gather_seen(touched_.present, all_counts_.data(), kCountSize, kCountSize, deadline);
  lists_.clear();
  for (std::size_t r = 0; r < world_size(); ++r) {
    std::int64_t count = 0;
    std::memcpy(&count, counted.first + static_cast<std::int64_t>(r) * counted.stride, sizeof count);
    lists_.push_back({nullptr, nullptr, count, nullptr});
    bytes_[r] = message_bytes(count);
  }
  const std::int64_t own_sums = lists_[rank()].count;
  std::byte* outgoing = resources_.outgoing.reserve(bytes_[rank()]);
  const Selection sums = write_message(outgoing, own_sums);
  queue().copy(sums.indices, touched_.indices, static_cast<std::size_t>(own_sums * kIndexSize));
  backend().take(sum(), {touched_.indices, nullptr, own_sums, nullptr}, sums.values, queue());
  std::byte* all = resources_.incoming.reserve(total_of(bytes_));
  data().all_gather_v(outgoing, all, bytes_, deadline);

  std::int64_t total = 0;
  for (std::size_t r = 0; r < world_size(); ++r) {
    lists_[r] = read_message(all, lists_[r].count);
    total += lists_[r].count;
    all += bytes_[r];
  }
  auto* indices =
      reinterpret_cast<std::int32_t*>(touched_memory_.reserve(kCountSize + total * kIndexSize) + kCountSize);
  touched_ = {indices, nullptr, total, nullptr};
  for (const SparseList& list : lists_) {
    backend().put(sum(), list, /*add=*/false, queue());
    queue().copy(indices, list.indices, static_cast<std::size_t>(list.count * kIndexSize));
    indices += list.count;
  }
  all_touched_ = false;
}

void SparseExchange::commit() {
  if (is_ef21()) {
    // This rank's estimate grows by what it has sent, and the sum of all estimates by what all have sent.
    backend().put(array(residual_), own_list(), /*add=*/true, queue());
    SparseList sums = touched_;
    std::byte* values = resources_.outgoing.reserve(sums.count * size_of(plan_.dtype));
    backend().take(sum(), sums, values, queue());
    sums.values = values;
    backend().put(array(total_), sums, /*add=*/true, queue());
    return;
  }
  if (residual_.data() == nullptr && !has_momentum()) return;
  if (residual_.data() != nullptr) std::swap(packed_, residual_);
  if (has_momentum()) std::swap(velocity_, new_velocity_);
  std::swap(selection_, next_selection_);
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
  if (is_ef21()) return backend().put(array(residual_), other->own_list(), /*add=*/true, queue());
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
