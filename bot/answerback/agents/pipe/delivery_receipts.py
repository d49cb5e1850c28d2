"""Receipts for late answers: a response counts as delivered only once it has been passed on to the agent.

If the connection of a response is reset, the service counts its answers as undelivered, as a client that was killed had
not read them. So each connection here is set to end with a reset, even if the kernel closes it for a killed process. It
ends gracefully only if its response was passed on, or delivered nothing new.
"""

from __future__ import annotations

import os
import socket
import struct

_RESET = struct.pack("ii", 1, 0)
_GRACEFUL = struct.pack("ii", 0, 0)


class DeliveryReceipt:
    """Holds the connection of the last response until that is passed on. For use by one thread."""

    def __init__(self) -> None:
        self._connection: socket.socket | None = None

    def hold_connection(self, connected: socket.socket) -> None:
        """Hold a new connection; the response on the previous one was read, and delivered nothing new."""
        self.confirm()
        # A duplicate, as the client closes its own socket once it has read the response.
        self._connection = socket.socket(fileno=os.dup(connected.fileno()))
        self._linger(_RESET)

    def confirm(self) -> None:
        """Confirm that the response was passed on to the agent."""
        if self._connection is not None:
            self._linger(_GRACEFUL)
            self._connection.close()
            self._connection = None

    def abandon(self) -> None:
        """Report that the response could not be passed on, so that the service delivers it again."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _linger(self, option: bytes) -> None:
        assert self._connection is not None
        self._connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, option)
