// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Each rank encodes gradient + residual and gives every other one its piece; each sums its piece over the ranks in f32,
// in their order, encodes the sum and gives it to all; all decode the same codes, the owner too. What either encoding
// leaves out goes into the residual (error feedback, Seide et al. 2014): that of a sum into its owner's.
//
// A message is the count of numbers that are not finite, a factor for each block, and a code for each number. Codes
// have no infinities: where a number was not finite anywhere, the whole bucket becomes NaN on all ranks.
#include "reduce/coded.h"

#include <algorithm>
#include <cstring>

#include "core/error.h"
#include "reduce/reducer_options.h"

namespace gradstep {

namespace {

constexpr std::int64_t kHeadBytes = sizeof(std::int64_t);

}  // namespace

CodedExchange::CodedExchange(ExchangeResources& resources, const BucketPlan& plan,
                             const gradstep_reducer_options& checked, std::span<const std::int64_t> sizes)
    : BucketExchange(resources, plan, checked),
      code_(code_of(checked.mode).value()),
      feedback_(resources.site, DType::f32, sizes, "residual", checked.residual != 0),
      work_({&plan_.elements, 1}) {
  if (plan_.dtype == DType::f64) {
    fail(GRADSTEP_ERR_UNSUPPORTED, "options.mode: is {}, which carries f32, f16 and bf16; a parameter is f64",
         mode_name(checked.mode));
  }
  const auto ranks = static_cast<std::int64_t>(world_size());
  const std::int64_t blocks = (plan_.elements + kernels::kCodeBlock - 1) / kernels::kCodeBlock;
  const std::int64_t piece_blocks = (blocks + ranks - 1) / ranks;
  piece_ = piece_blocks * kernels::kCodeBlock;
  message_bytes_ = kHeadBytes + (piece_blocks * kernels::coded_bytes(code_) + 7) / 8 * 8;
  messages_bytes_.assign(world_size(), message_bytes_);
  const std::int64_t own = piece_of(result(), rank()).size;
  piece_work_.append(own);
  const auto piece_bytes = static_cast<std::size_t>(own) * sizeof(float);
  sum_ = resources_.site.allocate(piece_bytes, /*zeroed=*/false);
  summand_ = resources_.site.allocate(piece_bytes, /*zeroed=*/false);
  nonfinite_ = resources_.site.allocate(sizeof(std::int64_t), /*zeroed=*/true);
}

Array CodedExchange::piece_of(const Array& whole, std::size_t q) const {
  const std::int64_t begin = std::min(plan_.elements, static_cast<std::int64_t>(q) * piece_);
  const std::int64_t size = std::min(piece_, plan_.elements - begin);
  return compact_array(static_cast<float*>(whole.data) + begin, size, DType::f32);
}

CodedNumbers CodedExchange::codes_in(std::byte* message, std::size_t q) const {
  CodedNumbers numbers;
  numbers.factors = reinterpret_cast<float*>(message + kHeadBytes);
  numbers.codes = reinterpret_cast<std::uint8_t*>(numbers.factors + piece_ / kernels::block_of(code_));
  numbers.count = piece_of(result(), q).size;
  numbers.is_signed = true;
  numbers.code = code_;
  return numbers;
}

void CodedExchange::add(const Array& destination, const Array& a, const Array& b, double factor) {
  const CombineItem item{destination, a, b, 1, factor};
  backend().combine({destination.size == plan_.elements ? &work_ : &piece_work_, {&item, 1}, {}}, queue());
}

void CodedExchange::exchange(double divisor, const Deadline& deadline, gradstep_bucket_statistics& stats) {
  queue().zero(nonfinite_.data(), nonfinite_.bytes());
  backend().count_nonfinite(packed(), nonfinite_.as<std::int64_t>(), queue());
  send_pieces(deadline);
  sum_pieces(divisor);
  share_sums(divisor, deadline);
  stats.algorithm = GRADSTEP_EXCHANGE_PIECES;
}

/// packed() becomes what its codes leave out.
void CodedExchange::send_pieces(const Deadline& deadline) {
  const auto ranks = static_cast<std::int64_t>(world_size());
  std::byte* outgoing = resources_.outgoing.reserve(message_bytes_ * ranks);
  std::byte* incoming = resources_.incoming.reserve(message_bytes_ * ranks);
  for (std::size_t q = 0; q < world_size(); ++q) {
    const CodedNumbers codes = codes_in(outgoing + static_cast<std::int64_t>(q) * message_bytes_, q);
    if (codes.count == 0) continue;
    backend().encode(numbers_of(piece_of(packed(), q)), codes, queue());
    if (feedback_.keeps()) backend().decode(codes, numbers_of(piece_of(result(), q)), queue());
  }
  if (feedback_.keeps()) add(packed(), packed(), result(), -1);
  data().all_to_all(outgoing, incoming, messages_bytes_, deadline);
}

/// sum_ = the sum of all ranks' numbers of this rank's piece / divisor.
void CodedExchange::sum_pieces(double divisor) {
  const Array own = piece_of(result(), rank());
  if (own.size == 0) return;
  std::byte* incoming = resources_.incoming.reserve(message_bytes_ * static_cast<std::int64_t>(world_size()));
  backend().decode(codes_in(incoming, rank()), sum_.as<float>(), queue());
  for (std::size_t r = 1; r < world_size(); ++r) {
    std::byte* message = incoming + static_cast<std::int64_t>(r) * message_bytes_;
    backend().decode(codes_in(message, rank()), summand_.as<float>(), queue());
    const void* const two[] = {sum_.data(), summand_.data()};
    const double last = r + 1 == world_size() ? divisor : 1;
    backend().sum_ranks({sum_.data(), two, own.size, DType::f32, GRADSTEP_REDUCE_SUM, last}, queue());
  }
  backend().count_nonfinite(compact_array(sum_.data(), own.size, DType::f32), nonfinite_.as<std::int64_t>(), queue());
}

void CodedExchange::share_sums(double divisor, const Deadline& deadline) {
  const auto ranks = static_cast<std::int64_t>(world_size());
  std::byte* own = resources_.outgoing.reserve(message_bytes_ * ranks);
  std::byte* all = resources_.incoming.reserve(message_bytes_ * ranks);
  queue().copy(own, nonfinite_.data(), kHeadBytes);
  const CodedNumbers codes = codes_in(own, rank());
  if (codes.count > 0) backend().encode(sum_.as<float>(), codes, queue());
  if (codes.count > 0 && feedback_.keeps()) {
    const Array sum = compact_array(sum_.data(), codes.count, DType::f32);
    const Array summand = compact_array(summand_.data(), codes.count, DType::f32);
    backend().decode(codes, summand_.as<float>(), queue());
    add(sum, sum, summand, -1);
    const Array kept = piece_of(packed(), rank());
    add(kept, kept, sum, divisor);
  }
  set_has_sent();
  const DataPlane::Seen heads = data().all_gather_seen(own, all, message_bytes_, kHeadBytes, deadline);
  bool is_finite = true;
  for (std::size_t r = 0; r < world_size(); ++r) {
    std::int64_t count = 0;
    std::memcpy(&count, heads.first + static_cast<std::int64_t>(r) * heads.stride, sizeof count);
    is_finite = is_finite && count == 0;
  }
  for (std::size_t q = 0; q < world_size(); ++q) {
    const CodedNumbers sums = codes_in(all + static_cast<std::int64_t>(q) * message_bytes_, q);
    if (sums.count > 0) backend().decode(sums, numbers_of(piece_of(result(), q)), queue());
  }
  if (is_finite) return;
  queue().zero(result().data, static_cast<std::size_t>(result().bytes()));
  const CopyItem itself{result(), result()};
  backend().copy({&work_, {&itself, 1}, {}}, 1, /*divisor=*/0, queue());  // 0 / 0
}

std::vector<KeptTensor> CodedExchange::kept() {
  std::vector<KeptTensor> list;
  feedback_.list(list);
  return list;
}

void CodedExchange::finish(const BucketExchange& failed) {
  const auto* other = dynamic_cast<const CodedExchange*>(&failed);
  if (other != nullptr) feedback_.finish(other->feedback_, queue());
}

}  // namespace gradstep
