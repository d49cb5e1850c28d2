"""Read a page of the asks that wait for a person, over all agents."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple

from answerback.core.ask import Ask
from answerback.ports.store_values import Page
from answerback.ports.surface import Actor, Asks
from answerback.presentation import wording


class InboxPage(NamedTuple):
    asks: Page[Ask]
    open_to_anyone: Sequence[Ask] = ()
    """The asks that wait for nobody in particular, if none wait for the person."""


async def read_inbox(
    asks: Asks, surface: str, actor: Actor, after: str | None, size: int
) -> InboxPage:
    """Read the page after a cursor.

    The first one, if nothing is left after the cursor, or it is not from an inbox of this database.
    """
    if after is not None:
        with suppress(ValueError):
            page = await asks.list_waiting_for(actor, after, size)
            if not is_empty(page):
                return InboxPage(page)
    page = await asks.list_waiting_for(actor, None, size)
    if not is_empty(page):
        return InboxPage(page)
    return InboxPage(page, await asks.list_open_to_anyone(surface, wording.MAX_OPEN_TO_ANYONE))


def is_empty(page: Page[Ask]) -> bool:
    """Return True if nothing waits for a person."""
    return not page.rows and page.after is None
