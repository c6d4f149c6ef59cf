// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/rendezvous/tcp_store.h"

#include "core/error.h"

namespace gradstep::tcp_store {

namespace {

// "GSI1", address family (4 or 6), 0, port, address (IPv4 uses the first 4 bytes), token.
constexpr std::array<char, 4> kMagic = {'G', 'S', 'I', '1'};
constexpr std::size_t kFamilyAt = 4;
constexpr std::size_t kPortAt = 6;
constexpr std::size_t kAddressAt = 8;
constexpr std::size_t kTokenAt = 24;

}  // namespace

std::array<std::byte, kIdLength> encode(const Id& id) {
  std::array<std::byte, kIdLength> bytes{};
  std::memcpy(bytes.data(), kMagic.data(), kMagic.size());
  const std::uint16_t port = htons(id.address.port());
  std::memcpy(&bytes[kPortAt], &port, sizeof port);
  if (id.address.family() == AF_INET6) {
    bytes[kFamilyAt] = std::byte{6};
    std::memcpy(&bytes[kAddressAt], &reinterpret_cast<const sockaddr_in6*>(&id.address.storage)->sin6_addr, 16);
  } else {
    bytes[kFamilyAt] = std::byte{4};
    std::memcpy(&bytes[kAddressAt], &reinterpret_cast<const sockaddr_in*>(&id.address.storage)->sin_addr, 4);
  }
  std::memcpy(&bytes[kTokenAt], id.token.data(), id.token.size());
  return bytes;
}

Id decode(const void* data, std::size_t length) {
  if (length != kIdLength) fail_argument("options.id_len: is {}, expected {}", length, kIdLength);
  std::array<std::byte, kIdLength> bytes{};
  std::memcpy(bytes.data(), data, length);
  const auto family = std::to_integer<int>(bytes[kFamilyAt]);
  if (std::memcmp(bytes.data(), kMagic.data(), kMagic.size()) != 0 || (family != 4 && family != 6)) {
    fail_argument("options.id: these are not the bytes of gradstep_comm_unique_id");
  }
  Id id;
  if (family == 6) {
    auto& v6 = *reinterpret_cast<sockaddr_in6*>(&id.address.storage);
    v6.sin6_family = AF_INET6;
    std::memcpy(&v6.sin6_addr, &bytes[kAddressAt], 16);
    id.address.length = sizeof v6;
  } else {
    auto& v4 = *reinterpret_cast<sockaddr_in*>(&id.address.storage);
    v4.sin_family = AF_INET;
    std::memcpy(&v4.sin_addr, &bytes[kAddressAt], 4);
    id.address.length = sizeof v4;
  }
  std::uint16_t port = 0;
  std::memcpy(&port, &bytes[kPortAt], sizeof port);
  id.address.set_port(ntohs(port));
  std::memcpy(id.token.data(), &bytes[kTokenAt], id.token.size());
  return id;
}

}  // namespace gradstep::tcp_store
