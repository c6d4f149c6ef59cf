// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// What a rank says beside the bytes of its messages: the call that it makes, in one number. Ranks whose calls differ
// thus learn it by the first message, also where as many bytes travel.
#pragma once

#include <fmt/core.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string>

#include "core/dtype.h"
#include "gradstep/comm.h"

namespace gradstep {

enum class CallKind : std::uint8_t {
  none,  ///< not said
  all_reduce,
  reduce_scatter,
  all_gather,
  all_to_all,
  exchange,
  broadcast,
  point_to_point,
  barrier,
  channel,  ///< another channel is made
};

struct Call {
  CallKind kind = CallKind::none;
  std::int64_t count = 0;  ///< elements, or bytes
  bool has_dtype = false;
  DType dtype = DType::u8;
  std::int32_t op = 0;
  std::int32_t root = 0;

  static Call of_bytes(CallKind kind, std::int64_t bytes, std::int32_t root = 0) {
    return {kind, bytes, false, DType::u8, 0, root};
  }
  static Call of_reduction(CallKind kind, std::int64_t count, DType dtype, std::int32_t op) {
    return {kind, count, true, dtype, op, 0};
  }
};

/// What goes with each message, where an engine carries it.
struct Said {
  std::uint64_t call = 0;  ///< see code_of(); another one at a peer is a MISMATCH
  std::uint64_t note = 0;  ///< stands for what callers want to be equal
  bool heard = false;      ///< a peer's note was another one; set by the engine
  /// A message's sender, too, hears what its receiver says. Set by the engine.
  bool senders_hear = false;

  void hear(std::uint64_t peers) { heard = heard || peers != note; }
};

/// Counts from 2^32 on are taken for that many; their messages differ in length.
constexpr std::uint64_t code_of(const Call& call) {
  const auto count = static_cast<std::uint64_t>(std::clamp<std::int64_t>(call.count, 0, 0xffffffff));
  return static_cast<std::uint64_t>(call.kind) << 60U | static_cast<std::uint64_t>(call.has_dtype) << 59U |
         static_cast<std::uint64_t>(call.op & 7) << 56U | static_cast<std::uint64_t>(call.dtype) << 48U |
         static_cast<std::uint64_t>(call.root & 0xffff) << 32U | count;
}

inline std::string text_of_call(std::uint64_t code) {
  static constexpr const char* kKinds[] = {"nothing",  "all_reduce", "reduce_scatter", "all_gather", "all_to_all",
                                           "exchange", "broadcast",  "send or recv",   "barrier",    "dup or split"};
  static constexpr const char* kOps[] = {"sum", "max", "min"};
  const auto kind = static_cast<std::size_t>(code >> 60U);
  if (kind >= std::size(kKinds)) return "something unknown";
  std::string text = kKinds[kind];
  const auto count = code & 0xffffffffU;
  const bool counts = kind >= 1 && kind <= 7 && static_cast<CallKind>(kind) != CallKind::exchange;
  if ((code >> 59U & 1U) != 0) {
    text += fmt::format(" of {} {}", count, name_of(static_cast<DType>(code >> 48U & 0xffU)));
    const auto op = static_cast<std::size_t>(code >> 56U & 7U);
    if (op < std::size(kOps)) text += fmt::format(" by {}", kOps[op]);
  } else if (counts) {
    text += fmt::format(" of {} bytes", count);
  }
  if (static_cast<CallKind>(kind) == CallKind::broadcast) text += fmt::format(" from rank {}", code >> 32U & 0xffffU);
  return text;
}

/// "rank 1 calls ..., rank 0 calls ...".
inline std::string text_of_difference(std::int32_t peer, std::uint64_t peers, std::int32_t rank, std::uint64_t own) {
  if (peers == own) return fmt::format("rank {} and rank {} call {} with other sizes", peer, rank, text_of_call(own));
  return fmt::format("rank {} calls {}, rank {} calls {}", peer, text_of_call(peers), rank, text_of_call(own));
}

}  // namespace gradstep
