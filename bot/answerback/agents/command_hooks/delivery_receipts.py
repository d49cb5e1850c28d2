"""What a response told counts as told only when it was passed on to the agent.

The service takes back what it told where the connection of the response is reset: a client that was killed had not read
it. So each connection here is set to end with a reset, also where the kernel ends it for a process that was killed, and
ends in order only when its response was passed on, or told nothing new.
"""

from __future__ import annotations

import os
import socket
import struct

_RESET = struct.pack("ii", 1, 0)
_IN_ORDER = struct.pack("ii", 0, 0)


class DeliveryReceipt:
    """The connection of the last response, until what it told is passed on. For one thread."""

    def __init__(self) -> None:
        self._held: socket.socket | None = None

    def hold_connection(self, connected: socket.socket) -> None:
        """Holds a new connection; what came on the one before was read, and told nothing new."""
        self.confirm()
        # Beside the client's own, which it closes when it has read the response.
        self._held = socket.socket(fileno=os.dup(connected.fileno()))
        self._linger(_RESET)

    def confirm(self) -> None:
        """What the response told is the agent's now."""
        if self._held is not None:
            self._linger(_IN_ORDER)
            self._held.close()
            self._held = None

    def abandon(self) -> None:
        """What the response told could not be passed on: the service tells it again."""
        if self._held is not None:
            self._held.close()
            self._held = None

    def _linger(self, how: bytes) -> None:
        assert self._held is not None
        self._held.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, how)
