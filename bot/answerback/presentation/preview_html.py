"""HTML parts of a message preview: close enough to the real thing to judge the message by. Pure.

Every text is escaped here or before it gets here; what an agent sent never becomes markup of the page.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from markupsafe import Markup

Json = Mapping[str, object]


def tag(name: str, inside: Markup, css_class: str = "") -> Markup:
    """Return an element with a class."""
    return Markup('<{} class="{}">{}</{}>').format(name, css_class, inside, name)


def button(label: Markup, css_class: str) -> Markup:
    return Markup('<button type="button" class="{}">{}</button>').format(css_class, label)


def menu(placeholder: Markup, options: Sequence[Markup]) -> Markup:
    rows = Markup("").join(Markup("<option>{}</option>").format(option) for option in options)
    return Markup("<select><option>{}</option>{}</select>").format(placeholder or "…", rows)


def box(kind: str, label: Markup, description: Markup, *, checked: bool) -> Markup:
    """Return a checkbox or radio button with its label."""
    return Markup('<label><input type="{}"{}> {} <small>{}</small></label>').format(
        kind, Markup(" checked") if checked else Markup(""), label, description
    )


def objects(of: Json, name: str) -> Sequence[Json]:
    """Return the objects in a payload's list; none if there is no such list."""
    items = of.get(name)
    return [each for each in items if isinstance(each, dict)] if isinstance(items, list) else []
