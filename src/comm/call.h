// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// One collective as a value: what is sent, what is received, and what ranks compare of it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <span>
#include <string>

#include "core/array.h"
#include "core/deadline.h"
#include "core/dtype.h"
#include "gradstep/comm.h"

namespace gradstep {

enum class CallKind : std::uint8_t {
  none,  ///< not said
  all_reduce,
  reduce_scatter,
  reduce_scatter_v,
  all_gather,
  all_gather_v,
  all_to_all,
  exchange,
  broadcast,
  send,
  recv,
  barrier,
  channel,  ///< another channel is made
};

/// A kind uses the fields that its maker sets. The memory that they point to outlives the call.
struct Call {
  CallKind kind = CallKind::none;
  Array data{};    ///< of a reduction: its input, and its output where it works in place
  Array output{};  ///< of a reduce_scatter
  const void* send = nullptr;
  void* receive = nullptr;
  std::int64_t bytes = 0;  ///< of one rank's block
  // NOLINTBEGIN(readability-redundant-member-init): makers may leave them out
  std::span<const std::int64_t> counts = {};         ///< by rank: elements of a reduction, else bytes
  std::span<const std::int64_t> receive_bytes = {};  ///< by rank, of an exchange
  // NOLINTEND(readability-redundant-member-init)
  std::int32_t op = GRADSTEP_REDUCE_SUM;
  double divisor = 1;
  std::int32_t root = 0;  ///< of a broadcast; the other rank of a send or recv

