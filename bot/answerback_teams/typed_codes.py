"""Short codes that a person reads in one place and types in another: of sign-ins, and of links between accounts."""

from __future__ import annotations

import asyncio
import logging
import re
import secrets
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import Enum, auto
from typing import Final, TypeVar
from weakref import WeakValueDictionary

from pydantic import JsonValue

from answerback.http.request_rates import RequestRates
from answerback.ports.clock import Clock
from answerback.ports.store import Drafts

Found = TypeVar("Found")
logger = logging.getLogger(__name__)

CODE_LETTERS: Final = "BCDFGHJKLMNPQRSTVWXZ"
"""Consonants, so that codes form no words, and none that is easily mistaken for another (RFC 8628, section 6.1)."""
_LENGTH: Final = 8
_MAX_TYPED: Final = 100
"""Characters that are looked at of what a person types."""


def random_letters(count: int) -> str:
    """Return letters that nobody can guess."""
    return "".join(secrets.choice(CODE_LETTERS) for _ in range(count))


def new_code() -> str:
    """Return a new code as people read it, such as ``BCDF-GHJK``."""
    return read_code(random_letters(_LENGTH))


def read_code(typed: str) -> str:
    """Return a code as a person types it, in any case and with any spaces and dashes, as it was shown."""
    letters = re.sub("[^A-Z]", "", typed[:_MAX_TYPED].upper())
    return f"{letters[: _LENGTH // 2]}-{letters[_LENGTH // 2 :]}"


class WrongCode(Enum):
    """Why a code leads to nothing."""

    UNKNOWN = auto()
    TOO_MANY = auto()
    """Its account has typed too many that do not exist; this one was not looked up."""


@dataclass(frozen=True, slots=True)
class GuessLimit:
    """The number of wrong codes that may be typed: those that do not exist."""

    kind: str
    """The kind of the codes; the store keeps the guesses under this name."""
    each: int
    """The guesses that one account may make in any ``seconds``."""
    seconds: float
    in_all: int | None = None
    """The guesses that all may make together in one process; half of them is for those who have done little. None:
    unlimited."""


class CodeGuesses:
    """Counts wrong codes in the store, so that those of all processes count, and a restart forgives none."""

    def __init__(self, drafts: Drafts, clock: Clock, limit: GuessLimit) -> None:
        self._drafts, self._clock, self._limit = drafts, clock, limit
        self._in_all = limit.in_all and RequestRates(
            limit.each, limit.in_all, clock.monotonic, limit.seconds
        )
        # A lock exists for as long as something holds it or waits for it.
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def look_up(
        self, account: str, search: Callable[[], Awaitable[Found | None]]
    ) -> Found | WrongCode:
        """Return what an account's code leads to. One code of an account at a time: each guess counts for the next."""
        async with self._locks.setdefault(account, asyncio.Lock()):
            if await self._has_used_up(account):
                return WrongCode.TOO_MANY
            found = await search()
            if found is None:
                await self._count(account)
                return WrongCode.UNKNOWN
            return found

    async def _has_used_up(self, account: str) -> bool:
        if self._in_all and self._in_all.pause(account) is not None:
            return True
        guesses = self._recent(await self._drafts.get(self._key(account)))
        return len(guesses) >= self._limit.each

    async def _count(self, account: str) -> None:
        if self._in_all:
            self._in_all.count(account)
        now = self._clock.now()

        def counted(guesses: JsonValue) -> JsonValue:
            return [*self._recent(guesses), now]

        await self._drafts.change(self._key(account), counted, now)
        extra = {"action": "code_guessed", "account": account}
        logger.warning("A wrong code was typed", extra=extra)

    def _recent(self, guesses: JsonValue) -> list[float]:
        """Return when wrong codes were typed lately; those of the future count, too: the clock was set back."""
        now, times = self._clock.now(), guesses if isinstance(guesses, list) else []
        return [
            at for at in times if isinstance(at, int | float) and now - at < self._limit.seconds
        ]

    def _key(self, account: str) -> str:
        return f"{self._limit.kind} guesses {account}"
