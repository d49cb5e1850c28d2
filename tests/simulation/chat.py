"""The parts of a chat that a simulation uses: its fake, what people see and use there, and what goes wrong in it.

People, the watch, faults and invariants know no platform. They know only this protocol.
"""

from __future__ import annotations

import asyncio
import random
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine, Mapping, Sequence, Sized
from functools import cached_property
from typing import Any, Final, Protocol, Self

from answerback_chat.control_codec import Control as Decoded
from answerback_chat.control_codec import Verb
from tests.simulation.evidence import Json
from tests.simulation.loop import SimulatedLoop

PUBLIC_PORT: Final = 8421
PUBLIC_URL: Final = f"http://127.0.0.1:{PUBLIC_PORT}"
NAMES: Final = ("ann", "bob", "cy")
"""The people who may decide."""
STRANGER: Final = "eve"
"""The person who may not."""
WHEN_TO_CLICK: Final = 120.0
"""Seconds within which a click or a call must come, for a fault to happen at it."""
DECIDING: Final = frozenset(
    {
        Verb.ANSWER, Verb.WRITE, Verb.CONFIRM, Verb.SUBMIT, Verb.BACK, Verb.REPLY, Verb.END_TURN,
    }
)  # fmt: skip
"""The controls that only a message of an open ask has."""
_NUMBER: Final = re.compile(r"question (\d)\?")
_SUSPENDED: Final = 660.0
"""Seconds after which the service tries again what only the operator can fix: ten minutes, and until the next look."""
_LATEST: Final = 15.0
"""The most seconds by which a chat does late what it was asked for. The service is ready for twenty."""
_SLOWEST: Final = 9.0
"""The most seconds that a chat takes to answer what it has carried out. The service waits for ten."""


class Shown(ABC):
    """A message that shows an ask, as it is at one moment.

    Args:
        id: names the message, whatever it shows.
    """

    def __init__(self, ask_id: str, id: str) -> None:
        self.ask_id = ask_id
        self.id = id
        self.is_known = True
        """False if the bot can know nothing of it: its post had no answer, and the chat lets no bot look for one."""

    @cached_property
    def controls(self) -> list[tuple[Any, Decoded]]:
        """The chat's own controls, each with what it does."""
        return self._controls()

    @abstractmethod
    def _controls(self) -> list[tuple[Any, Decoded]]: ...

    @property
    @abstractmethod
    def text(self) -> str:
        """All that people read in it, with the names of those whom it mentions."""

    @property
    def deciding(self) -> list[Decoded]:
        """The controls that decide something."""
        return [decoded for _, decoded in self.controls if decoded.verb in DECIDING]

    @property
    def question(self) -> str | None:
        """The question that it asks, as people read it: the planned asks have their numbers in their texts."""
        found = _NUMBER.findall(self.text)
        return f"q{found[-1]}" if found else None  # those before have been answered


class Client(Protocol):
    """The client of one person."""

    id: str
    gone: type[Exception]
    """The error for something that is not on their screen any more."""

    def sees(self) -> Sequence[Shown]:
        """Return the messages of asks as they are now."""

    def keep(self, shown: Shown) -> Shown:
        """Return a copy of a message that does not change when the message does."""

    def count_notes(self) -> int:
        """Return the number of private notes to the person."""

    async def press(self, shown: Shown, control: Any) -> bool:
        """Use a control; return whether the chat says that the app took it."""

    async def sees_form(self, seconds: float) -> object:
        """Wait for the form that a control opens.

        Raises:
            TimeoutError: none opens.
        """

    def has_open(self, form: object) -> bool:
        """Return True if this form is what the person sees."""

    def takes_files(self, form: Any) -> bool:
        """Return True if files can be sent with a form."""

    async def submit(self, form: Any, text: str, files: Mapping[str, bytes]) -> bool:
        """Enter a text in each field, and send the form; return whether the chat says that the app took it.

        Args:
            files: by their names.
        """


class Trouble:
    """The door by which a chat tells the simulation that something goes wrong in it.

    Args:
        until: notes that something goes wrong now, and for so many seconds.
        nobody_looks: lets nobody look for a while, since a click would repair what a late call did.
    """

    def __init__(
        self, loop: SimulatedLoop, until: Callable[[float], None], nobody_looks: Callable[[], None]
    ) -> None:
        self.loop = loop
        self.until = until
        self.nobody_looks = nobody_looks

    def spawn(self, work: Coroutine[Any, Any, Any]) -> None:
        """Let something happen outside all processes."""
        self.loop.create_task(work, context=self.loop.kernel.copy())


class Late(Protocol):
    """A call that hangs until it is released."""

    hits: int

    def release(self) -> None: ...


class ChatFaults(Protocol):
    """The ways in which the calls of one chat go wrong."""

    def limit(self, rng: random.Random) -> None:
        """Let some calls get 429."""

    def refuse(self, rng: random.Random) -> None:
        """Let some calls get 5xx."""

    def lose_answer(self, rng: random.Random) -> None:
        """Cut the connection of some calls, before or after they took effect."""

    def late_call(self, rng: random.Random) -> Late:
        """Plan a call whose connection is cut at once, and that is carried out when it is released."""

    def was_outrun(self, late: Any, begun: int) -> bool:
        """Return True if a later call, from ``begun`` on, changed what a late one will change."""

    def late_answer(self) -> Late:
        """Plan an edit that is carried out at once, and answered when it is released."""

    def forbid_edits(self, rng: random.Random) -> Callable[[], None]:
        """Let every edit be refused, as by somebody who administers the place; return what ends that."""

    def fail_files(self, rng: random.Random) -> Callable[[], None]:
        """Let the app read no file of a person, or not to its end; return what ends that."""

    def renew(self, rng: random.Random) -> Coroutine[Any, Any, Any] | None:
        """Return what ends the connection by which events come; None if there is none."""

    def repeat_event(self, rng: random.Random) -> Coroutine[Any, Any, Any] | None:
        """Return what delivers something once more; None if there is nothing."""

    async def until(self, condition: Callable[[], object], seconds: float) -> None:
        """Wait until the fake is in a state, or some seconds have passed."""


