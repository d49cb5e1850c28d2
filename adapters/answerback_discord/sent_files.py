"""Read the files that people send on Discord, with what they write and in modals.

A modal with files is stored and acknowledged before they are read, which takes longer than Discord waits for a
response. What follows is a note that only the person sees, or nothing if the message shows what was answered.
https://docs.discord.com/developers/interactions/receiving-and-responding
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final
from urllib.parse import urlsplit
from weakref import WeakValueDictionary

from answerback.core.ask import Ask
from answerback.core.errors import StoreError
from answerback.core.intents import Intent
from answerback.ports.claims import Fence
from answerback.ports.surface import Acted, Asks, Rejected
from answerback_chat.control_codec import object_of
from answerback_chat.interactions import Interactions
from answerback_chat.pending_deliveries import PendingDeliveries
from answerback_chat.sent_files import FileTaker, SentFile
from answerback_discord import limits, parse
from answerback_discord.api_client import API_URL, DiscordApi
from answerback_discord.components import Json
from answerback_discord.interaction_responses import (
    InteractionResponse,
    InteractionResponseType,
)
from answerback_discord.interactions import InteractionHandler
from answerback_discord.parse import SURFACE, Attachment, Interaction

logger = logging.getLogger(__name__)

ACKNOWLEDGEMENT: Final = InteractionResponse(
    {"type": int(InteractionResponseType.DEFERRED_MESSAGE), "data": {"flags": limits.EPHEMERAL}}
)
"""Only the person sees that their modal is being handled."""


def readable(calls: DiscordApi, attachments: Sequence[Attachment]) -> tuple[SentFile, ...]:
    """Return these files as they are taken in. Nothing but their address is sent to where they are."""
    is_own = partial(is_discords, api_url=calls.url)
    return tuple(
        SentFile(each.name, each.bytes, partial(calls.read_attachment, each.url, is_own))
        for each in attachments
    )


def is_discords(url: str, api_url: str) -> bool:
    """Return True if an attachment may be read from an address: Discord's own, or that of the API if it is set.

    https://docs.discord.com/developers/reference#signed-attachment-cdn-urls
    """
    try:
        parts, api = urlsplit(url), urlsplit(api_url)
        port = parts.port
    except ValueError:
        return False
    if "@" in parts.netloc:
        return False
    if parts.scheme == "https" and parts.hostname in limits.CDN_HOSTS and port in {None, 443}:
        return True
    own = (api.scheme, api.hostname, api.port)
    return api_url != API_URL and (parts.scheme, parts.hostname, port) == own


def _modal_in(payload: Mapping[str, Any]) -> Interaction | None:
    modal = payload["modal"]
    return modal if isinstance(modal, Interaction) else None


@dataclass(eq=False)
class ModalsWithFiles:
    """Handles modals that come with files. One that is acknowledged is decided, although its process dies.

    Args:
        show_again: brings the message of an ask up to date, of which a person has seen an older state.
    """

    asks: Asks
    calls: DiscordApi
    taker: FileTaker
    pending: PendingDeliveries
    handler: InteractionHandler
    fence: Callable[[], Fence | None]
    show_again: Callable[[Ask], Awaitable[None]]

    def __post_init__(self) -> None:
        parsed = replace(self.handler)
        parsed.parse = _modal_in
        self._interactions = Interactions(self.asks, parsed, SURFACE, self.fence)
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        """Those of modals, by their ids: one that arrives twice is read once."""

    async def keep(self, body: Json) -> InteractionResponse | None:
        """Store a modal that comes with files, and return its acknowledgement, after which it is to be handled.

        Returns None for all other interactions, and another response if the modal cannot be stored.
        """
        modal = parse.parse_interaction(body) if parse.uploads_of(body) else None
        if modal is None:
            return None
        try:
            await self.pending.change(_key(modal), lambda _: body)
        except StoreError as error:
            return await self._respond_unsaved(error, modal)
        return ACKNOWLEDGEMENT

    async def handle(self, body: Json, *, tell: bool = True) -> None:
        """Handle a modal that was stored and acknowledged.

        Args:
            tell: False if the acknowledgement was refused, so that nobody would see a note.
        """
        if (modal := parse.parse_interaction(body)) is not None:
            work = partial(self._handle, modal, body, tell=tell)
            await self.pending.decide(_key(modal), work)

    async def _handle(self, modal: Interaction, body: Json, *, tell: bool) -> None:
        async with self._locks.setdefault(modal.delivery, asyncio.Lock()):
            reply = await self._respond(modal)
        if reply.outdated is not None:
            await self.show_again(reply.outdated)
        if tell:
            await self._tell(body, reply)

    async def _respond(self, modal: Interaction) -> InteractionResponse:
        """Act. Nothing is read for people who may not, nor for a modal that has counted."""
        control, actor = modal.control, modal.actor
        id, at, place = modal.delivery, modal.at, modal.place_id
        intent = Intent(control.ask_id, None, control.revision, id, at, place=place)
        try:
            sent = readable(self.calls, modal.attachments)
            files = await self.taker.check_and_take(self.asks, intent, actor, sent, self.fence)
            if isinstance(files, Rejected):
                return await self.handler.respond_to_rejected(files, modal)
            if isinstance(files, Acted):
                return await self.handler.respond_to_acted(files, modal)
            try:
                return await self._interactions.receive({"modal": modal._replace(files=files)})
            finally:
                await self.taker.drop(files)
        except StoreError as error:
            return await self._respond_unsaved(error, modal)

    async def _respond_unsaved(self, error: StoreError, modal: Interaction) -> InteractionResponse:
        extra = {"action": "modal_unsaved", "ask_id": modal.control.ask_id}
        logger.warning("A modal with files could not be saved: %s", error, extra=extra)
        return await self.handler.respond_to_failure(error, modal)

    async def _tell(self, body: Json, reply: InteractionResponse) -> None:
        message = reply.note
        if message is None and reply.shown is None:
            message = reply.instead or object_of(reply.callback.get("data"))
        if message is None:
            await self.calls.delete_response(body)
        else:
            await self.calls.send_followup(body, message)


def _key(modal: Interaction) -> str:
    return f"{modal.control.ask_id}:{modal.id}"
