"""What people do with the controls of a message: parse, act, answer. Every chat platform's interactions go this way.

A control says by itself what is wanted, and then nothing is read first: the service resolves and decides it in one
transaction. What a control shows instead (an input, a page) is shown to those who may act on the ask as they saw it.
The platform contributes what its payloads say and how it is answered; see `Platform`.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from typing import Any, Generic, Protocol, TypeVar

from answerback.core.ask import Ask
from answerback.core.errors import StoreError
from answerback.core.intents import Intent, RequestedAction
from answerback.ports.surface import Acted, Actor, Asks, Rejected
from answerback_chat.control_codec import Control

logger = logging.getLogger(__name__)


class Interaction(Protocol):
    """A control that somebody used, or an input that they handed in."""

    @property
    def control(self) -> Control:
        """What was used."""

    @property
    def actor(self) -> Actor:
        """Who used it."""

    @property
    def wanted(self) -> RequestedAction | None:
        """What they want of the ask, where that is known without the ask."""

    @property
    def is_read_only(self) -> bool:
        """Whether it shows only what everybody may read who sees the message."""

    @property
    def delivery(self) -> str:
        """The platform's id of this use, under which it counts once."""

    @property
    def at(self) -> float | None:
        """When it was used, by the platform's clock."""


U = TypeVar("U", bound=Interaction)
R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)


class Platform(Protocol[U, R_co]):
    """What one platform adds: ``U`` is an interaction of its own, ``R_co`` what it is answered."""

    def parse(self, payload: Mapping[str, Any]) -> U | None:
        """What a payload says; None where it has no control of ours."""

    def lock_for(self, used: U) -> AbstractAsyncContextManager[None]:
        """Held while something is shown: what is to happen one after the other waits here."""

    async def respond_to_unknown(self, payload: Mapping[str, Any]) -> R_co:
        """The answer to what has no control that this version knows."""

    async def respond_to_read_only(self, ask: Ask | None, used: U) -> R_co:
        """The answer that shows what everybody may read; ``ask`` is None where there is none of this id."""

    async def respond_with_view(self, ask: Ask, used: U) -> RequestedAction | R_co:
        """The answer that shows an input or a page; or what is wanted by what was entered in one."""

    async def respond_to_acted(self, acted: Acted, used: U) -> R_co:
        """The answer to what counted, now or with an earlier delivery."""

    async def respond_to_rejected(self, rejected: Rejected, used: U) -> R_co:
        """The answer to what changed nothing: why, and what was entered in vain."""

    async def respond_to_failure(self, error: Exception, used: U | None) -> R_co:
        """The answer where something failed, and nothing is known to be saved; it is logged already."""


class Interactions(Generic[U, R]):
    """Answers interactions.

    Args:
        platform: what is special about this one.
        name: the platform's, for the log.
    """

    def __init__(self, asks: Asks, platform: Platform[U, R], name: str) -> None:
        self._asks = asks
        self._platform = platform
        self._name = name

    async def receive(self, payload: Mapping[str, Any]) -> R:
        """The answer to any payload: what it says is committed when this returns, or refused, and nothing is raised."""
        used: U | None = None
        try:
            used = self._platform.parse(payload)
            if used is None:
                return await self._platform.respond_to_unknown(payload)
            if (wanted := used.wanted) is not None:
                return await self._act(used, wanted)
            if used.is_read_only:
                ask = await self._asks.get(used.control.ask_id)
                return await self._platform.respond_to_read_only(ask, used)
            async with self._platform.lock_for(used):
                return await self._show(used)
        except StoreError as error:
            extra = {"action": "click_unsaved", "ask_id": _ask_id(used), "platform": self._name}
            logger.warning("A click could not be saved: %s", error, extra=extra)
            return await self._platform.respond_to_failure(error, used)
        except Exception as error:
            extra = {"action": "click_failed", "ask_id": _ask_id(used), "platform": self._name}
            logger.exception("A click failed", extra=extra)
            return await self._platform.respond_to_failure(error, used)

    async def _act(self, used: U, wanted: RequestedAction) -> R:
        told = await self._asks.apply(_intent(used, wanted), used.actor)
        if isinstance(told, Rejected):
            return await self._platform.respond_to_rejected(told, used)
        return await self._platform.respond_to_acted(told, used)

    async def _show(self, used: U) -> R:
        told = await self._asks.apply(_intent(used, None), used.actor)
        if isinstance(told, Rejected):
            return await self._platform.respond_to_rejected(told, used)
        if told.repeated:
            return await self._platform.respond_to_acted(told, used)
        found = await self._platform.respond_with_view(told.ask, used)
        return await self._act(used, found) if isinstance(found, RequestedAction) else found


def _intent(used: Interaction, wanted: RequestedAction | None) -> Intent:
    control = used.control
    return Intent(control.ask_id, wanted, control.revision, used.delivery, used.at)


def _ask_id(used: Interaction | None) -> str | None:
    return used.control.ask_id if used else None
