"""The templates of the pages about being away and snoozing."""

from __future__ import annotations

from functools import cache
from importlib import resources
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jinja2 import Template


@cache
def _template(name: str) -> Template:
    from jinja2 import Environment, StrictUndefined

    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    source = resources.files("answerback_away") / name
    return environment.from_string(source.read_text("utf-8"))


def content_of(name: str, **values: object) -> str:
    """Return a template of this package with these values, each of which it escapes."""
    return _template(name).render(**values)
