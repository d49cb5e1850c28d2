"""What a person typed, out of what Slack makes of it: entities, links and mentions undone. Pure.

Source: https://docs.slack.dev/messaging/formatting-message-text (retrieving formatted messages).
"""

from __future__ import annotations

import re
from typing import Final

_ENTITY: Final = re.compile(r"<([^<>]*)>")
_SIGILS: Final = {"@": "@", "#": "#"}


def mentions(text: str, user_id: str) -> bool:
    """Whether the message mentions this user."""
    return re.search(rf"<@{re.escape(user_id)}(\|[^<>]*)?>", text) is not None


def without_mention(text: str, user_id: str) -> str:
    """The message without the mention that addressed it, and without the blanks or punctuation around that."""
    bare = re.sub(rf"\s*<@{re.escape(user_id)}(\|[^<>]*)?>[ \t]*", " ", text)
    return bare.strip().removeprefix(",").removeprefix(":").strip() if bare != text else text


def decoded(text: str) -> str:
    """The characters that the person typed: links without what Slack adds, mentions as @name."""
    plain = _ENTITY.sub(_entity, text)
    return plain.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")


def _entity(match: re.Match[str]) -> str:
    target, _, label = match[1].partition("|")
    if target[:1] in _SIGILS:
        return _SIGILS[target[0]] + (label or target[1:]).removeprefix(target[0])
    if target.startswith("!date^"):
        return label
    if target.startswith("!"):
        return "@" + (label or target[1:].partition("^")[2] or target[1:]).removeprefix("@")
    return label or target.removeprefix("mailto:")
