"""Calls that people change before they allow them: what can be changed, and what became of it. Values only.

Arguments are JSON texts, so that each number stays as it was written.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from pydantic import JsonValue

from answerback.core.person import FrozenModel, StrictDataclass
from answerback_base import json_edits
from answerback_base.json_edits import Change

_MAX_DIFFERENCE: Final = 4_000
"""Characters of a difference in words; the whole call stands beside it."""


class EditableCall(FrozenModel):
    """A call that people may change, for the decision of one question."""

    question_id: str
    arguments: str
    """The arguments as the agent's host wrote them."""
    json_schema: JsonValue = None
    """The schema of the other arguments; None: the host did not say."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EditedCall(StrictDataclass):
    """A call as a person changed and allowed it."""

    arguments: str
    """Whatever was not changed is written as it was before."""
    headline: str
    """One line that says what would happen now."""
    context: str | None
    """The call as people decide on it, in Markdown."""
    difference: str
    """The changes, in words."""


def digest_of(written: str) -> str:
    """Return the digest by which edited arguments are named."""
    return f"sha256:{hashlib.sha256(written.encode()).hexdigest()}"


def describe_difference(before: str, after: str) -> str:
    """Say what differs between two JSON texts, a line or more for each place."""
    text = "\n".join(
        line for change in json_edits.changes(before, after) for line in _lines(change)
    )
    return text if len(text) <= _MAX_DIFFERENCE else f"{text[: _MAX_DIFFERENCE - 1]}…"


def _lines(change: Change) -> Iterator[str]:
    name = ".".join(map(_shown, change.path))
    if change.before is None:
        yield f"+ {name}: {change.after}"
        return
    if change.after is None:
        yield f"- {name}: {change.before}"
        return
    before, after = json.loads(change.before), json.loads(change.after)
    is_text = isinstance(before, str) and isinstance(after, str)
    if not is_text or "\n" not in before + after:
        yield f"{name}: {change.before.strip()} → {change.after.strip()}"
        return
    yield f"{name}:"
    yield from _compare(before.split("\n"), after.split("\n"))


def _shown(key: str) -> str:
    """Return a key within one line, so that none looks like another change."""
    return key if key.isprintable() else json.dumps(key)


def _compare(old: list[str], new: list[str]) -> Iterator[str]:
    """Yield the lines between the common ones at the start and at the end."""
    fewer = min(len(old), len(new))
    head = next((i for i in range(fewer) if old[i] != new[i]), fewer)
    rest = fewer - head
    tail = next((i for i in range(rest) if old[-1 - i] != new[-1 - i]), rest)
    yield from (f"- {line}" for line in old[head : len(old) - tail])
    yield from (f"+ {line}" for line in new[head : len(new) - tail])
