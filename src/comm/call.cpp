// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// A code has, from the highest bit on: the kind (4 bits), whether there is a dtype (1), the operation (3), the dtype
// (8), the root (16), and the count of elements or bytes (32).
#include "comm/call.h"

#include <fmt/core.h>

#include <iterator>

namespace gradstep {

namespace {

constexpr const char* kNames[] = {"nothing",      "all_reduce", "reduce_scatter", "reduce_scatter", "all_gather",
                                  "all_gather",   "all_to_all", "exchange",       "broadcast",      "send or recv",
                                  "send or recv", "barrier",    "dup or split"};
constexpr const char* kOps[] = {"sum", "max", "min"};

/// The two sides of a message say the same.
CallKind said_kind(CallKind kind) { return kind == CallKind::recv ? CallKind::send : kind; }

std::int64_t said_count(const Call& call) {
  switch (call.kind) {
    case CallKind::all_reduce:
    case CallKind::reduce_scatter:
    case CallKind::reduce_scatter_v:
      return call.data.size;
    case CallKind::all_gather_v:
    case CallKind::all_to_all:
      return total_of(call.counts);
    default:
      return call.bytes;
  }
}

}  // namespace

const char* name_of(CallKind kind) {
  if (kind == CallKind::send) return "send";
  return kind == CallKind::recv ? "recv" : kNames[static_cast<std::size_t>(kind)];
}

std::int64_t bytes_of(const Call& call) {
  if (is_reduction(call.kind)) return call.data.bytes();
  return call.kind == CallKind::exchange ? total_of(call.counts) : said_count(call);
}

std::uint64_t code_of(const Call& call) {
  const bool reduces = is_reduction(call.kind);
  const auto count = static_cast<std::uint64_t>(std::clamp<std::int64_t>(said_count(call), 0, 0xffffffff));
  std::uint64_t code = static_cast<std::uint64_t>(said_kind(call.kind)) << 60U | count;
  if (reduces) {
    code |= std::uint64_t{1} << 59U | static_cast<std::uint64_t>(call.op & 7) << 56U |
            static_cast<std::uint64_t>(call.data.dtype) << 48U;
  }
  if (call.kind == CallKind::broadcast) code |= static_cast<std::uint64_t>(call.root & 0xffff) << 32U;
  return code;
}

std::string text_of_call(std::uint64_t code) {
  const auto index = static_cast<std::size_t>(code >> 60U);
  if (index >= std::size(kNames)) return "something unknown";
  const auto kind = static_cast<CallKind>(index);
  std::string text = kNames[index];
  const auto count = code & 0xffffffffU;
  const bool has_count = kind != CallKind::none && kind != CallKind::exchange && kind < CallKind::barrier;
  if (is_reduction(kind)) {
    text += fmt::format(" of {} {}", count, name_of(static_cast<DType>(code >> 48U & 0xffU)));
    const auto op = static_cast<std::size_t>(code >> 56U & 7U);
    if (op < std::size(kOps)) text += fmt::format(" by {}", kOps[op]);
  } else if (has_count) {
    text += fmt::format(" of {} bytes", count);
  }
  if (kind == CallKind::broadcast) text += fmt::format(" from rank {}", code >> 32U & 0xffffU);
  return text;
}

std::string text_of_difference(std::int32_t peer, std::uint64_t peers, std::int32_t rank, std::uint64_t own) {
  if (peers == own) return fmt::format("rank {} and rank {} call {} with other sizes", peer, rank, text_of_call(own));
  return fmt::format("rank {} calls {}, rank {} calls {}", peer, text_of_call(peers), rank, text_of_call(own));
}

}  // namespace gradstep