class Chat(ABC):
    """One chat platform. Enter it to serve."""

    surface: str
    """The name of the surface, as in destinations."""
    front: str
    """The way in which the platform and the service are connected."""
    channel: str
    """The id of the place in which agents ask."""
    people: dict[str, str]
    """The ids of the people who may decide, by their names."""
    stranger: str
    """The id of the one who may not."""
    faults: ChatFaults
    calls: Sized
    """The calls that the platform has received, a counted one for each."""
    tells_of_deletions: bool = True
    """True if the platform tells the app that a message was deleted; if not, it learns that by its next edit."""
    deleted: set[str]
    """The asks of which somebody deleted a message."""
    delivered: Sized
    """The things that the platform has sent to the service."""

    @abstractmethod
    async def __aenter__(self) -> Self: ...

    @abstractmethod
    async def __aexit__(self, *_: object) -> None: ...

    @property
    @abstractmethod
    def settings(self) -> Json:
        """The platform's section of the service's settings."""

    @property
    def names(self) -> dict[str, str]:
        """The names of all people, by their ids."""
        return {id_: name for name, id_ in self.people.items()} | {self.stranger: STRANGER}

    @abstractmethod
    def client(self, person: str) -> Client: ...

    @abstractmethod
    def messages(self) -> Sequence[Shown]:
        """Return the messages of asks that are there now."""

    def delete_one(self, rng: random.Random) -> None:
        """Let somebody who administers the place delete the message of an open ask, if there is one."""
        usable = [shown for shown in self.messages() if shown.deciding]
        if usable:
            shown = rng.choice(usable)
            self.deleted.add(shown.ask_id)
            self.remove(shown)

    @abstractmethod
    def remove(self, shown: Shown) -> None:
        """Delete a message."""

    @abstractmethod
    def reminders(self) -> dict[str, list[str]]:
        """Return the names of the reminders that are there, by ask."""

    def pictures(self, shown: Shown) -> Sequence[bytes] | None:
        """Return the pictures that people see in a message; None if this fake does not say."""
        return None

    def kept_pictures(self) -> Sequence[bytes]:
        """Return the pictures that the platform has, as far as this fake says."""
        return ()

    @property
    @abstractmethod
    def failed_at(self) -> float:
        """The time at which a call last went wrong, in seconds since the simulation began; 0 if none did."""

    @abstractmethod
    def stop_faults(self) -> None:
        """Let nothing more go wrong."""


async def act_late(chat: Chat, rng: random.Random, trouble: Trouble) -> None:
    """Let a chat carry out a call seconds later: an edit, if it can be, after another one, which it undoes."""
    faults, seconds = chat.faults, rng.uniform(0.2, _LATEST)
    late = faults.late_call(rng)
    await faults.until(lambda: late.hits, WHEN_TO_CLICK)
    if not late.hits:
        late.release()
        return
    begun = len(chat.calls)
    await faults.until(lambda: faults.was_outrun(late, begun), seconds)
    trouble.until(0)
    trouble.nobody_looks()
    late.release()


async def answer_late(chat: Chat, rng: random.Random, trouble: Trouble) -> None:
    """Let a chat edit a message at once, and say so only seconds later, when people have acted on it."""
    late = chat.faults.late_answer()
    await chat.faults.until(lambda: late.hits, WHEN_TO_CLICK)
    if late.hits:
        await asyncio.sleep(rng.uniform(1, _SLOWEST))
        trouble.until(0)
        trouble.nobody_looks()
    late.release()


def fail_for_a_while(chat: Chat, kind: str, rng: random.Random, trouble: Trouble) -> None:
    """Let a chat forbid all edits for a while, give the app no files of people, or delete a message for good."""
    if kind == "delete":
        chat.delete_one(rng)
        trouble.until(0)
        return
    if kind == "forbid":
        end, seconds, after = chat.faults.forbid_edits(rng), rng.choice([10, 120, 900]), _SUSPENDED
    else:
        end, seconds, after = chat.faults.fail_files(rng), rng.choice([5, 120]), 0.0
    trouble.loop.after(seconds, end)
    trouble.until(seconds + after)


def go_wrong(chat: Chat, kind: str, rng: random.Random, trouble: Trouble) -> None:
    """Let one thing go wrong in a chat; ``rng`` decides the details."""
    work: Coroutine[Any, Any, Any] | None = None
    match kind:
        case "limit":
            chat.faults.limit(rng)
        case "refuse":
            chat.faults.refuse(rng)
        case "lose answer":
            chat.faults.lose_answer(rng)
        case "act late":
            # The caller has gone, and the platform does what was asked all the same, some time later.
            work = act_late(chat, rng, trouble)
        case "answer late":
            work = answer_late(chat, rng, trouble)
        case "forbid" | "files fail" | "delete":
            fail_for_a_while(chat, kind, rng, trouble)
        case "renew":
            work = chat.faults.renew(rng)
        case "repeat event":
            # As after an acknowledgement that got lost.
            work = chat.faults.repeat_event(rng)
        case _:
            raise ValueError(f"there is no fault {kind!r}")
    if work is not None:
        trouble.spawn(work)
