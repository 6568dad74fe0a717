"""Stop listening without resetting a connection.

The kernel completes the handshake of a connection before a process accepts it. When the last process closes the
listening socket, the kernel resets the connections that it has completed and none has accepted, and their requests with
them. So the first step of a stop is a filter at the socket that drops requests for new connections; the handshakes that
have begun are completed and accepted; then nothing is left to reset. Some kernels refuse the filter to a process without
CAP_NET_ADMIN. A stop goes on without it then, and may reset a connection. Decision 0128.
"""

import ctypes
import socket
import struct
import sys
from functools import partial
from typing import Any

HANDSHAKES_WITHIN = 0.2  # seconds for handshakes that have begun: the proxy is in the same network

_SO_ATTACH_FILTER = 26  # asm-generic/socket.h
_FLAGS = 13  # the offset of the flags in a TCP header
_SYN = 0x02
_WHOLE = 0xFFFFFFFF
# Instructions of a classic BPF program (linux/filter.h): code, jump if true, jump if false, operand.
_DROP_SYN = (
    (0x30, 0, 0, _FLAGS),  # load the byte
    (0x45, 0, 1, _SYN),  # if it has this bit, go on, otherwise skip one
    (0x06, 0, 0, 0),  # keep nothing of the packet
    (0x06, 0, 0, _WHOLE),  # keep all of it
)


def drop_new_connections_at_stop(server: Any) -> None:
    """Make gunicorn's master do this first when it is stopped: called by its hook `when_ready`."""
    server.stop = partial(_stop, server, server.stop)


def _stop(server: Any, stop: Any, *arguments: Any, **options: Any) -> None:
    if not _others_listen(server):
        _drop_new_connections_if_allowed(server)
    stop(*arguments, **options)


def _drop_new_connections_if_allowed(server: Any) -> None:
    try:
        for listener in server.LISTENERS:
            drop_new_connections(listener.sock)
    except OSError as refusal:
        server.log.warning("Connections that begin during this stop may be reset: no filter (%s)", refusal)


def _others_listen(server: Any) -> bool:
    """Whether systemd or another master keeps the socket open: gunicorn's own condition for removing a socket's file."""
    return bool(server.systemd or server.reexec_pid or server.master_pid)


def drop_new_connections(listening: socket.socket) -> None:
    """Ignore requests for new connections, for all processes that share the socket.

    The client repeats its request after a second and is refused then, if the socket is closed.
    Linux only. Elsewhere, a stop may reset a connection.

    Raises:
        OSError: The kernel refuses the filter.

    """
    if sys.platform != "linux" or listening.family not in (socket.AF_INET, socket.AF_INET6):
        return
    program = ctypes.create_string_buffer(b"".join(struct.pack("=HBBI", *one) for one in _DROP_SYN))
    # struct sock_fprog: the number of instructions, and their address
    listening.setsockopt(
        socket.SOL_SOCKET, _SO_ATTACH_FILTER, struct.pack("@HP", len(_DROP_SYN), ctypes.addressof(program))
    )
