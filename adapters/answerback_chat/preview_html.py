"""The parts of a picture of a message, in HTML: near enough to judge the message by. Pure.

Every text is escaped before it comes here, or here; what an agent sent is never markup of the page.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from markupsafe import Markup

Json = Mapping[str, object]


def tag(name: str, inside: Markup, look: str = "") -> Markup:
    """An element with a class."""
    return Markup('<{} class="{}">{}</{}>').format(name, look, inside, name)


def button(label: Markup, look: str) -> Markup:
    """A button."""
    return Markup('<button type="button" class="{}">{}</button>').format(look, label)


def menu(placeholder: Markup, options: Sequence[Markup]) -> Markup:
    """A menu with its options."""
    rows = Markup("").join(Markup("<option>{}</option>").format(option) for option in options)
    return Markup("<select><option>{}</option>{}</select>").format(placeholder or "…", rows)


def box(kind: str, label: Markup, description: Markup, *, checked: bool) -> Markup:
    """A checkbox or radio button with its words."""
    return Markup('<label><input type="{}"{}> {} <small>{}</small></label>').format(
        kind, Markup(" checked") if checked else Markup(""), label, description
    )


def objects(of: Json, name: str) -> Sequence[Json]:
    """The objects of a list in a payload; none where there is no list."""
    found = of.get(name)
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []
