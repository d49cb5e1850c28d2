"""The state of an ask as its row holds it: one flat JSON object, as earlier versions wrote it and still read it.

During an upgrade, replicas of two versions share a database.
"""

from __future__ import annotations

from dataclasses import MISSING, field, fields, make_dataclass
from typing import Any, Final, get_type_hints

from pydantic import TypeAdapter

from answerback.core.ask import PARTS, Ask
from answerback.core.person import StrictDataclass
from answerback.core.placement import PlaceBefore, Placement

_IN_COLUMNS: Final = {"id", "revision", "shown_revision", "message", "thread", "request", "walk"}
"""Fields that are stored apart. The walk grows with every click, so `answerback_storage.rows` writes it itself."""
PART_FIELDS: Final = tuple(
    (part, tuple(each.name for each in fields(kind))) for part, kind in PARTS.items()
)
"""The names of the fields of each part."""
_BEFORE: Final = {each.name for each in fields(Placement)} - {"before", "shown_revision"}
_PLACEMENT: Final = TypeAdapter(Placement)


def _flat_fields() -> list[Any]:
    """Return the fields of an ask and of its parts, for `make_dataclass`."""
    flat: list[Any] = []
    for kind in (Ask, *PARTS.values()):
        types = get_type_hints(kind, include_extras=True) | {"before": dict[str, Any] | None}
        for each in fields(kind):
            if each.default is MISSING:
                flat.append((each.name, types[each.name]))
            else:
                flat.append((each.name, types[each.name], field(default=each.default)))
    return [each for each in flat if each[0] not in _IN_COLUMNS | PARTS.keys()]


StoredState: Final[type[Any]] = make_dataclass(
    "StoredState", _flat_fields(), bases=(StrictDataclass,), kw_only=True
)


def flatten_before(before: PlaceBefore) -> dict[str, Any]:
    """Return the place before a move in its stored form, which names all values even if they are None."""
    there = _PLACEMENT.dump_python(before.placement, include=_BEFORE)
    if not there["stand_ins"]:
        del there["stand_ins"]  # earlier versions read no ask that has it
    return {**there, "revision": before.revision, "opened": before.opened, "by": before.by}


def nest_before(before: dict[str, Any]) -> None:
    """Move the values of a stored place before a move to the placement that they belong to."""
    before["placement"] = {name: before.pop(name) for name in _BEFORE if name in before}
