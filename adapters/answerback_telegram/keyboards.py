"""Build inline keyboards as JSON; every button's data fits its 64 bytes.

https://core.telegram.org/bots/api#inlinekeyboardmarkup
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, TypeAlias

from pydantic import JsonValue

from answerback.core.view import View
from answerback.presentation.control_buttons import PlannedButton
from answerback_chat.control_codec import Verb, control_prefix, control_suffix
from answerback_telegram import limits
from answerback_telegram.html_text import fit_line

Json: TypeAlias = dict[str, JsonValue]
BUTTON_LABEL: Final = 48
"""Units of a label; a phone shows about that many across."""
PRIMARY: Final = "primary"
DANGER: Final = "danger"
CLOSE: Final = "close"
"""The argument of a control that only removes the message that it is on."""
EMPTY: Final = "empty"
"""The argument of a control that answers without a text."""

Row: TypeAlias = list[Json]


def button(view: View, label: str, verb: Verb, argument: str | int = "", style: str = "") -> Json:
    """Return a button for a control of an ask."""
    return control_button(view.ask_id, view.revision, label, verb, argument, style)


def buttons(view: View, planned: Iterable[PlannedButton]) -> list[Json]:
    return [
        button(view, label, verb, argument, DANGER if is_danger else PRIMARY if is_primary else "")
        for label, verb, argument, is_primary, is_danger in planned
    ]


def control_button(
    ask_id: str, revision: int, label: str, verb: Verb, argument: str | int = "", style: str = ""
) -> Json:
    """Return a button for a control.

    Raises:
        ValueError: its data does not fit.
    """
    data = control_prefix(ask_id, revision) + control_suffix(verb, str(argument))
    made = data_button(label, data)
    return made | {"style": style} if style else made


def data_button(label: str, data: str) -> Json:
    """Return a button that sends its data.

    Raises:
        ValueError: it does not fit.
    """
    if len(data) > limits.CALLBACK_DATA:
        raise ValueError(f"{data!r} is too long for a button")
    return {"text": fit_line(label, BUTTON_LABEL) or "…", "callback_data": data}


def rows(buttons: Sequence[Json], across: int = 3) -> list[Row]:
    """Lay out buttons, as many in a row as fit: short ones up to ``across``, long ones alone."""
    laid: list[Row] = []
    room = 0
    for each in buttons:
        size = len(str(each["text"])) + 4
        if laid and len(laid[-1]) < across and size <= room:
            laid[-1].append(each)
            room -= size
        else:
            laid.append([each])
            room = BUTTON_LABEL - size
    return laid


def inline_keyboard(laid: Iterable[Row]) -> Json:
    return {"inline_keyboard": [[*row] for row in laid if row]}
