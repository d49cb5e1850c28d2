"""Read what people entered in Slack's inputs, and fields of payloads whatever is in them. Pure; never raises.

https://docs.slack.dev/reference/interaction-payloads/view-interactions-payload
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from re import Pattern
from typing import Final, TypeAlias

from answerback.core.schema_field_values import FieldEntry

Values: TypeAlias = Mapping[str, FieldEntry]
"""The contents of the inputs in a message or modal, by block_id: a text, or the indexes of the selected options."""

_MAX_INDEX_DIGITS: Final = 6
_MAX_SECONDS: Final = 10_000_000_000
"""No datetimepicker holds more: https://docs.slack.dev/reference/block-kit/block-elements/datetime-picker-element"""


def entered_values(state: Mapping[str, object]) -> dict[str, FieldEntry]:
    """The contents of all inputs."""
    return {
        block_id: entered(element)
        for block_id, block in items_of(state.get("values"))
        for _, element in items_of(block)
    }


def entered(element: object) -> FieldEntry:
    """The content of one input: https://docs.slack.dev/reference/interaction-payloads/view-interactions-payload"""
    each = object_of(element)
    if "selected_options" in each:
        return [i for o in list_of(each["selected_options"]) if (i := _index(o)) is not None]
    if "selected_option" in each:
        index = _index(each["selected_option"])
        return None if index is None else [index]
    for key in ("value", "selected_date", "selected_time", "selected_user"):
        if isinstance(each.get(key), str):
            return text_of(each[key])
    seconds = each.get("selected_date_time")
    return str(seconds) if isinstance(seconds, int) and not isinstance(seconds, bool) else None


def _index(option: object) -> int | None:
    value = text_of(object_of(option).get("value"))
    if value.isascii() and value.isdigit() and len(value) <= _MAX_INDEX_DIGITS:
        return int(value)
    return None


def items_of(value: object) -> Iterator[tuple[str, object]]:
    """The items of an object."""
    for key, item in object_of(value).items():
        yield str(key), item


def object_of(value: object) -> Mapping[str, object]:
    """The value if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def list_of(value: object) -> list[object]:
    """The value if it is a list, else an empty one."""
    return value if isinstance(value, list) else []


def id_of(value: object, form: Pattern[str]) -> str | None:
    """The value if it is an id of this form."""
    return value if isinstance(value, str) and form.fullmatch(value) else None


def text_of(value: object) -> str:
    """The value if it is a text, else an empty one."""
    return value if isinstance(value, str) else ""


def entered_lines(view: Mapping[str, object]) -> Iterator[str]:
    """What was entered in a modal as the person sees it: one line per input, with its label; options by theirs."""
    values = object_of(object_of(view.get("state")).get("values"))
    for block in map(object_of, list_of(view.get("blocks"))):
        for _, element in items_of(values.get(text_of(block.get("block_id")))):
            if text := _displayed_text(object_of(element)):
                yield f"{_text_of(block.get('label'))}: {text}"


def _displayed_text(element: Mapping[str, object]) -> str:
    """The content of one input as the person sees it."""
    options = list_of(element.get("selected_options")) or [element.get("selected_option")]
    chosen = [_text_of(object_of(option).get("text")) for option in options]
    seconds = element.get("selected_date_time")
    if isinstance(seconds, int) and 0 <= seconds < _MAX_SECONDS:
        return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M UTC")
    entry = entered(element)
    return entry if isinstance(entry, str) else ", ".join(text for text in chosen if text)


def _text_of(value: object) -> str:
    return text_of(object_of(value).get("text"))
