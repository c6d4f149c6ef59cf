// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// What the server and the clients of the built-in store agree on: the bytes of the id, and the messages.
//
//   hello     token[16] rank world_size
//   request   operation key_length value_length timeout_ms, then the key and the value (of a set)
//   reply     found (1 or 0) value_length, then the value (of a get)
//
// Numbers are 32-bit, big-endian. A connection that breaks the rules, or has another token, is closed without a reply.
#pragma once

#include <arpa/inet.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include "comm/rendezvous/network_address.h"

namespace gradstep::tcp_store {

using Token = std::array<std::byte, 16>;

inline constexpr std::size_t kMaxKeyLength = 1024;
inline constexpr std::size_t kMaxValueLength = std::size_t{1} << 24;

enum class Operation : std::uint32_t { set = 1, get = 2 };

struct Hello {
  Token token;
  std::uint32_t rank;
  std::uint32_t world_size;
};

struct Request {
  std::uint32_t operation;
  std::uint32_t key_length;
  std::uint32_t value_length;
  std::uint32_t timeout_ms;
};

struct Reply {
  std::uint32_t found;
  std::uint32_t value_length;
};

/// Where a store is served, and the secret that it asks for.
struct Id {
  NetworkAddress address;
  Token token{};
};

inline constexpr std::size_t kIdLength = 40;

std::array<std::byte, kIdLength> encode(const Id& id);
/// Throws INVALID_ARGUMENT for bytes that are no id.
Id decode(const void* bytes, std::size_t length);

}  // namespace gradstep::tcp_store
