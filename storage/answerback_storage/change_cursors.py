"""Cursors over the changes of asks: the line of the record that an export has reached. Runs no statement."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence

from answerback.ports.store_values import ChangedAsks
from answerback_storage import rows


def change_cursor(transaction: int, seq: int) -> str:
    """Return the opaque cursor behind a line of the record, which a transaction wrote."""
    return rows.cursor(f"changes:{transaction}", seq)


def parse_change_cursor(text: str) -> tuple[int, int]:
    """Return the transaction and the line that a cursor points to; of an empty one, a position before every line.

    Raises:
        ValueError: it is no such cursor.
    """
    if not text:
        return -1, 0
    try:
        padded = text + "=" * (-len(text) % 4)
        kind, transaction, seq = base64.urlsafe_b64decode(padded).decode().split(":")
        found = int(transaction), int(seq)
    except (ValueError, binascii.Error):
        raise ValueError(unknown_cursor(text)) from None
    within = 0 <= found[0] < 2**63 and 0 < found[1] < 2**63
    if kind != "changes" or not within or change_cursor(*found) != text:
        raise ValueError(unknown_cursor(text))
    return found


def changed_asks(lines: Sequence[tuple[int, int, str]], after: str, limit: int) -> ChangedAsks:
    """Build what `Record.list_changed` returns.

    Args:
        lines: the transaction, the number and the ask of each line after the cursor, up to ``limit``.
    """
    ids = tuple(dict.fromkeys(ask_id for _, _, ask_id in lines))
    return ChangedAsks(ids, change_cursor(*lines[-1][:2]) if lines else after, len(lines) < limit)


def unknown_cursor(text: str) -> str:
    """Say that a database has not issued a cursor."""
    return f"There is nothing behind {text!r}: pass the cursor that an export returned, or none to begin anew."
