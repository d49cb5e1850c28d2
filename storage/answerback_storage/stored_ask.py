"""The state of an ask as its row holds it: one flat JSON object, as earlier versions wrote it and still read it.

During an upgrade, replicas of two versions share a database.
"""

from __future__ import annotations

from dataclasses import MISSING, field, fields, make_dataclass
from typing import Any, Final, get_type_hints

from pydantic import AliasGenerator, ConfigDict, TypeAdapter

from answerback.core.ask import PARTS, Ask
from answerback.core.person import StrictDataclass
from answerback.core.placement import PlaceBefore, Placement

_IN_COLUMNS: Final = {"id", "revision", "shown_revision", "message", "thread", "request", "walk"}
"""Fields that are stored apart. The walk grows with every click, so `answerback_storage.rows` writes it itself."""
STORED_NAMES: Final = {
    "wait_seconds": "attended_for",
    "agent_left": "unattended",
    "unread_by_agent": "uncollected",
    "last_actor": "acted_by",
    "last_action_revision": "acted_revision",
    "unreachable_accounts": "accounts_refused",
    "clock_set_back": "set_back",
    "reminders_done": "reminded",
    "reminders_done_before": "reminded_before",
    "reminders_restarted_at": "reminded_from",
    "old_message": "left",
    "place_before": "before",
    "was_visible": "seen",
    "opening": "opened",
    "mismatches": "missed",
    "retry_request": "tried_again",
    "recipient_ids": "handed_to",
    "hand_over_failed": "returned",
    "awaits_inquiry": "inquiring",
    "read_by_agent_at": "collected_at",
}
"""The fields that rows have under the names that they were first stored with."""


def _named(kind: type[Any]) -> tuple[tuple[str, str], ...]:
    """Return the names of the fields of an ask or a part, each with its stored name."""
    return tuple((each.name, STORED_NAMES.get(each.name, each.name)) for each in fields(kind))


PART_FIELDS: Final = {
    stored: (part, name) for part, kind in PARTS.items() for name, stored in _named(kind)
}
"""The part that each field of one belongs to, and the field's name there, by its stored name."""
RENAMED_FIELDS: Final = {stored: name for name, stored in _named(Ask) if name != stored}
"""The names of those fields of an ask itself whose stored names differ."""
_BEFORE: Final = {each.name for each in fields(Placement)} - {"place_before", "shown_revision"}
_PLACEMENT: Final = TypeAdapter(Placement)


def _flat_fields() -> list[Any]:
    """Return the fields of an ask and of its parts, for `make_dataclass`."""
    flat: list[Any] = []
    for kind in (Ask, *PARTS.values()):
        types = get_type_hints(kind, include_extras=True) | {"place_before": dict[str, Any] | None}
        for each in fields(kind):
            if each.default is MISSING:
                flat.append((each.name, types[each.name]))
            else:
                flat.append((each.name, types[each.name], field(default=each.default)))
    return [each for each in flat if each[0] not in _IN_COLUMNS | PARTS.keys()]


_WRITES_STORED_NAMES: Final = ConfigDict(
    alias_generator=AliasGenerator(serialization_alias=lambda name: STORED_NAMES.get(name, name)),
    serialize_by_alias=True,
)
StoredState: Final[type[Any]] = make_dataclass(
    "StoredState",
    _flat_fields(),
    bases=(StrictDataclass,),
    namespace={"__pydantic_config__": _WRITES_STORED_NAMES},
    kw_only=True,
)


def flatten_before(before: PlaceBefore) -> dict[str, Any]:
    """Return the place before a move in its stored form, which names all values even if they are None."""
    placement = _PLACEMENT.dump_python(before.placement, include=_BEFORE)
    there = {STORED_NAMES.get(name, name): value for name, value in placement.items()}
    if not there["stand_ins"]:
        del there["stand_ins"]  # earlier versions read no ask that has it
    closed = {"is_closed": True} if before.is_closed else {}  # as above
    return {
        **there,
        "revision": before.revision,
        "opened": before.opening,
        "by": before.by,
        **closed,
    }


def nest_before(before: dict[str, Any]) -> None:
    """Move the values of a stored place before a move to the placement that they belong to."""
    stored = ((name, STORED_NAMES.get(name, name)) for name in _BEFORE)
    before["placement"] = {name: before.pop(key) for name, key in stored if key in before}
    if "opened" in before:
        before["opening"] = before.pop("opened")
