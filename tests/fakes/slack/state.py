"""The input that a person has entered so far in a message or a modal.

Owns `state.values`: the initial values, their replacements, and what the client itself refuses.
"""

import re

from tests.fakes.slack.schema import Json, units
from tests.fakes.slack.visible_message import Choice, Control

Values = dict[str, dict[str, Json]]
_SINGLE = ("static_select", "radio_buttons", "external_select", "overflow")
_MULTI = ("multi_static_select", "checkboxes", "multi_external_select")
_TEXT = ("plain_text_input", "number_input", "email_text_input", "url_text_input")
_FILES = "file_input"
_MOST_FILE = 10 * 1024 * 1024
"""https://docs.slack.dev/reference/block-kit/block-elements/file-input-element"""
_PICKERS = {
    "users_select": ("selected_user", "initial_user"),
    "datepicker": ("selected_date", "initial_date"),
    "timepicker": ("selected_time", "initial_time"),
    "datetimepicker": ("selected_date_time", "initial_date_time"),
}


class ClientRefusalError(AssertionError):
    """Slack's own client does not let a person do this; nothing was sent."""


def key_of(kind: str) -> str:
    """The key under which an element's value is sent."""
    if kind in _SINGLE:
        return "selected_option"
    if kind in _MULTI:
        return "selected_options"
    if kind == _FILES:
        return "files"
    return _PICKERS[kind][0] if kind in _PICKERS else "value"


def initial(control: Control) -> Json:
    """The state of an untouched element."""
    kind, element = control.kind, control.element
    if kind in _SINGLE:
        value = element.get("initial_option")
    elif kind in _MULTI:
        value = list(element.get("initial_options", []))
    elif kind in _PICKERS:
        value = element.get(_PICKERS[kind][1])
    elif kind == _FILES:
        value = []
    else:
        value = element.get("initial_value")
    return {"type": kind, key_of(kind): value}


def initial_values(controls: tuple[Control, ...], kept: Values) -> Values:
    """The state of all elements that have one; `kept` input under the same ids and kind stays."""
    values: Values = {}
    for control in controls:
        if control.kind in ("button", "overflow"):
            continue
        old = kept.get(control.block_id, {}).get(control.action_id)
        entry = old if old is not None and old["type"] == control.kind else initial(control)
        values.setdefault(control.block_id, {})[control.action_id] = entry
    return values


def entered(control: Control, value: object, found: tuple[Choice, ...] = ()) -> Json:
    """The state after a person entered something: text, a label, labels, or a date.

    Raises:
        ClientRefusalError: when an option is not there, or the field does not take so much.
    """
    kind, key = control.kind, key_of(control.kind)
    if kind in _SINGLE:
        return {"type": kind, key: _pick(control, str(value), found)}
    if kind in _MULTI:
        labels = [value] if isinstance(value, str) else list(value)  # type: ignore[call-overload]
        most = control.element.get("max_selected_items")
        if isinstance(most, int) and len(labels) > most:
            raise ClientRefusalError(f"{control.label!r} takes at most {most} choices")
        return {"type": kind, key: [_pick(control, str(label), found) for label in labels]}
    if kind == _FILES:
        files: list[Json] = list(value)  # type: ignore[call-overload]
        if len(files) > control.element.get("max_files", 10):
            raise ClientRefusalError(f"{control.label!r} takes fewer files")
        if any(file["size"] > _MOST_FILE for file in files):
            raise ClientRefusalError(f"{control.label!r} takes smaller files")
        return {"type": kind, key: files}
    if kind in _TEXT:
        most = control.element.get("max_length", 3000)
        if units(str(value)) > most:
            raise ClientRefusalError(f"{control.label!r} takes at most {most} characters")
        return {"type": kind, key: str(value) or None}
    return {"type": kind, key: value}


def _pick(control: Control, label: str, found: tuple[Choice, ...]) -> Json:
    choices = [c for c in (*control.choices, *found) if c.label == label]
    if not choices:
        there = [c.label for c in (*control.choices, *found)]
        raise ClientRefusalError(f"{control.label!r} has no option {label!r}; it has {there}")
    return choices[0].option


def refuse_submit(controls: tuple[Control, ...], values: Values) -> None:
    """Check a submit as the client does before it sends it.

    Raises:
        ClientRefusalError: for an empty required field, a text too short, or a malformed number,
            address or link.
    """
    for control in controls:
        entry = values.get(control.block_id, {}).get(control.action_id)
        if entry is None:
            continue
        value = entry[key_of(control.kind)]
        if value in (None, "", []):
            if not control.optional:
                raise ClientRefusalError(f"{control.label!r}: please complete this required field")
            continue
        if control.kind in _TEXT:
            _refuse_text(control, str(value))


def _refuse_text(control: Control, value: str) -> None:
    element = control.element
    if units(value) < element.get("min_length", 0):
        raise ClientRefusalError(
            f"{control.label!r} wants at least {element['min_length']} characters"
        )
    if control.kind == "email_text_input" and not re.fullmatch(r"[^@\s]+@[^@\s]+\.[^@\s]+", value):
        raise ClientRefusalError(f"{control.label!r} wants an e-mail address")
    if control.kind == "url_text_input" and not re.fullmatch(r"[a-z][\w+.-]*:\S+", value):
        raise ClientRefusalError(f"{control.label!r} wants a link")
    if control.kind == "number_input":
        _refuse_number(control, value)


def _refuse_number(control: Control, value: str) -> None:
    element = control.element
    pattern = r"-?\d+(\.\d+)?" if element["is_decimal_allowed"] else r"-?\d+"
    if not re.fullmatch(pattern, value):
        raise ClientRefusalError(f"{control.label!r} wants a number")
    if "min_value" in element and float(value) < float(element["min_value"]):
        raise ClientRefusalError(f"{control.label!r} wants at least {element['min_value']}")
    if "max_value" in element and float(value) > float(element["max_value"]):
        raise ClientRefusalError(f"{control.label!r} wants at most {element['max_value']}")
