"""A person's inbox, in front of them alone: its pages, and the permissions in it that they decide about together."""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Callable
from typing import Final

from answerback.core.errors import StoreError
from answerback.core.labels import Labels
from answerback.ports.claims import Fence
from answerback.ports.surface import Actor, Asks, Batch
from answerback_chat.control_codec import BATCH_VERBS, Control
from answerback_chat.inbox_reader import read_inbox
from answerback_discord import inbox_view, limits, parse, private_notes
from answerback_discord.components import Json
from answerback_discord.interaction_responses import (
    InteractionResponse,
    InteractionResponseType,
    note_response,
)
from answerback_discord.markdown_text import escape
from answerback_discord.parse import Interaction

logger = logging.getLogger(__name__)

_TIMEOUT: Final = limits.ANSWER_SECONDS - 0.8
"""Seconds for reading an inbox, so that the response is still in time."""


class Inbox:
    """Responds to the controls of the inbox.

    Args:
        fence: returns the lease under which this process receives interactions, if any.
    """

    def __init__(self, asks: Asks, labels: Labels, fence: Callable[[], Fence | None]) -> None:
        self._asks = asks
        self._labels = labels
        self._fence = fence

    async def respond(self, used: Interaction) -> InteractionResponse:
        """Respond with a page of the inbox, or with the modal in which several permissions are decided."""
        allow, left = BATCH_VERBS.get(used.control.verb), 0
        if allow is not None and used.is_modal_submit:
            left = await self._decide(used, allow=allow)
        try:
            async with asyncio.timeout(_TIMEOUT):
                after, size = used.control.argument, inbox_view.ASKS_PER_PAGE
                asks, others = await read_inbox(
                    self._asks, parse.SURFACE, _actor(used), after or None, size
                )
                if allow is not None and not used.is_modal_submit:
                    modal = inbox_view.batch_modal(
                        asks, _renewed(used.control), self._labels, allow=allow
                    )
                    if modal is not None:
                        response: Json = {"type": int(InteractionResponseType.MODAL), "data": modal}
                        return InteractionResponse(response)
                page = inbox_view.page(asks, self._labels, others, after, left)
                return note_response(page, used)
        except TimeoutError:
            return note_response(private_notes.note(escape(self._labels.inbox_late)), used)
        except StoreError as error:
            extra = {"action": "inbox_unread", "platform": parse.SURFACE}
            logger.warning("An inbox could not be read: %s", error, extra=extra)
            return note_response(private_notes.note(escape(self._labels.unavailable)), used)

    async def _decide(self, used: Interaction, *, allow: bool) -> int:
        """Decide about what was ticked in the modal; returns how many asks are left undecided."""
        boxes = [each for each in used.inputs.values() if isinstance(each, list)]
        ticked = [str(tick) for each in boxes for tick in each]
        batch = Batch(ticked, allow, used.delivery, inbox_view.BATCH.shows_whole)
        return await self._asks.decide_batch(batch, _actor(used), fence=self._fence())


def _actor(used: Interaction) -> Actor:
    """Return the person; their roles in servers other than this one are unknown, and are looked up."""
    return used.actor._replace(groups_known=used.actor.groups, all_groups=False)


def _renewed(control: Control) -> Control:
    """Return the control under an id of its own: clients remember what was ticked in a modal under its id.

    https://github.com/discord/discord-api-docs/issues/7554
    """
    return control._replace(revision=secrets.randbelow(1_000_000_000))
