// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Each rank encodes gradient + residual and gives every other one its piece; each sums its piece over the ranks in f32,
// in their order, encodes the sum and gives it to all; all decode the same codes, the owner too. What either encoding
// leaves out goes into the residual (error feedback, Seide et al. 2014): that of a sum into its owner's.
//
// By hosts the ranks of each host first sum gradient + residual in f32, each owner its stretch of the bucket; these
// sums travel in codes between the owners of a stretch, one of each host, as above, and each owner gives what it has
// received to its host. Residuals are the owners'.
//
// A message is the count of numbers that are not finite, a factor for each block, and a code for each number. Codes
// have no infinities: where a number was not finite anywhere, the whole bucket becomes NaN on all ranks.
#include "reduce/coded.h"

#include <algorithm>
#include <cstring>

#include "core/error.h"
#include "core/slice.h"
#include "reduce/reducer_options.h"

namespace gradstep {

namespace {

constexpr std::int64_t kHeadBytes = sizeof(std::int64_t);

}  // namespace

CodedExchange::CodedExchange(ExchangeResources& resources, const BucketPlan& plan,
                             const gradstep_reducer_options& checked, std::span<const std::int64_t> sizes)
    : BucketExchange(resources, plan, checked),
      code_(code_of(checked.mode)),
      feedback_(resources.site, DType::f32, sizes, "residual", checked.residual != 0) {
  if (plan_.dtype == DType::f64) {
    fail(GRADSTEP_ERR_UNSUPPORTED, "options.mode: is {}, which carries f32, f16 and bf16; a parameter is f64",
         mode_name(checked.mode));
  }
  among_all_ = cut(division_among_all(resources));
  std::int64_t own = own_piece(among_all_, result()).size;
  if (HostSums* sums = comm().host_sums(); sums != nullptr) {
    hosts_ = std::make_unique<HostPlanes>(*sums, resources);
    counts_.resize(hosts_->ranks_inside());
    by_hosts_ = cut(hosts_->division());
    own = std::max(own, own_piece(by_hosts_, result()).size);
  }
  result_work_.append(plan_.elements);
  const auto piece_bytes = static_cast<std::size_t>(own) * sizeof(float);
  sum_ = resources_.site.allocate(piece_bytes, /*zeroed=*/false);
  nonfinite_ = resources_.site.allocate(sizeof(std::int64_t), /*zeroed=*/true);
}

CodedExchange::Pieces CodedExchange::cut(const Division& division) const {
  Pieces pieces;
  static_cast<Division&>(pieces) = division;
  const auto share = [](std::int64_t elements, std::size_t parts) {
    return equal_share(elements, static_cast<std::int64_t>(parts), kernels::kCodeBlock);
  };
  pieces.stretch = share(plan_.elements, pieces.owners);
  pieces.piece = share(pieces.stretch, pieces.ranks);
  const std::int64_t codes_bytes = pieces.piece / kernels::kCodeBlock * kernels::coded_bytes(code_);
  pieces.message_bytes = kHeadBytes + whole_units(codes_bytes, kHeadBytes);
  pieces.messages_bytes.assign(pieces.ranks, pieces.message_bytes);
  pieces.work.append(own_piece(pieces, result()).size);
  return pieces;
}

Array CodedExchange::stretch_of(const Pieces& division, const Array& whole, std::size_t o) const {
  const std::int64_t begin = std::min(plan_.elements, static_cast<std::int64_t>(o) * division.stretch);
  const std::int64_t size = o < division.owners ? std::min(division.stretch, plan_.elements - begin) : 0;
  return part_of(whole, begin, size);
}

Array CodedExchange::piece_of(const Pieces& division, const Array& whole, std::size_t o, std::size_t q) const {
  const Array stretch = stretch_of(division, whole, o);
  const std::int64_t begin = std::min(stretch.size, static_cast<std::int64_t>(q) * division.piece);
  return part_of(stretch, begin, std::min(division.piece, stretch.size - begin));
}

CodedNumbers CodedExchange::codes_in(const Pieces& division, std::byte* message, std::int64_t count) const {
  CodedNumbers numbers;
  numbers.factors = reinterpret_cast<float*>(message + kHeadBytes);
  numbers.codes = reinterpret_cast<std::uint8_t*>(numbers.factors + division.piece / kernels::block_of(code_));
  numbers.count = count;
  numbers.is_signed = true;
  numbers.code = code_;
  return numbers;
}

void CodedExchange::encode(const Array& numbers, const CodedNumbers& codes) {
  auto* nonfinite = nonfinite_.as<std::int64_t>();
  if (feedback_.keeps()) return backend().encode_rest(numbers_of(numbers), codes, nonfinite, queue());
  backend().count_nonfinite(numbers, nonfinite, queue());
  backend().encode(numbers_of(numbers), codes, queue());
}

void CodedExchange::exchange(double divisor, const Deadline& deadline, gradstep_bucket_statistics& stats) {
  stats.algorithm = GRADSTEP_EXCHANGE_PIECES;
  queue().zero(nonfinite_.data(), nonfinite_.bytes());
  if (hosts_ != nullptr && hosts_->is_used()) return exchange_by_hosts(divisor, deadline);
  send_pieces(among_all_, deadline);
  sum_pieces(among_all_, divisor);
  const std::byte* own = write_sums(among_all_, divisor);
  std::byte* all = resources_.incoming.reserve(among_all_.bytes());
  set_has_sent();
  const DataPlane::Seen heads = data().all_gather_seen(own, all, among_all_.message_bytes, kHeadBytes, deadline);
  bool is_finite = true;
  for (std::size_t r = 0; r < world_size(); ++r) {
    std::int64_t count = 0;
    std::memcpy(&count, heads.first + static_cast<std::int64_t>(r) * heads.stride, sizeof count);
    is_finite = is_finite && count == 0;
  }
  read_sums(among_all_, all, is_finite);
}

void CodedExchange::exchange_by_hosts(double divisor, const Deadline& deadline) {
  const Pieces& division = by_hosts_;
  std::byte* received = resources_.blocks.reserve(division.bytes() * static_cast<std::int64_t>(division.owners));
  hosts_->run(comm(), deadline, [&] {
    sum_host(deadline);
    const std::byte* all = division.group != nullptr ? exchange_sums(divisor, deadline) : nullptr;
    for (std::size_t r = 0; r < counts_.size(); ++r) counts_[r] = r < division.owners ? division.bytes() : 0;
    hosts_->inside().all_gather_v(all, received, counts_, deadline);
  });
  bool is_finite = true;
  for (std::size_t k = 0; k < division.owners * division.ranks; ++k) {
    const std::byte* head = received + static_cast<std::int64_t>(k) * division.message_bytes;
    is_finite = is_finite && read(queue(), reinterpret_cast<const std::int64_t*>(head)) == 0;
  }
  read_sums(division, received, is_finite);
}

/// packed() becomes the host's sum in this rank's stretch, and zero elsewhere.
void CodedExchange::sum_host(const Deadline& deadline) {
  const auto bytes = static_cast<std::size_t>(packed().bytes());
  queue().copy(result().data, packed().data, bytes);
  queue().zero(packed().data, bytes);
  if (by_hosts_.group == nullptr) set_has_sent();  // the others need no more of it
  for (std::size_t r = 0; r < counts_.size(); ++r) counts_[r] = stretch_of(by_hosts_, result(), r).size;
  hosts_->inside().reduce_scatter_v(result(), counts_, GRADSTEP_REDUCE_SUM, 1, deadline);
  const Array own = own_stretch(by_hosts_, packed());
  const Array sum = own_stretch(by_hosts_, result());
  if (own.size > 0) queue().copy(own.data, sum.data, static_cast<std::size_t>(own.bytes()));
}

/// Returns the messages of this rank's stretch.
const std::byte* CodedExchange::exchange_sums(double divisor, const Deadline& deadline) {
  send_pieces(by_hosts_, deadline);
  sum_pieces(by_hosts_, divisor);
  const std::byte* own = write_sums(by_hosts_, divisor);
  std::byte* all = resources_.incoming.reserve(by_hosts_.bytes());
  set_has_sent();
  by_hosts_.group->all_gather(own, all, by_hosts_.message_bytes, deadline);
  return all;
}

void CodedExchange::send_pieces(const Pieces& division, const Deadline& deadline) {
  std::byte* outgoing = resources_.outgoing.reserve(division.bytes());
  std::byte* incoming = resources_.incoming.reserve(division.bytes());
  for (std::size_t q = 0; q < division.ranks; ++q) {
    const Array piece = piece_of(division, packed(), division.own, q);
    if (piece.size == 0) continue;
    std::byte* message = outgoing + static_cast<std::int64_t>(q) * division.message_bytes;
    encode(piece, codes_in(division, message, piece.size));
  }
  division.group->all_to_all(outgoing, incoming, division.messages_bytes, deadline);
}

/// sum_ = the sum of all numbers of this rank's piece / divisor.
void CodedExchange::sum_pieces(const Pieces& division, double divisor) {
  const std::int64_t size = own_piece(division, result()).size;
  if (size == 0) return;
  std::byte* incoming = resources_.incoming.reserve(division.bytes());
  backend().decode(codes_in(division, incoming, size), sum_.as<float>(), queue());
  for (std::size_t r = 1; r < division.ranks; ++r) {
    std::byte* message = incoming + static_cast<std::int64_t>(r) * division.message_bytes;
    const double last = r + 1 == division.ranks ? divisor : 1;
    backend().add_decoded(codes_in(division, message, size), sum_.as<float>(), last, queue());
  }
}

const std::byte* CodedExchange::write_sums(const Pieces& division, double divisor) {
  std::byte* own = resources_.outgoing.reserve(division.bytes());
  const Array kept = own_piece(division, packed());
  if (kept.size > 0) {
    const Array sum = compact_array(sum_.data(), kept.size, DType::f32);
    encode(sum, codes_in(division, own, kept.size));
    const CombineItem rest{kept, kept, sum, 1, divisor};
    if (feedback_.keeps()) backend().combine({&division.work, {&rest, 1}, {}}, queue());
  }
  queue().copy(own, nonfinite_.data(), kHeadBytes);
  return own;
}

void CodedExchange::read_sums(const Pieces& division, std::byte* messages, bool is_finite) {
  for (std::size_t o = 0; o < division.owners; ++o) {
    for (std::size_t q = 0; q < division.ranks; ++q, messages += division.message_bytes) {
      const Array piece = piece_of(division, result(), o, q);
      if (piece.size > 0) backend().decode(codes_in(division, messages, piece.size), numbers_of(piece), queue());
    }
  }
  if (is_finite) return;
  queue().zero(result().data, static_cast<std::size_t>(result().bytes()));
  const CopyItem itself{result(), result()};
  backend().copy({&result_work_, {&itself, 1}, {}}, 1, /*divisor=*/0, queue());  // 0 / 0
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
