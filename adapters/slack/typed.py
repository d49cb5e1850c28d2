"""What a person typed, out of what Slack makes of it: entities, links and mentions undone. Pure.

Source: https://docs.slack.dev/messaging/formatting-message-text (retrieving formatted messages).
"""

from __future__ import annotations

import re
from typing import Final

_ENTITY: Final = re.compile(r"<([^<>]*)>")
_SCHEME: Final = re.compile(r"\A(?:[a-z][a-z0-9+.-]*://|mailto:|tel:)", re.IGNORECASE)
_SIGILS: Final = {"@": "@", "#": "#"}


def mentions(text: str, user_id: str) -> bool:
    """Whether the message mentions this user."""
    return re.search(rf"<@{re.escape(user_id)}(\|[^<>]*)?>", text) is not None


def without_mention(text: str, user_id: str) -> str:
    """The message without the mention that addressed it, at its start or else its end, and what sets that apart.

    A mention in the middle of the words is one of them.
    """
    mention = rf"<@{re.escape(user_id)}(?:\|[^<>]*)?>"
    if first := re.match(rf"\s*{mention}[ \t]*[,:]?[ \t]*\n?", text):
        return text[first.end() :]
    if last := re.search(rf"{mention}\s*\Z", text):
        return text[: last.start()].rstrip()
    return text


def decoded(text: str) -> str:
    """The characters that the person typed: links without what Slack adds, mentions as @name.

    A link that was given other words keeps its address behind them.
    """
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
    address = target.removeprefix("mailto:")
    if not label or label == target or _bare(label) == _bare(target):
        return label or address
    return f"{label} ({address})"


def _bare(address: str) -> str:
    """An address as a person types it: Slack adds the scheme."""
    return _SCHEME.sub("", address).removesuffix("/")
