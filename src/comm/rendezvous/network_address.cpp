// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/rendezvous/network_address.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netdb.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <memory>
#include <optional>

#include "core/error.h"
#include "core/file_descriptor.h"

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
  if (getifaddrs(&list) != 0) return std::nullopt;
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

bool can_bind(const NetworkAddress& address) {
  const FileDescriptor probe(::socket(address.family(), SOCK_STREAM | SOCK_CLOEXEC, 0));
  return probe.valid() && ::bind(probe.get(), address.get(), address.length) == 0;
}

/// The first address of the name that belongs to this machine; a link-local one only if there is no other.
std::optional<NetworkAddress> address_of_name(const char* name) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* list = nullptr;
  if (getaddrinfo(name, nullptr, &hints, &list) != 0) return std::nullopt;
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

NetworkAddress loopback() {
  sockaddr_in v4{};
  v4.sin_family = AF_INET;
  v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return copy_of(reinterpret_cast<const sockaddr*>(&v4), sizeof v4);
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

std::string NetworkAddress::text() const {
  std::array<char, NI_MAXHOST> name{};
  const int failed =
      getnameinfo(get(), length, name.data(), static_cast<socklen_t>(name.size()), nullptr, 0, NI_NUMERICHOST);
  return failed == 0 ? name.data() : "?";
}

NetworkAddress own_address(const char* network_interface) {
  if (network_interface != nullptr) {
    if (const auto address = address_of_interface(network_interface)) return *address;
    if (const auto address = address_of_name(network_interface)) return *address;
    fail_argument(
        "network_interface: '{}' is neither a network interface with an address nor an address of this machine",
        network_interface);
  }
  std::array<char, 256> name{};
  if (gethostname(name.data(), name.size() - 1) == 0) {
    const auto address = address_of_name(name.data());
    if (address && !address->is_link_local()) return *address;
  }
  return loopback();
}

}  // namespace gradstep
