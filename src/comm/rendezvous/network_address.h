// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Which of this machine's addresses to serve on.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdint>
#include <optional>
#include <string>

namespace gradstep {

struct NetworkAddress {
  sockaddr_storage storage{};
  socklen_t length = 0;

  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
  int family() const { return storage.ss_family; }
  std::uint16_t port() const;
  void set_port(std::uint16_t port);
  /// Whether it means something only together with a network interface of this machine.
  bool is_link_local() const;
  /// Whether it leads to the machine itself, on every machine.
  bool is_loopback() const;
  /// An IPv4 address in IPv6's form, as sockets of both have it, as IPv4; else itself.
  NetworkAddress unmapped() const;
  /// Numeric, without the port.
  std::string text() const;
};

/// 127.0.0.1.
NetworkAddress loopback_address();

/// `network_interface` is the name of a network interface, or a host name or address of this machine; NULL = the
/// address of the host's name if it is one of this machine and not link-local. If that is a loopback address, as
/// Debian's /etc/hosts has it, other machines cannot reach it: then it is `reached_from`, the address from which the
/// store is reached, or that of the route to other machines where the store does not say one. It is a loopback address
/// only where the store, too, is at one, or this machine has no other. Throws INVALID_ARGUMENT.
NetworkAddress own_address(const char* network_interface,
                           const std::optional<NetworkAddress>& reached_from = std::nullopt);

}  // namespace gradstep