  /// data = reduction over ranks [/ divisor], in place, contiguous. The owner of each piece divides it, once.
  static Call all_reduce(const Array& data, std::int32_t op, double divisor) {
    return {.kind = CallKind::all_reduce, .data = data, .op = op, .divisor = divisor};
  }
  /// output = this rank's block of the reduction of `input`, which has world_size blocks.
  static Call reduce_scatter(const Array& input, const Array& output, std::int32_t op) {
    return {.kind = CallKind::reduce_scatter, .data = input, .output = output, .op = op};
  }
  /// Piece r of `data`, one after the other, has counts[r] elements (equal on all ranks). This rank's piece becomes the
  /// reduction [/ divisor]; the others keep what they were.
  static Call reduce_scatter_v(const Array& data, std::span<const std::int64_t> counts, std::int32_t op,
                               double divisor) {
    return {.kind = CallKind::reduce_scatter_v, .data = data, .counts = counts, .op = op, .divisor = divisor};
  }
  /// `receive` holds world_size blocks of `bytes`. `send` may be this rank's block of it.
  static Call all_gather(const void* send, void* receive, std::int64_t bytes) {
    return {.kind = CallKind::all_gather, .send = send, .receive = receive, .bytes = bytes};
  }
  /// Block r has bytes[r] bytes; `bytes` is equal on all ranks.
  static Call all_gather_v(const void* send, void* receive, std::span<const std::int64_t> bytes) {
    return {.kind = CallKind::all_gather_v, .send = send, .receive = receive, .counts = bytes};
  }
  /// Piece q of `send`, one after the other, has bytes[q] bytes (equal on all ranks) and goes to rank q. receive = this
  /// rank's piece of every rank, in their order.
  static Call all_to_all(const void* send, void* receive, std::span<const std::int64_t> bytes) {
    return {.kind = CallKind::all_to_all, .send = send, .receive = receive, .counts = bytes};
  }
  /// Piece q of `send` goes to rank q, piece r of `receive` comes from rank r, pieces one after the other. The two
  /// sides of a pair agree on the bytes. UNSUPPORTED where an engine only gathers.
  static Call exchange(const void* send, std::span<const std::int64_t> send_bytes, void* receive,
                       std::span<const std::int64_t> receive_bytes) {
    return {.kind = CallKind::exchange,
            .send = send,
            .receive = receive,
            .counts = send_bytes,
            .receive_bytes = receive_bytes};
  }
  static Call broadcast(void* data, std::int64_t bytes, std::int32_t root) {
    return {.kind = CallKind::broadcast, .send = data, .receive = data, .bytes = bytes, .root = root};
  }
  static Call send_to(const void* data, std::int64_t bytes, std::int32_t to) {
    return {.kind = CallKind::send, .send = data, .bytes = bytes, .root = to};
  }
  static Call recv_from(void* data, std::int64_t bytes, std::int32_t from) {
    return {.kind = CallKind::recv, .receive = data, .bytes = bytes, .root = from};
  }
};

inline bool is_reduction(CallKind kind) {
  return kind == CallKind::all_reduce || kind == CallKind::reduce_scatter || kind == CallKind::reduce_scatter_v;
}

inline std::int64_t total_of(std::span<const std::int64_t> counts) {
  return std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
}

/// The calls by their names, for a class with run(const Call&, const Deadline&). Call's makers say what they do.
template <class Self>
class NamedCalls {
 public:
  void all_reduce(const Array& data, std::int32_t op, double divisor, const Deadline& deadline) {
    run(Call::all_reduce(data, op, divisor), deadline);
  }
  void reduce_scatter(const Array& input, const Array& output, std::int32_t op, const Deadline& deadline) {
    run(Call::reduce_scatter(input, output, op), deadline);
  }
  void reduce_scatter_v(const Array& data, std::span<const std::int64_t> counts, std::int32_t op, double divisor,
                        const Deadline& deadline) {
    run(Call::reduce_scatter_v(data, counts, op, divisor), deadline);
  }
  void all_gather(const void* send, void* receive, std::int64_t bytes, const Deadline& deadline) {
    run(Call::all_gather(send, receive, bytes), deadline);
  }
  void all_gather_v(const void* send, void* receive, std::span<const std::int64_t> bytes, const Deadline& deadline) {
    run(Call::all_gather_v(send, receive, bytes), deadline);
  }
  void all_to_all(const void* send, void* receive, std::span<const std::int64_t> bytes, const Deadline& deadline) {
    run(Call::all_to_all(send, receive, bytes), deadline);
  }
  void exchange(const void* send, std::span<const std::int64_t> send_bytes, void* receive,
                std::span<const std::int64_t> receive_bytes, const Deadline& deadline) {
    run(Call::exchange(send, send_bytes, receive, receive_bytes), deadline);
  }
  void broadcast(void* data, std::int64_t bytes, std::int32_t root, const Deadline& deadline) {
    run(Call::broadcast(data, bytes, root), deadline);
  }
  void send(const void* data, std::int64_t bytes, std::int32_t to, const Deadline& deadline) {
    run(Call::send_to(data, bytes, to), deadline);
  }
  void recv(void* data, std::int64_t bytes, std::int32_t from, const Deadline& deadline) {
    run(Call::recv_from(data, bytes, from), deadline);
  }
  void barrier(const Deadline& deadline) { run(Call{CallKind::barrier}, deadline); }

 private:
  friend Self;
  NamedCalls() = default;
  void run(const Call& call, const Deadline& deadline) { static_cast<Self*>(this)->run(call, deadline); }
};

/// Among so many ranks each hears from all in an all-reduce, however its data are cut into pieces, and in a gather.
inline constexpr std::int32_t kMostRanksThatHearAll = 16;

/// What goes with each message, where an engine carries it.
struct Said {
  std::uint64_t call = 0;  ///< see code_of(); another one at a peer is a MISMATCH
  std::uint64_t note = 0;  ///< stands for what callers want to be equal
  bool heard = false;      ///< a peer's note was another one; set by the engine
  /// A message's sender, too, hears what its receiver says. Set by the engine.
  bool senders_hear = false;

  void hear(std::uint64_t peers) { heard = heard || peers != note; }
};

/// What ranks compare of a call, in one number. Counts from 2^32 on are taken for that many; their messages differ in
/// length.
std::uint64_t code_of(const Call& call);

/// "all_reduce", ...
const char* name_of(CallKind kind);

/// What this rank gives: a reduction's input, else its block or all blocks.
std::int64_t bytes_of(const Call& call);

std::string text_of_call(std::uint64_t code);

/// "rank 1 calls ..., rank 0 calls ...".
std::string text_of_difference(std::int32_t peer, std::uint64_t peers, std::int32_t rank, std::uint64_t own);

}  // namespace gradstep
