"""People in Slack: they look at what their client shows, use one of its controls, twice or late, and look again."""

from __future__ import annotations

import asyncio
import contextlib
import random
import re
from collections.abc import Callable, Sequence
from typing import Any, Final

from answerback_chat.control_codec import Control as Decoded
from answerback_chat.control_codec import Verb, decode
from tests.fakes.slack.person import Person
from tests.fakes.slack.server import FakeSlack
from tests.fakes.slack.state import ClientRefusalError
from tests.fakes.slack.visible_message import Control, look
from tests.fakes.slack.visible_message import controls_of as block_controls
from tests.fakes.slack.workspace import Message, Snapshot, View
from tests.simulation.evidence import Attempt, Evidence
from tests.simulation.loop import SimulatedLoop
from tests.simulation.service import CHANNEL

_WEIGHTS: Final = {
    Verb.ANSWER: 10,
    Verb.WRITE: 10,
    Verb.CONFIRM: 10,
    Verb.SUBMIT: 10,
    Verb.BACK: 2,
    Verb.REPLY: 1,
    Verb.END_TURN: 1,
    Verb.OBJECT: 1,
    Verb.OTHER: 1,
    Verb.SHOW_IN_FULL: 1,
}
"""The weights of controls, by what they do: people use the heavier ones more often."""
DECIDING: Final = frozenset(
    {
        Verb.ANSWER, Verb.WRITE, Verb.CONFIRM, Verb.SUBMIT, Verb.BACK, Verb.REPLY, Verb.END_TURN,
    }
)  # fmt: skip
"""The controls that only a message of an open ask has."""
_ENTERED: Final = frozenset({Verb.WRITE, Verb.REPLY, Verb.OBJECT, Verb.OTHER})
"""The controls that open a modal in which a text is entered."""
_NUMBER: Final = re.compile(r"question (\d)\?")
BUSY: Final = (20.0, 40.0, 40.0, 600.0, 3600.0)
"""Seconds between two looks, on average: where all are away, deadlines pass."""
SELDOM: Final = (300.0, 600.0, 900.0)
"""The same, of people of whom none repairs by a click what a message should have shown without one."""
_PERSISTENCE: Final = (0.0, 0.6, 0.9)
"""The chance that somebody goes on with the same ask within seconds, as with the next question of a form."""
_OPENING: Final = 10.0
"""Seconds that a person waits for a modal to open."""


def shown_ask(message: Message | Snapshot) -> str | None:
    """The ask that a message shows, by the metadata that the app gave it."""
    metadata = message.metadata if isinstance(message, Message) else None
    if metadata is None or metadata.get("event_type") != "answerback_ask":
        return None
    found: str = metadata["event_payload"]["ask_id"]
    return found


def controls_of(message: Message | Snapshot) -> list[tuple[Control, Decoded]]:
    """The buttons of a message, with what they do."""
    payload = message.payload() if isinstance(message, Message) else message.payload
    found = []
    # `look` would read all texts too, which takes most of a simulation's time.
    for control in (c for block in payload.get("blocks", []) for c in block_controls(block)):
        decoded = (
            decode(str(control.element.get("value", ""))) if control.kind == "button" else None
        )
        if decoded is not None:
            found.append((control, decoded))
    return found


