"""Ports for servers whose address must be known before they start, or stay the same while they are down."""

from __future__ import annotations

import atexit
import secrets
import socket
from typing import Final

_FIRST: Final = 10_000
_LAST: Final = 32_767
"""Above it are the ports that Linux gives to whoever asks for any, so a port there may be taken at any moment."""


def free_port() -> int:
    """Return a port that nobody listens on, and that no other test gets while this process runs."""
    while True:
        port = _FIRST + secrets.randbelow(_LAST - _FIRST + 1)
        # TCP and UDP have separate ports: to have the one reserves the other.
        reservation = socket.socket(type=socket.SOCK_DGRAM)
        try:
            reservation.bind(("127.0.0.1", port))
            socket.create_server(("127.0.0.1", port)).close()
        except OSError:
            reservation.close()
        else:
            atexit.register(reservation.close)  # until then, it is held
            return port
