"""Build Discord's components as JSON. The names are Discord's own; nothing is decided here.

https://docs.discord.com/developers/components/reference
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import IntEnum
from typing import Final, TypeAlias

from pydantic import JsonValue

from answerback_chat.control_codec import objects_of
from answerback_discord import limits

Json: TypeAlias = dict[str, JsonValue]

ACTION_ROW: Final = 1
BUTTON: Final = 2
STRING_SELECT: Final = 3
TEXT_INPUT: Final = 4
USER_SELECT: Final = 5
SECTION: Final = 9
TEXT_DISPLAY: Final = 10
MEDIA_GALLERY: Final = 12
SEPARATOR: Final = 14
CONTAINER: Final = 17
LABEL: Final = 18
FILE_UPLOAD: Final = 19
RADIO_GROUP: Final = 21
CHECKBOX_GROUP: Final = 22


class ButtonStyle(IntEnum):
    PRIMARY = 1
    SECONDARY = 2
    SUCCESS = 3
    DANGER = 4
    LINK = 5


def text(content: str) -> Json:
    """A Text Display with this Markdown."""
    return {"type": TEXT_DISPLAY, "content": content}


def gallery(pictures: Sequence[tuple[str, str]]) -> Json:
    """Pictures that are attached to the message: their names there, and what stands for them in words."""
    items: list[JsonValue] = [
        {"media": {"url": f"attachment://{name}"}, "description": described}
        for name, described in pictures
    ]
    return {"type": MEDIA_GALLERY, "items": items}


def separator() -> Json:
    """A thin line."""
    return {"type": SEPARATOR, "divider": True, "spacing": 1}


def button(label: str, custom_id: str, style: ButtonStyle = ButtonStyle.SECONDARY) -> Json:
    """A button that sends its custom_id."""
    return {"type": BUTTON, "style": int(style), "label": label, "custom_id": custom_id}


def link_button(label: str, url: str) -> Json:
    """A button that opens a URL; Discord does not report clicks on it."""
    return {"type": BUTTON, "style": int(ButtonStyle.LINK), "label": label, "url": url}


def rows(buttons: Sequence[Json]) -> list[Json]:
    """Arrange buttons in as few rows as possible."""
    size = limits.BUTTONS_PER_ROW
    chunks = [buttons[i : i + size] for i in range(0, len(buttons), size)]
    return [{"type": ACTION_ROW, "components": [*chunk]} for chunk in chunks]


def option(label: str, value: str, description: str = "", default: bool = False) -> Json:
    """One choice of a select, radio group or checkbox group."""
    choice: Json = {"label": label, "value": value}
    if description:
        choice["description"] = description
    if default:
        choice["default"] = True
    return choice


def select(
    custom_id: str,
    options: Sequence[Json],
    *,
    placeholder: str,
    least: int = 1,
    most: int = 1,
    required: bool | None = None,
) -> Json:
    """A menu of 1 to 25 options; ``required`` only applies in modals."""
    menu: Json = {
        "type": STRING_SELECT,
        "custom_id": custom_id,
        "options": [*options],
        "min_values": least,
        "max_values": most,
        "placeholder": placeholder,
    }
    if required is not None:
        menu["required"] = required
    return menu


def choice_group(
    kind: int, custom_id: str, options: Sequence[Json], *, required: bool, **bounds: int
) -> Json:
    """The radio buttons or checkboxes of a modal."""
    group: Json = {"type": kind, "custom_id": custom_id, "required": required, **bounds}
    return group | {"options": [*options]}


def section(content: str, accessory: Json) -> Json:
    """Markdown with a button next to it."""
    return {"type": SECTION, "components": [text(content)], "accessory": accessory}


def container(parts: Sequence[Json], color: int) -> Json:
    """A box with a coloured edge."""
    return {"type": CONTAINER, "accent_color": color, "components": [*parts]}


def message(parts: Sequence[Json], *, private: bool = False) -> Json:
    """The fields of a Components V2 message, for a post, an edit or the response to an interaction."""
    flags = limits.COMPONENTS_V2 | (limits.EPHEMERAL if private else 0)
    return {"flags": flags, "components": [*parts], "allowed_mentions": {"parse": []}}


def iter_components(components: JsonValue) -> Iterator[Json]:
    """Iterate over all components of a received message or modal, outer ones first; malformed ones are skipped."""
    for component in objects_of(components):
        yield component
        yield from iter_components(component.get("components"))
        yield from iter_components([component.get("component"), component.get("accessory")])
