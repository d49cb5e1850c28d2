"""People who click in Slack: signed requests with a copy of the message, as many at once as there are people."""

from __future__ import annotations

import asyncio
import hmac
import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote_plus

from answerback.core.actions import Answer
from answerback.core.ask import Ask, Change, Destination, Placement, Request, apply_action
from answerback.core.form import AnswerType, Form, Question
from answerback.core.labels import Labels
from answerback.core.view import view_of
from answerback.core.walker import start
from answerback_chat.control_codec import Control, Verb
from answerback_slack.manifest import EVENTS_PATH
from answerback_slack.render import render
from answerback_storage.sqlite.store import SqliteStore
from answerback_testing.store_examples import ANN
from tests.fakes.slack.workspace import TEAM

CLIENTS = 32
SECRET = "benchmark"
MESSAGE: Final = "1795428347.402179"
"""The ts of each live message: each is in a channel of its own, because posts are limited in each."""
SMALL_TEXT = "x" * 200
SMALL_BLOCKS: Sequence[Mapping[str, Any]] = [
    {"type": "section", "text": {"type": "mrkdwn", "text": "y" * 400, "verbatim": False}}
] * 3
"""A small message: what it costs bare bolt to parse a copy of it grows with its size, and us next to nothing."""
FORM = Form(
    questions=tuple(
        Question(
            id=f"q{n}",
            text="Apply the proposed migration to the production database?",
            context="It adds two columns and rewrites an index; the table has forty million rows. "
            * 8,
            answer_type=AnswerType.BOOLEAN,
        )
        for n in range(3)
    )
)


def channel_of(number: int) -> str:
    """Return the channel of a person and their ask."""
    return f"C{number:010}"


