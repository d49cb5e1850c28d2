"""What a change stores in the outbox for the people who can have themselves notified. Pure.

Whom an ask waits for is worked out when the row is sent: until then, the ask may have been answered or seen.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping
from typing import Final

from answerback.core.ask import Ask
from answerback.ports.push import SupportsPush
from answerback.ports.store_values import Delivery
from answerback.ports.surface import Surface

WAITS: Final = "push.waits"
"""An ask has begun to wait for people."""
OVER: Final = "push.over"
"""An ask no longer waits for people."""


def push_rows(
    surfaces: Mapping[str, Surface], before: Ask | None, after: Ask, at: float
) -> tuple[Delivery, ...]:
    """Return the rows for those for whom the ask begins to wait, or no longer waits, with a change."""
    was = frozenset[tuple[bool, str]]() if before is None else _waiting(surfaces, before)
    now = _waiting(surfaces, after)
    started, ended = sorted(name for _, name in now - was), was - now
    rows = []
    if started:
        rows.append(_row(WAITS, after, started, at + after.request.push_after))
    if ended:
        rows.append(_row(OVER, after, [], at))
    return tuple(rows)


def _waiting(surfaces: Mapping[str, Surface], ask: Ask) -> frozenset[tuple[bool, str]]:
    """Return the responders for whom an ask waits where they can be notified, and whether to confirm."""
    surface: object = surfaces.get(ask.destination.surface)
    if not isinstance(surface, SupportsPush) or not surface.pushes:
        return frozenset()
    if not ask.open or ask.inquiring:
        return frozenset()
    return frozenset((ask.confirming, name) for name in ask.waits_for)


def _row(kind: str, ask: Ask, names: list[str], at: float) -> Delivery:
    row_id = f"psh_{secrets.token_hex(12)}"
    # Rows of one ask are sent in turn; a push must hold up neither the ask's webhooks nor other pushes.
    return Delivery(
        id=row_id,
        ask_id=row_id,
        type=kind,
        url="",
        agent=f"@{ask.id}",
        body=json.dumps({"ask": ask.id, "names": names}),
        created_at=at,
    )
