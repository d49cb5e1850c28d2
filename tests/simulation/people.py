"""People in a chat: they look at what their client shows, use one of its controls, twice or late, and look again."""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import Callable, Sequence
from typing import Any, Final

from answerback_chat.control_codec import Control as Decoded
from answerback_chat.control_codec import Verb
from tests.simulation.chat import Client, Shown
from tests.simulation.evidence import Attempt, Evidence
from tests.simulation.files import Camera, picture
from tests.simulation.loop import SimulatedLoop

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
_ENTERED: Final = frozenset({Verb.WRITE, Verb.REPLY, Verb.OBJECT, Verb.OTHER})
"""The controls that open a form in which a text is entered."""
BUSY: Final = (20.0, 40.0, 40.0, 600.0, 3600.0)
"""Seconds between two looks, on average: where all are away, deadlines pass."""
SELDOM: Final = (300.0, 600.0, 900.0)
"""The same, of people of whom none repairs by a click what a message should have shown without one."""
_PERSISTENCE: Final = (0.0, 0.6, 0.9)
"""The chance that somebody goes on with the same ask within seconds, as with the next question of a form."""
_READING: Final = 150.0
"""Seconds within which somebody is told if their files could not be read, also after a restart."""
_OPENING: Final = 10.0
"""Seconds that a person waits for a form to open."""


class SimulatedPerson:
    """One person: most do something about once a minute, some hardly look."""

    def __init__(
        self, loop: SimulatedLoop, rng: random.Random, client: Client,
        evidence: Evidence, pauses: Sequence[float], is_away: Callable[[], bool], camera: Camera,
    ) -> None:  # fmt: skip
        self._loop = loop
        self._rng = rng
        self._client = client
        self._evidence = evidence
        self._pause = rng.choice(pauses)
        self._is_away = is_away
        self._camera = camera
        self._persistence = rng.choice(_PERSISTENCE)
        self._copies: list[Shown] = []
        """Older copies of messages that their client still shows."""

    async def live(self) -> None:
        while True:
            await asyncio.sleep(self._rng.expovariate(1 / self._pause))
            if self._is_away():
                continue
            with contextlib.suppress(self._client.gone):
                ask_id = await self._look_and_act()
                while ask_id is not None and self._rng.random() < self._persistence:
                    await asyncio.sleep(self._rng.uniform(1, 6))
                    ask_id = None if self._is_away() else await self._look_and_act(ask_id)

    async def _look_and_act(self, only: str | None = None) -> str | None:
        """Do something about one of the asks, or about this one alone; return the one, if there was anything to do."""
        client = self._client
        usable = [shown for shown in client.sees() if self._saw(shown)]
        if only is not None:
            usable = [each for each in usable if each.ask_id == only]
        elif self._copies and self._rng.random() < 0.15:
            usable = self._copies
        if not usable:
            return None
        copy = client.keep(self._rng.choice(usable))
        self._copies = [*self._copies[-5:], copy]
        offered = [(c, d) for c, d in copy.controls if d.verb in _WEIGHTS]
        if not offered:
            return None
        [(control, wanted)] = self._rng.choices(offered, [_WEIGHTS[d.verb] for _, d in offered])
        if self._rng.random() < 0.1:
            await asyncio.sleep(self._rng.uniform(1, 120))  # the message may have changed meanwhile
        times = 2 if self._rng.random() < 0.1 else 1
        await asyncio.gather(*(self._use(copy, control, wanted) for _ in range(times)))
        return copy.ask_id

    def _saw(self, shown: Shown) -> bool:
        """Note what a message shows; return whether anything can be done with it."""
        offered = [decoded for _, decoded in shown.controls if decoded.verb in _WEIGHTS]
        if offered:
            seen = max(decoded.revision for decoded in offered)
            before = self._evidence.seen.get(shown.ask_id, 0)
            self._evidence.seen[shown.ask_id] = max(before, seen)
        return any(decoded.verb is not Verb.SHOW_IN_FULL for decoded in offered)

    async def _use(self, copy: Shown, control: Any, wanted: Decoded) -> None:
        attempt = Attempt(
            self._client.id, wanted.ask_id, wanted.revision, wanted.verb.value, wanted.argument,
            self._loop.time(), copy.question,
        )  # fmt: skip
        self._loop.machine.note(f"{self._client.id} uses {wanted.encode()}")
        if wanted.verb is not Verb.SHOW_IN_FULL:
            self._evidence.attempts.append(attempt)
        notes = self._client.count_notes()
        ok = await self._client.press(copy, control)
        if wanted.verb in _ENTERED:
            await self._enter(attempt)
        else:
            self._acknowledged(attempt, ok=ok)
        try:
            await asyncio.sleep(self._rng.uniform(1, 5) + (_READING if attempt.files else 0.0))
        except asyncio.CancelledError:  # the simulation ends, and nobody sees whether a note comes
            attempt.acknowledged_at = None
            raise
        attempt.notes = self._client.count_notes() - notes

    async def _enter(self, attempt: Attempt) -> None:
        try:
            form = await self._client.sees_form(_OPENING)
        except TimeoutError:
            return
        await asyncio.sleep(self._rng.choice([2.0, 5.0, 60.0]))
        if not self._client.has_open(form) or self._rng.random() < 0.1:
            return
        attempt.text = text = f"{self._client.id} at {self._loop.time():.3f}"
        if self._client.takes_files(form):
            attempt.files = self._camera.take()
        photos = {name: picture(name, place=True) for name in attempt.files}
        self._acknowledged(attempt, ok=await self._client.submit(form, text, photos))
        if attempt.files and attempt.acknowledged_at is not None:
            self._evidence.sent_with_files.append(attempt)

    def _acknowledged(self, attempt: Attempt, *, ok: bool) -> None:
        if ok:
            attempt.acknowledged_at = self._loop.time()
