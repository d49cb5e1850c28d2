"""Handle what people do with a message's controls: parse, act, respond. All chat platforms share this path.

If the control alone determines the action, nothing is read first: the service resolves and decides it in one
transaction. If it shows something instead (an input, a page), it does so for those who may act on the ask as they saw
it. The platform parses its payloads and renders the responses; see `Platform`.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from answerback.core.ask import Ask
from answerback.core.errors import StoreError
from answerback.core.intents import Intent, RequestedAction
from answerback.core.too_late import TryAgain
from answerback.ports.claims import Fence
from answerback.ports.commands import CommandAnswer
from answerback.ports.surface import Acted, Actor, Asks, Rejected
from answerback.presentation.form_spec import Entry
from answerback_chat.control_codec import COMMAND_VERBS, Control

logger = logging.getLogger(__name__)


class Interaction(Protocol):
    """A control that a person used, or an input that they submitted."""

    @property
    def control(self) -> Control:
        """The control that was used."""

    @property
    def actor(self) -> Actor:
        """Who used it."""

    @property
    def wanted(self) -> RequestedAction | None:
        """The action they request, if it is known without reading the ask."""

    @property
    def is_read_only(self) -> bool:
        """True if it only shows what everyone who sees the message may read."""

    @property
    def delivery(self) -> str:
        """The platform's id of this use, by which it counts once."""

    @property
    def at(self) -> float | None:
        """When it was used, by the platform's clock."""

    @property
    def place_id(self) -> str | None:
        """The id of the chat in which it was used, by which asks' messages name it; None if it is not known."""


class MessageInteraction(Interaction, Protocol):
    """The use of a control of a message, or of what a message asked for."""

    @property
    def message(self) -> str:
        """The id of the message."""


def no_fence() -> None:
    """Return the lease of processes that receive interactions without one."""


U = TypeVar("U", bound=Interaction)
R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)


class Platform(Protocol[U, R_co]):
    """The platform-specific part: ``U`` is its type of interaction, ``R_co`` its type of response."""

    def parse(self, payload: Mapping[str, Any]) -> U | None:
        """Parse a payload; None if it has no control of ours."""

    def lock_for(self, used: U) -> AbstractAsyncContextManager[None]:
        """Return a lock to hold while something is shown, so that interactions that need an order run one by one."""

    async def respond_to_unknown(self, payload: Mapping[str, Any]) -> R_co:
        """Respond to a payload without a control that this version knows."""

    async def respond_to_read_only(self, ask: Ask | None, used: U) -> R_co:
        """Show what everyone may read; ``ask`` is None if there is no ask with this id."""

    async def respond_to_command(self, answer: CommandAnswer, used: U) -> R_co:
        """Show the answer to a command to this person alone, with its buttons (`command_control`)."""

    async def respond_with_view(self, ask: Ask, used: U) -> RequestedAction | R_co:
        """Show an input or a page; or return the action that its submitted values request."""

    async def respond_to_acted(self, acted: Acted, used: U) -> R_co:
        """Respond to an action that counted, now or with an earlier delivery."""

    async def respond_to_rejected(self, rejected: Rejected, used: U) -> R_co:
        """Respond to an action that was rejected: say why, and return what was entered in vain."""

    async def respond_to_failure(self, error: Exception, used: U | None) -> R_co:
        """Respond after an error, when nothing is known to be saved; the error is logged already."""


@dataclass(frozen=True, eq=False)
class Interactions(Generic[U, R]):
    """Handles interactions.

    Args:
        platform: the platform-specific part.
        name: the platform's name, for the log.
        fence: returns the lease under which this process receives interactions, if any.
    """

    asks: Asks
    platform: Platform[U, R]
    name: str
    fence: Callable[[], Fence | None] = no_fence

    async def receive(self, payload: Mapping[str, Any]) -> R:
        """Handle any payload: when this returns, its action is committed or rejected. Never raises."""
        used: U | None = None
        try:
            used = self.platform.parse(payload)
            if used is None:
                return await self.platform.respond_to_unknown(payload)
            if (wanted := used.wanted) is not None:
                return await self._act(used, wanted)
            if (pressed := COMMAND_VERBS.get(used.control.verb)) is not None:
                line, person = used.control.command, used.actor.person
                answer = await self.asks.commands.run(person, line, pressed=pressed)
                return await self.platform.respond_to_command(answer, used)
            if used.is_read_only:
                ask = await self.asks.get(used.control.ask_id)
                return await self.platform.respond_to_read_only(ask, used)
            async with self.platform.lock_for(used):
                return await self._show(used)
        except StoreError as error:
            extra = {"action": "click_unsaved", "ask_id": _ask_id(used), "platform": self.name}
            logger.warning("A click could not be saved: %s", error, extra=extra)
            return await self.platform.respond_to_failure(error, used)
        except Exception as error:
            extra = {"action": "click_failed", "ask_id": _ask_id(used), "platform": self.name}
            logger.exception("A click failed", extra=extra)
            return await self.platform.respond_to_failure(error, used)

    def _apply(self, used: U, wanted: RequestedAction | None) -> Awaitable[Acted | Rejected]:
        control = used.control
        intent = Intent(
            control.ask_id, wanted, control.revision, used.delivery, used.at, place=used.place_id
        )
        return self.asks.apply(intent, used.actor, fence=self.fence())

    async def _act(self, used: U, wanted: RequestedAction) -> R:
        result = await self._apply(used, wanted)
        if isinstance(result, Rejected):
            return await self.platform.respond_to_rejected(result, used)
        return await self.platform.respond_to_acted(result, used)

    async def _show(self, used: U) -> R:
        ended = used.control.entry is Entry.TRY_AGAIN
        result = await self._apply(used, TryAgain(is_draft=True) if ended else None)
        if isinstance(result, Rejected):
            return await self.platform.respond_to_rejected(result, used)
        if result.repeated:
            return await self.platform.respond_to_acted(result, used)
        response = await self.platform.respond_with_view(result.ask, used)
        if isinstance(response, RequestedAction):
            return await self._act(used, response)
        return response


def _ask_id(used: Interaction | None) -> str | None:
    return used.control.ask_id if used else None
