# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""How rank 0 hands a rendezvous id to the ranks that a launcher has started, over one socket that all can name.

On one machine it is a socket in Linux's abstract namespace, which leaves nothing behind and answers the same user only.
Between machines it is TCP, and every peer that reaches the port gets it, as with torch.distributed's stores.

    request   magic[8] number rank          number: how many ids this process has asked for before
    reply     the id's bytes; nothing where the number is another one: ask again

Numbers are 32-bit, big-endian.
"""

import contextlib
import os
import socket
import socketserver
import struct
import threading
import time
from collections.abc import Callable
from typing import Any

from gradstep.errors import InputOutputError, Timeout

Place = str | tuple[str, int]
"""The name of an abstract socket, or a host and a port."""

_MAGIC = b"gradstep"
_REQUEST = struct.Struct("!8sII")
_MAX_ID = 4096
_STRANGER_SECONDS = 2.0
"""How long a connection may take to say what it wants."""
_RETRY_SECONDS = 0.05
_BACKLOG = 1024


def serve(id: bytes, place: Place, number: int, world_size: int, timeout: float) -> None:
    """Rank 0's part: returns when all others have the id.

    Raises InputOutputError if it cannot listen there, and Timeout that names the ranks that did not come.
    """
    lacking = set(range(1, world_size))
    changed = threading.Condition()

    class Handler(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            connection: socket.socket = self.request
            connection.settimeout(_STRANGER_SECONDS)
            with contextlib.suppress(OSError, struct.error):  # a stranger, or one that gave up
                if isinstance(place, str) and _peer_user(connection) != os.getuid():
                    return
                magic, asked, rank = _REQUEST.unpack(_receive(connection, _REQUEST.size))
                if magic != _MAGIC or asked != number:
                    return
                connection.sendall(id)
                with changed:
                    lacking.discard(rank)
                    changed.notify()

    try:
        listening = _server(place, Handler)
    except OSError as error:
        hint = "" if isinstance(place, str) else "; GRADSTEP_PORT names another port"
        raise InputOutputError(f"connect: rank 0 cannot listen at {_name(place)}: {error}{hint}") from error
    with listening as server:
        threading.Thread(target=server.serve_forever, args=(_RETRY_SECONDS,), daemon=True).start()
        try:
            with changed:
                complete = changed.wait_for(lambda: not lacking, timeout)
        finally:
            server.shutdown()
    if not complete:
        raise Timeout(
            f"connect: ranks {sorted(lacking)} of {world_size} did not come to {_name(place)} in {timeout:g} s"
        )


def fetch(place: Place, number: int, rank: int, timeout: float) -> bytes:
    """What rank 0 serves. Raises Timeout."""
    deadline = time.monotonic() + timeout
    failure: object = "it was busy with another call"
    while (left := deadline - time.monotonic()) > 0:
        try:
            with _connect(place, min(left, _STRANGER_SECONDS)) as connection:
                if not isinstance(place, str) or _peer_user(connection) == os.getuid():
                    connection.sendall(_REQUEST.pack(_MAGIC, number, rank))
                    if id := _receive(connection, _MAX_ID):
                        return id
        except OSError as error:
            failure = error
        time.sleep(_RETRY_SECONDS)
    raise Timeout(f"connect: rank 0 did not answer rank {rank} at {_name(place)} in {timeout:g} s: {failure}")


def _server(place: Place, handler: Callable[..., socketserver.BaseRequestHandler]) -> Any:
    if isinstance(place, str):

        class Local(socketserver.ThreadingUnixStreamServer):
            daemon_threads, block_on_close, request_queue_size = True, False, _BACKLOG

        return Local("\0gradstep-" + place, handler)

    host, port = place
    family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    # The name may be one that others know this machine by: beyond loopback all interfaces are served.
    loopback = str(address[0]) in ("127.0.0.1", "::1")

    class Remote(socketserver.ThreadingTCPServer):
        address_family, allow_reuse_address = family, True
        daemon_threads, block_on_close, request_queue_size = True, False, _BACKLOG

    return Remote((str(address[0]) if loopback else "", port), handler)


def _connect(place: Place, timeout: float) -> socket.socket:
    if not isinstance(place, str):
        return socket.create_connection(place, timeout)
    connection = socket.socket(socket.AF_UNIX)
    connection.settimeout(timeout)
    try:
        connection.connect("\0gradstep-" + place)
    except OSError:
        connection.close()
        raise
    return connection


def _receive(connection: socket.socket, size: int) -> bytes:
    """Up to `size` bytes; fewer where the other side has closed."""
    received = b""
    while len(received) < size and (more := connection.recv(size - len(received))):
        received += more
    return received


def _peer_user(connection: socket.socket) -> int:
    """The user of the process at the other end of a local socket."""
    _, user, _ = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
    return int(user)


def _name(place: Place) -> str:
    return "this machine's local socket" if isinstance(place, str) else f"{place[0]}:{place[1]}"
