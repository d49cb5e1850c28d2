"""The limits of notifications."""

from __future__ import annotations

from typing import Final

PUSH_LINE: Final = 200
"""UTF-16 units of a line of a notification; three of them fit into a message, whatever they are."""
