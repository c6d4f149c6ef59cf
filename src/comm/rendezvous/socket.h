// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Connections, over TCP or a local socket, whose every wait keeps a deadline.
#pragma once

#include <cstddef>

#include "comm/rendezvous/network_address.h"
#include "core/deadline.h"
#include "core/file_descriptor.h"

namespace gradstep {

/// A non-blocking listener on `address`, whose port is filled in. Throws IO.
FileDescriptor listen_on(NetworkAddress& address);

/// A non-blocking listener on the address's own port, or a local socket's name. Throws IO.
FileDescriptor listen_at(const NetworkAddress& address);

/// A non-blocking connection. Throws TIMEOUT or IO.
FileDescriptor connect_to(const NetworkAddress& address, const Deadline& deadline);

/// The address of this end.
NetworkAddress local_address(const FileDescriptor& socket);

/// Whether the process at the other end of a local socket is this user's; true over TCP, which does not say it.
bool is_of_this_user(const FileDescriptor& socket);

/// At least one byte, at most so many; 0 = none could be sent, or came, until the deadline. Throws IO.
std::size_t send_some(const FileDescriptor& socket, const void* data, std::size_t bytes, const Deadline& deadline);
std::size_t recv_some(const FileDescriptor& socket, void* data, std::size_t bytes, const Deadline& deadline);

/// All of the bytes. Throws TIMEOUT, or IO if the connection breaks.
void send_all(const FileDescriptor& socket, const void* data, std::size_t bytes, const Deadline& deadline);
void recv_all(const FileDescriptor& socket, void* data, std::size_t bytes, const Deadline& deadline);

}  // namespace gradstep
