"""People, times, and what a person tells an agent, as JSON."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import lru_cache
from typing import Annotated, Final

from pydantic import ConfigDict, Field, WithJsonSchema, with_config
from typing_extensions import TypedDict

from answerback.core.giving_up import TriedAgain
from answerback.core.grants import GrantNote
from answerback.core.placement import HandedOver
from answerback.core.walker import Person

Timestamp = Annotated[
    str,
    Field(pattern=r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$"),
    WithJsonSchema({"type": "string", "format": "date-time"}),
]
"""A time as `iso` formats it."""
NULL_BY_DEFAULT: Final = Field(json_schema_extra={"default": None})
strict = with_config(ConfigDict(extra="forbid"))
"""A shape allows no further members."""


@strict
class PersonBody(TypedDict):
    """A person who acted."""

    surface: str
    user_id: str
    name: str | None


@strict
class HandedOverBody(TypedDict):
    """Who handed an ask over, and to whom."""

    by: PersonBody
    to: PersonBody


@strict
class TriedAgainBody(TypedDict):
    """A person's request that the agent try again."""

    text: str | None
    by: PersonBody | None
    at: Timestamp


@strict
class GrantNoteBody(TypedDict):
    """The grant that was made with the answer, or that allowed the ask."""

    id: str
    by: PersonBody
    use: int | None
    """The number of this use; null: the grant was made here."""
    uses: int
    expires_at: Timestamp
    revoked_at: Timestamp | None
    revoked_by: PersonBody | None


@lru_cache(256)  # 2.4 µs each; an ask has few times, and an answer by the API writes them ten times
def iso(at: float) -> str:
    """Format a time as RFC 3339 in UTC, to the millisecond."""
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def person_body(person: Person | None) -> PersonBody | None:
    return None if person is None else _known_body(person)


def _known_body(person: Person) -> PersonBody:
    return {"surface": person.surface, "user_id": person.user_id, "name": person.name}


def handed_over_body(handed: HandedOver | None) -> HandedOverBody | None:
    if handed is None:
        return None
    return {"by": _known_body(handed.by), "to": _known_body(handed.to)}


def grant_note_body(note: GrantNote | None) -> GrantNoteBody | None:
    if note is None:
        return None
    return {
        "id": note.id,
        "by": _known_body(note.by),
        "use": note.number or None,
        "uses": note.uses,
        "expires_at": iso(note.until),
        "revoked_at": None if note.revoked_at is None else iso(note.revoked_at),
        "revoked_by": person_body(note.revoked_by),
    }


def tried_again_body(again: TriedAgain | None) -> TriedAgainBody | None:
    if again is None:
        return None
    return {"text": again.text, "by": person_body(again.by), "at": iso(again.at)}
