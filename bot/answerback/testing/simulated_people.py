"""What a plug-in's tests bring for `answerback.testing.surface_contract`: a stage, and people in front of it."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import Final, Protocol, TypeVar, runtime_checkable

from pydantic import JsonValue

from answerback.core.ask import Ask, Destination
from answerback.core.form import Question
from answerback.testing.surface_harness import SurfaceHarness


class Capability(StrEnum):
    """What not every platform has. Each has methods of its own, which only those that have it bring."""

    MODALS = "modals"
    PRIVATE_NOTES = "private notes"
    TYPED_ANSWERS = "typed answers"
    REMINDERS = "reminders"
    MENTIONS = "mentions"
    ASKING_BACK = "asking back"
    DELETION = "deletion"
    RATE_LIMITS = "rate limits"


class Stage(Protocol):
    """A platform with the service in front of it. All cases of a class share one."""

    harness: SurfaceHarness
    place: Destination
    """Where asks are shown."""

    async def add_person(self, name: str) -> SimulatedPerson:
        """Somebody new at that place, of this name; nobody has told them anything yet."""

    async def restart(self) -> None:
        """Stops the service, and starts it anew on the same store; the platform goes on, and so do the people."""


class SimulatedPerson(Protocol):
    """A person in front of a surface, who does everything by what they saw when they last looked.

    Every action waits until the surface has answered it, whatever it answered. What changes afterwards is seen with
    the next look: until then, the person acts on an old copy.
    """

    user_id: str
    name: str
    """How others are told of them."""

    async def look_at(self, ask: Ask) -> None:
        """Sees an ask as the surface shows it now; waits until it does. There is one message of it, not two."""

    async def read_all_text(self) -> str:
        """Everything that the person can read of the ask: the message, what its menus offer, "Show in full"."""

    def available_actions(self) -> set[str]:
        """Which of back, ask_back, reply, end_turn, submit and other can be used."""

    async def read_prefill(self, question: Question) -> JsonValue:
        """The value that the controls of the open question show as chosen or filled in; None: nothing."""

    async def answer(self, question: Question, value: JsonValue) -> None:
        """Answers the open question."""

    async def answer_other(self, text: str) -> None:
        """Answers by "Something else…"."""

    async def go_back(self) -> None:
        """Uses Back."""

    async def edit(self, ask: Ask, question: Question) -> None:
        """In the review: uses Edit for a question."""

    async def submit(self) -> None:
        """In the review: uses Submit."""

    async def reply(self, text: str | None) -> None:
        """Uses Reply, with words or without."""

    async def end_turn(self) -> None:
        """Uses End Turn, and confirms it."""


@runtime_checkable
class HasModals(Protocol):
    """People write in a window that opens over the message."""

    async def open_modal(self) -> bool:
        """Presses what a text is answered with; whether a window opened."""

    async def submit_modal(self, text: str) -> str:
        """Fills in the window that is open and hands it in; all that is told afterwards, in whatever way."""


@runtime_checkable
class HasPrivateNotes(Protocol):
    """The surface tells one person something that others do not see."""

    async def private_notes(self, count: int) -> list[str]:
        """What this person has been told, oldest first, once there are so many notes."""


@runtime_checkable
class HasTypedAnswers(Protocol):
    """Words that are typed where people write to each other can be an answer."""

    async def type_message(self, text: str, *, meant: bool = True) -> bool:
        """Types to the surface about the ask or, not ``meant``, to other people beside it.

        Returns whether the words were marked as taken, once they are dealt with.
        """


@runtime_checkable
class HasReminders(Protocol):
    """People can be pinged: the surface is one of `answerback.ports.surface.SupportsReminders`."""

    async def count_reminders(self, count: int) -> int:
        """How many reminders of the ask this person can see, once there are so many."""


@runtime_checkable
class HasMentions(Protocol):
    """Texts can notify people, link and format: it takes care that an agent's do not."""

    def mentions_and_links(self) -> list[str]:
        """Whom the texts that this person sees of the ask would notify, and where links lead that hide it."""


@runtime_checkable
class HasAskingBack(Protocol):
    """People can ask the agent to explain, where it accepts that: ``ask_back`` is then among what is offered."""

    async def ask_back(self, text: str) -> None:
        """Asks the agent to explain the open question."""


@runtime_checkable
class HasDeletion(Protocol):
    """People can delete the live message."""

    async def delete_message(self) -> None:
        """Deletes the message that was last looked at."""


@runtime_checkable
class HasRateLimits(Protocol):
    """The platform refuses calls that come too fast. This is the stage's, not a person's."""

    def rate_limit_next(self, calls: int) -> None:
        """Refuses so many of the next calls that post or edit a message; 0: none any more."""

    def count_rate_limited(self) -> int:
        """How many calls were refused so far."""


CAPABILITY_PROTOCOLS: Final[dict[Capability, type]] = {
    Capability.MODALS: HasModals,
    Capability.PRIVATE_NOTES: HasPrivateNotes,
    Capability.TYPED_ANSWERS: HasTypedAnswers,
    Capability.REMINDERS: HasReminders,
    Capability.MENTIONS: HasMentions,
    Capability.ASKING_BACK: HasAskingBack,
    Capability.DELETION: HasDeletion,
    Capability.RATE_LIMITS: HasRateLimits,
}
"""What a desk, or for rate limits the stage, brings for each capability."""

C = TypeVar("C", bound=Callable[..., object])


def requires_capability(capability: Capability) -> Callable[[C], C]:
    """Marks a case of the contract as one for platforms that have this."""

    def marked(case: C) -> C:
        case.needs = capability  # type: ignore[attr-defined] # read by SurfaceContract
        return case

    return marked
