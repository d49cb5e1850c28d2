"""What stays of an ask, and of its record, once what people and agents wrote in it is erased. Pure.

The skeleton stays: which agent asked in which dialect, where and when, which kinds of steps people took, and how it
ended.
Names go, and so do ids of people where an id may be a name itself: only a chat platform's opaque ids stay.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Final

from pydantic import JsonValue

from answerback.core.asides import UNOPENED
from answerback.core.ask import Ask, RecordEntry, Request
from answerback.core.form import Form
from answerback.core.walker import Person, Walk

ERASED: Final = "erased"
"""What stands for the id of a person that is not kept."""
_KEPT: Final = frozenset(
    {
        *("answer_type", "exclusive", "persistence", "source", "other", "remembered"),
        *("reason", "status", "reminded", "erased"),
    }
)
"""What stays of a line of the record: which kind, never what."""


def erase_ask(ask: Ask, at: float, opaque: Collection[str]) -> Ask:
    """An ended ask without what was written in it.

    Args:
        opaque: the surfaces where the id of a person names nobody; elsewhere it is erased too.
    """
    if ask.outcome is None:
        raise AssertionError(f"{ask.id} is open: nothing of it may be erased")
    kept = ask.destination.surface in opaque
    revision = ask.revision + 1
    return replace(
        ask,
        erased_at=at,
        request=erase_request(ask.request),
        destination=ask.destination if kept else replace(ask.destination, user=None),
        responders=(),
        walk=Walk(phase=ask.walk.phase),
        revision=revision,
        # Where no message shows the ask, there is none to edit.
        shown_revision=revision if ask.message is None else ask.shown_revision,
        outcome=replace(ask.outcome, message=None, ended_by=_person(ask.outcome.ended_by, opaque)),
        acted_by=None,
        updated_at=at,
        opened=UNOPENED,
        asides=(),
    )


def erase_request(request: Request) -> Request:
    """What stays of what the agent sent: who sent it, and in which dialect."""
    return Request(
        name=request.dialect,
        dialect=request.dialect,
        arguments={},
        form=Form(questions=()),
        agent=request.agent,
        prompt_label=request.prompt_label,
    )


def erase_entry(entry: RecordEntry, opaque: Collection[str]) -> RecordEntry:
    """A line of the record without what was written."""
    body: dict[str, JsonValue] = {
        name: value
        for name, value in entry.body.items()
        if name in _KEPT and isinstance(value, str | bool | int)
    }
    return RecordEntry(at=entry.at, kind=entry.kind, by=_person(entry.by, opaque), body=body)


def _person(person: Person | None, opaque: Collection[str]) -> Person | None:
    if person is None:
        return None
    kept = person.surface in opaque
    return Person(surface=person.surface, user_id=person.user_id if kept else ERASED)