def ask_number(number: int, form: Form = FORM) -> Ask:
    """Build an open ask, as every server and every client knows it, with half of its form answered."""
    request = Request(name="ask_user", dialect="ask_user", arguments={}, form=form)
    ask = Ask(
        id=f"ask_{number:024x}",
        created_at=time.time(),
        updated_at=time.time(),
        request=request,
        placement=Placement(
            destination=Destination(surface="slack", channel=channel_of(number)),
            responders=("anyone",),
        ),
        walk=start(form),
    )
    for _ in range(len(form.questions) // 2 - 1):
        change = apply_action(ask, Answer(value=True), at=time.time(), by=ANN)
        assert isinstance(change, Change)
        ask = replace(change.ask, revision=1)
    return ask


# --- clicking ------------------------------------------------------------------------------------


class Clicker:
    """One person at one ask who answers, goes back, answers …, each time on the newest revision.

    Args:
        ask_id: of an ask that was submitted; by default that of `ask_number`.
        small: whether the copy of the message is a small one, instead of what Slack would send.
    """

    def __init__(
        self,
        number: int,
        form: Form = FORM,
        ask_id: str | None = None,
        revision: int = 1,
        *,
        small: bool = False,
    ) -> None:
        self.number = number
        ask = ask_number(number, form)
        self.ask = ask if ask_id is None else replace(ask, id=ask_id)
        self.revision = revision
        self._answers_at = revision % 2
        self.person = f"U{number:010}"
        shown = render(view_of(self.ask), Labels())
        self._text = SMALL_TEXT if small else shown.text
        self._blocks: Sequence[Mapping[str, Any]] = SMALL_BLOCKS if small else shown.blocks
        payload = json.dumps(self.payload("CONTROL", "TRIGGER"), separators=(",", ":"))
        self._template = "payload=" + quote_plus(payload.replace("/", r"\/"))

    def payload(self, control: str, trigger: str) -> dict[str, Any]:
        """Return a click as Slack sends it, with a copy of the message in which each block has an id.

        https://docs.slack.dev/reference/interaction-payloads/block_actions-payload
        """
        thread, channel = "1795428346.018239", channel_of(self.number)
        shown = [{"block_id": f"b{n:04}"} | dict(block) for n, block in enumerate(self._blocks)]
        button = {"type": "plain_text", "text": "Yes", "emoji": False}
        return {
            "type": "block_actions",
            "user": {"id": self.person, "username": "ada", "name": "ada", "team_id": TEAM},
            "api_app_id": "A0FAKE00000",
            "token": "FixedVerificationToken00",
            "container": {
                "type": "message",
                "message_ts": MESSAGE,
                "channel_id": channel,
                "is_ephemeral": False,
                "thread_ts": thread,
            },
            "trigger_id": trigger,
            "team": {"id": TEAM, "domain": "fake"},
            "enterprise": None,
            "is_enterprise_install": False,
            "channel": {"id": channel, "name": "ops"},
            "message": {
                "user": "U0BOT000000",
                "type": "message",
                "ts": MESSAGE,
                "bot_id": "B0BOT000000",
                "app_id": "A0FAKE00000",
                "text": self._text,
                "team": TEAM,
                "thread_ts": thread,
                "parent_user_id": "U0BOT000000",
                "blocks": shown,
            },
            "state": {"values": {}},
            "response_url": f"https://hooks.slack.com/actions/{TEAM}/9876543210987/0123456789abcdef01234567",
            "actions": [
                {
                    "action_id": "answer.true",
                    "block_id": "b",
                    "text": button,
                    "value": control,
                    "type": "button",
                    "action_ts": "1795428350.231947",
                }
            ],
        }

    def next(self) -> tuple[str, str]:
        """Return the control and trigger of the next click."""
        verb, argument = (
            (Verb.ANSWER, "true") if self.revision % 2 == self._answers_at else (Verb.BACK, "")
        )
        control = Control(self.ask.id, self.revision, verb, argument).encode()
        # Like Slack's: a number that grows with time, one for the workspace, and a unique part.
        trigger = (
            f"{time.time_ns() // 1_000_000}.1379717998065.{self.number:08x}{self.revision:024x}"
        )
        self.revision += 1
        return control, trigger

    def request(self) -> bytes:
        """Return the next click as a signed HTTP request."""
        control, trigger = self.next()
        body = self._template.replace("CONTROL", quote_plus(control)).replace("TRIGGER", trigger)
        raw, now = body.encode(), str(int(time.time()))
        signature = hmac.digest(SECRET.encode(), b"v0:" + now.encode() + b":" + raw, "sha256").hex()
        head = (
            f"POST {EVENTS_PATH} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {len(raw)}\r\n"
            "Content-Type: application/x-www-form-urlencoded\r\n"
            f"X-Slack-Request-Timestamp: {now}\r\nX-Slack-Signature: v0={signature}\r\n\r\n"
        )
        return head.encode() + raw


async def hammer(port: int, clickers: Sequence[Clicker], seconds: float) -> list[float]:
    """Return the seconds from each click to its acknowledgement: the given people click at once, each at least once."""
    times: list[float] = []
    end = time.perf_counter() + seconds

    async def click(clicker: Clicker) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        while True:
            request = clicker.request()
            begun = time.perf_counter()
            writer.write(request)
            head = await reader.readuntil(b"\r\n\r\n")
            assert head.startswith(b"HTTP/1.1 200"), head
            length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0] or 0)
            await reader.readexactly(length)
            times.append(time.perf_counter() - begun)
            if time.perf_counter() >= end:
                break
        writer.close()

    await asyncio.gather(*(click(clicker) for clicker in clickers))
    return times


async def verify_all_stored(database: Path, clickers: Sequence[Clicker]) -> None:
    """Verify that every acknowledged click is on disk."""
    store = SqliteStore(database)
    await store.open()
    for clicker in clickers:
        stored = await store.asks.get(clicker.ask.id)
        assert stored is not None
        assert stored.revision == clicker.revision, "a click was acknowledged and did not count"
    await store.close()
