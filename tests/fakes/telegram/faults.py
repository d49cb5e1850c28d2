"""Faults of calls to the fake Telegram: a call fails, is answered oddly, or is not answered for a while."""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict, deque
from dataclasses import dataclass, field
from typing import Any, Final

from aiohttp import web

from tests.fakes.telegram.rules import RefusedError

_COUNTED: Final = frozenset(
    {
        *("sendMessage", "sendRichMessage", "sendPhoto", "sendDocument", "sendMediaGroup"),
        *("editMessageText", "editMessageReplyMarkup", "deleteMessage"),
    }
)


@dataclass(eq=False)
class Planned:
    """A planned failure of the calls of a method; "*": of all.

    Args:
        status: the status with which they are refused.
        cut: whether the connection is cut, "before" the call is carried out or "after".
        hangs: whether they wait for the release: to be carried out if they are cut before, else to be answered.
        about: only calls whose bodies have this text.
    """

    method: str
    times: int = 1
    status: int = 0
    description: str = ""
    retry_after: int | None = None
    cut: str = ""
    hangs: bool = False
    about: str = ""
    hits: int = 0
    body: dict[str, Any] = field(default_factory=dict)
    """The body of the last call that it met."""
    released: asyncio.Event = field(default_factory=asyncio.Event)

    def release(self) -> None:
        """Let calls that hang go on, and plan no more."""
        self.times = 0
        self.released.set()

    @property
    def refusal(self) -> RefusedError:
        """The error that the caller gets."""
        after = {} if self.retry_after is None else {"retry_after": self.retry_after}
        return RefusedError(self.status, self.description, **after)


class Faults:
    """The limit of a group, and the faults that a test has arranged, by the calls' methods."""

    def __init__(self, per_minute: int | None) -> None:
        self.per_minute = per_minute
        self.rate_limit_next = 0
        self._sent: dict[int, deque[float]] = defaultdict(deque)
        self.planned: list[Planned] = []
        self.failed_at = 0.0
        """When a planned failure last met a call."""
        self.fail_next: list[str] = []
        """The methods that fail, one call after the other."""
        self.held: dict[str, asyncio.Event] = {}
        """The methods that are answered only once their event is set."""
        self.odd_answers: defaultdict[str, list[tuple[int, str]]] = defaultdict(list)
        """The statuses and bodies with which a method's next calls are answered, which are not carried out."""
        self.refused_edits: set[int] = set()
        """The ids of messages whose edits are refused for no known reason."""

    async def odd_answer(self, method: str) -> web.Response | None:
        """Wait as long as the method is held; return its odd answer, if there is one."""
        if (held := self.held.get(method)) is not None:
            await held.wait()
        if not (answers := self.odd_answers[method]):
            return None
        status, text = answers.pop(0)
        return web.Response(status=status, text=text)

    def plan(self, planned: Planned) -> Planned:
        """Plan a failure; return it."""
        self.planned.append(planned)
        return planned

    def take_planned(self, method: str, body: dict[str, Any]) -> Planned | None:
        """Return the failure that is planned for this call, if any; count it, and raise a refusal."""
        for each in self.planned:
            if each.times and each.method in {method, "*"} and each.about in str(body):
                each.times, each.hits, each.body = each.times - 1, each.hits + 1, body
                self.failed_at = time.time()
                if each.status:
                    raise each.refusal
                return each
        return None

    def check_fault(self, method: str, body: dict[str, Any]) -> None:
        """Raise what a test has arranged for this call."""
        if self.fail_next[:1] == [method]:
            self.fail_next.pop(0)
            raise RefusedError(502, "Bad Gateway")
        if method == "editMessageText" and body["message_id"] in self.refused_edits:
            raise RefusedError(400, "Bad Request: something else")

    def check_rate(self, method: str, body: dict[str, Any]) -> None:
        """Raise if there are too many calls."""
        if (
            method in {"sendMessage", "sendRichMessage", "editMessageText"}
            and self.rate_limit_next > 0
        ):
            self.rate_limit_next -= 1
            raise RefusedError(429, "Too Many Requests: retry after 1", retry_after=1)
        if method not in _COUNTED or self.per_minute is None:
            return
        sent, now = self._sent[int(body["chat_id"])], time.monotonic()
        while sent and sent[0] < now - 60:
            sent.popleft()
        if len(sent) >= self.per_minute:
            pause = int(sent[0] + 60 - now) + 1
            raise RefusedError(429, f"Too Many Requests: retry after {pause}", retry_after=pause)
        sent.extend([now] * len(body.get("media") or "1"))
