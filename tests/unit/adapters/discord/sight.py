"""The text that a person can read in a rendered message, with the escapes removed as Discord's client does."""

from __future__ import annotations

import re

from answerback_base.sanitize import visible
from answerback_discord import components as c
from answerback_discord.components import Json

ESCAPE = re.compile(r"\\([^0-9A-Za-z\s])")
OURS = re.compile(r"^(?:-# |>>> )|\*\*(?=\S)|(?<=\S)\*\*|__|^```\n?|\n?```$", re.MULTILINE)


def remove_escapes(markdown: str) -> str:
    """The characters that our escaped markdown shows."""
    return ESCAPE.sub(r"\1", markdown)


def texts_of(message: Json) -> list[str]:
    """All texts of a message or modal as its reader sees them."""
    texts = []
    for part in c.iter_components(message["components"]):
        if part["type"] == c.TEXT_DISPLAY:
            texts.append(remove_escapes(str(part["content"])))
        texts += [
            str(part[key])
            for key in ("label", "placeholder", "description", "value")
            if part.get(key)
        ]
        options = part.get("options")
        for option in options if isinstance(options, list) else []:
            assert isinstance(option, dict)
            texts += [str(option["label"]), str(option.get("description") or "")]
    return texts


def strip_layout(text: str) -> str:
    """A text without blanks and without our own marks, for comparisons."""
    return re.sub(r"[\s*_`\u200b]|-#", "", visible(text))


def controls_of(message: Json) -> list[str]:
    """The custom_ids of all controls."""
    return [
        str(part["custom_id"])
        for part in c.iter_components(message["components"])
        if "custom_id" in part
    ]