class SimulatedPerson:
    """One person: most do something about once a minute, some hardly look."""

    def __init__(
        self, loop: SimulatedLoop, rng: random.Random, slack: FakeSlack, person: Person,
        evidence: Evidence, pauses: Sequence[float], is_away: Callable[[], bool],
    ) -> None:  # fmt: skip
        self._loop = loop
        self._rng = rng
        self._slack = slack
        self._person = person
        self._evidence = evidence
        self._pause = rng.choice(pauses)
        self._is_away = is_away
        self._persistence = rng.choice(_PERSISTENCE)
        self._copies: list[tuple[str, Snapshot]] = []
        """Older copies of messages that their client still shows."""
        self._usable: set[str] = set()

    async def live(self) -> None:
        while True:
            await asyncio.sleep(self._rng.expovariate(1 / self._pause))
            if self._is_away():
                continue
            with contextlib.suppress(ClientRefusalError):  # it is gone from their screen
                ask_id = await self._look_and_act()
                while ask_id is not None and self._rng.random() < self._persistence:
                    await asyncio.sleep(self._rng.uniform(1, 6))
                    ask_id = None if self._is_away() else await self._look_and_act(ask_id)

    async def _look_and_act(self, only: str | None = None) -> str | None:
        """Do something about one of the asks, or about this one alone; return the one, if there was anything to do."""
        about = [(shown_ask(m), m) for m in self._person.messages(CHANNEL)]
        messages = [(ask_id, m) for ask_id, m in about if ask_id is not None]
        self._usable = {ask_id for ask_id, message in messages if self._saw(ask_id, message)}
        usable = [(ask_id, m.snapshot()) for ask_id, m in messages if ask_id in self._usable]
        if only is not None:
            usable = [each for each in usable if each[0] == only]
        elif self._copies and self._rng.random() < 0.15:
            usable = self._copies
        if not usable:
            return None
        ask_id, copy = self._rng.choice(usable)
        self._copies = [*self._copies[-5:], (ask_id, copy)]
        offered = [(c, d) for c, d in controls_of(copy) if d.verb in _WEIGHTS]
        if not offered:
            return None
        [(control, wanted)] = self._rng.choices(offered, [_WEIGHTS[d.verb] for _, d in offered])
        if self._rng.random() < 0.1:
            await asyncio.sleep(self._rng.uniform(1, 120))  # the message may have changed meanwhile
        times = 2 if self._rng.random() < 0.1 else 1
        await asyncio.gather(*(self._use(copy, control, wanted) for _ in range(times)))
        return ask_id

    def _saw(self, ask_id: str, message: Message) -> bool:
        """Note what a message shows; return whether anything can be done with it."""
        offered = [decoded for _, decoded in controls_of(message) if decoded.verb in _WEIGHTS]
        if offered:
            seen = max(decoded.revision for decoded in offered)
            self._evidence.seen[ask_id] = max(self._evidence.seen.get(ask_id, 0), seen)
        return any(decoded.verb is not Verb.SHOW_IN_FULL for decoded in offered)

    async def _use(self, copy: Snapshot, control: Control, wanted: Decoded) -> None:
        attempt = Attempt(
            self._person.id, wanted.ask_id, wanted.revision, wanted.verb.value, wanted.argument,
            self._loop.time(), _question(copy),
        )  # fmt: skip
        self._loop.machine.note(f"{self._person.id} uses {wanted.encode()}")
        if wanted.verb is not Verb.SHOW_IN_FULL:
            self._evidence.attempts.append(attempt)
        notes = self._count_notes()
        if wanted.verb in _ENTERED:
            self._slack.workspace.stacks.pop(self._person.id, None)
        action: dict[str, Any] = {"type": "button", "text": control.element["text"]}
        action["value"] = control.element["value"]
        ack = await self._person._act(copy, control, action)
        if wanted.verb in _ENTERED:
            await self._enter(attempt)
        else:
            self._acknowledged(attempt, ok=ack.ok)
        await asyncio.sleep(self._rng.uniform(1, 5))
        attempt.notes = self._count_notes() - notes

    async def _enter(self, attempt: Attempt) -> None:
        try:
            view = await self._person.sees_modal(_OPENING)
        except TimeoutError:
            return
        await asyncio.sleep(self._rng.choice([2.0, 5.0, 60.0]))
        if self._person.modal is not view or self._rng.random() < 0.1:
            return
        text = f"{self._person.id} at {self._loop.time():.3f}"
        attempt.text = text
        ack = await self._person.submit({c.label: text for c in _texts(view)})
        self._acknowledged(attempt, ok=ack.ok and self._person.modal is not view)

    def _acknowledged(self, attempt: Attempt, *, ok: bool) -> None:
        if ok:
            attempt.acknowledged_at = self._loop.time()

    def _count_notes(self) -> int:
        return sum(m.ephemeral_to == self._person.id for m in self._person.messages(CHANNEL))


def _question(copy: Snapshot) -> str | None:
    """The question that a message asks, as people read it: the planned asks have their numbers in their texts."""
    found = _NUMBER.findall(look(copy).text)
    return f"q{found[-1]}" if found else None  # those before have been answered


def _texts(view: View) -> list[Control]:
    return [c for c in look(view).controls if c.kind == "plain_text_input"]
