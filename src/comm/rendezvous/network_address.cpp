// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/rendezvous/network_address.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netdb.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <new>

#include "core/error.h"
#include "core/file_descriptor.h"
#include "core/platform/posix/most_descriptors.h"
#include "core/platform/system.h"

namespace gradstep {

namespace {

NetworkAddress copy_of(const sockaddr* address, socklen_t length) {
  NetworkAddress copy;
  std::memcpy(&copy.storage, address, length);
  copy.length = length;
  return copy;
}

/// The IPv4 address of the interface, else a global IPv6 address.
std::optional<NetworkAddress> address_of_interface(const std::string& name) {
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) {
    if (errno == ENOMEM) throw std::bad_alloc();
    return std::nullopt;
  }
  const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> owner(list, &freeifaddrs);
  std::optional<NetworkAddress> found;
  for (const ifaddrs* entry = list; entry != nullptr; entry = entry->ifa_next) {
    if (entry->ifa_addr == nullptr || name != entry->ifa_name) continue;
    if (entry->ifa_addr->sa_family == AF_INET) return copy_of(entry->ifa_addr, sizeof(sockaddr_in));
    if (entry->ifa_addr->sa_family == AF_INET6 && !found) {
      const auto copy = copy_of(entry->ifa_addr, sizeof(sockaddr_in6));
      if (!copy.is_link_local()) found = copy;
    }
  }
  return found;
}

/// What the process or the machine is short of says nothing about an address.
void fail_if_short(const NetworkAddress& address, int error) {
  for (const int shortage : {EMFILE, ENFILE, ENOBUFS, ENOMEM, EADDRINUSE}) {
    if (error != shortage) continue;
    fail(GRADSTEP_ERR_IO, "network_interface: no socket can be bound to {}: {} (the process may have {} descriptors)",
         address.text(), std::strerror(error), most_descriptors());
  }
}

bool can_bind(const NetworkAddress& address) {
  const FileDescriptor probe(::socket(address.family(), SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (probe.valid() && ::bind(probe.get(), address.get(), address.length) == 0) return true;
  fail_if_short(address, errno);
  return false;
}

/// The first address of the name that belongs to this machine; a link-local one only if there is no other.
std::optional<NetworkAddress> address_of_name(const char* name) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* list = nullptr;
  const int failed = getaddrinfo(name, nullptr, &hints, &list);
  if (failed == EAI_MEMORY) throw std::bad_alloc();
  if (failed != 0) return std::nullopt;
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owner(list, &freeaddrinfo);
  std::optional<NetworkAddress> found;
  for (const addrinfo* entry = list; entry != nullptr; entry = entry->ai_next) {
    const auto address = copy_of(entry->ai_addr, entry->ai_addrlen);
    if ((address.is_link_local() && found) || !can_bind(address)) continue;
    found = address;
    if (!address.is_link_local()) break;
  }
  return found;
}

/// From which this machine reaches others: the source of its route to a network that is for documents alone (RFC 5737).
/// Nothing is sent.
std::optional<NetworkAddress> outward_address() {
  constexpr in_addr_t kSomewhere = 0xC0000201;  // 192.0.2.1
  sockaddr_in v4{};
  v4.sin_family = AF_INET;
  v4.sin_addr.s_addr = htonl(kSomewhere);
  v4.sin_port = htons(9);
  const FileDescriptor probe(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  NetworkAddress own;
  own.length = sizeof own.storage;
  if (!probe.valid() || ::connect(probe.get(), reinterpret_cast<const sockaddr*>(&v4), sizeof v4) != 0 ||
      ::getsockname(probe.get(), reinterpret_cast<sockaddr*>(&own.storage), &own.length) != 0 || own.is_loopback()) {
    return std::nullopt;
  }
  return own;
}

}  // namespace

std::uint16_t NetworkAddress::port() const {
  return ntohs(family() == AF_INET6 ? reinterpret_cast<const sockaddr_in6*>(&storage)->sin6_port
                                    : reinterpret_cast<const sockaddr_in*>(&storage)->sin_port);
}

void NetworkAddress::set_port(std::uint16_t port) {
  if (family() == AF_INET6) {
    reinterpret_cast<sockaddr_in6*>(&storage)->sin6_port = htons(port);
  } else {
    reinterpret_cast<sockaddr_in*>(&storage)->sin_port = htons(port);
  }
}

bool NetworkAddress::is_link_local() const {
  if (family() != AF_INET6) return false;
  const auto& v6 = *reinterpret_cast<const sockaddr_in6*>(&storage);
  return IN6_IS_ADDR_LINKLOCAL(&v6.sin6_addr);
}

bool NetworkAddress::is_loopback() const {
  if (family() == AF_INET) {
    return ntohl(reinterpret_cast<const sockaddr_in*>(&storage)->sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
  }
  const auto& v6 = *reinterpret_cast<const sockaddr_in6*>(&storage);
  return family() == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&v6.sin6_addr);
}

NetworkAddress NetworkAddress::unmapped() const {
  const auto& v6 = *reinterpret_cast<const sockaddr_in6*>(&storage);
  if (family() != AF_INET6 || !IN6_IS_ADDR_V4MAPPED(&v6.sin6_addr)) return *this;
  sockaddr_in v4{};
  v4.sin_family = AF_INET;
  v4.sin_port = v6.sin6_port;
  std::memcpy(&v4.sin_addr, v6.sin6_addr.s6_addr + 12, sizeof v4.sin_addr);
  return copy_of(reinterpret_cast<const sockaddr*>(&v4), sizeof v4);
}

std::string NetworkAddress::text() const {
  std::array<char, NI_MAXHOST> name{};
  const int failed =
      getnameinfo(get(), length, name.data(), static_cast<socklen_t>(name.size()), nullptr, 0, NI_NUMERICHOST);
  return failed == 0 ? name.data() : "?";
}

NetworkAddress loopback_address() {
  sockaddr_in v4{};
  v4.sin_family = AF_INET;
  v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return copy_of(reinterpret_cast<const sockaddr*>(&v4), sizeof v4);
}

NetworkAddress own_address(const char* network_interface, const std::optional<NetworkAddress>& reached_from) {
  if (network_interface != nullptr) {
    if (const auto address = address_of_interface(network_interface)) return *address;
    if (const auto address = address_of_name(network_interface)) return *address;
    fail_argument(
        "network_interface: '{}' is neither a network interface with an address nor an address of this machine",
        network_interface);
  }
  const auto named = address_of_name(platform::host_name().c_str());
  const NetworkAddress address = named && !named->is_link_local() ? *named : loopback_address();
  if (!address.is_loopback()) return address;
  NetworkAddress chosen = reached_from ? *reached_from : outward_address().value_or(address);
  if (chosen.is_loopback() || chosen.is_link_local()) return address;
  chosen.set_port(0);
  return chosen;
}

}  // namespace gradstep
