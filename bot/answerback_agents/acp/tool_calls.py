"""Merge the messages in which an agent describes a tool call: people see the sum.

An update names only what has changed (https://agentclientprotocol.com/protocol/tool-calls#updating), but with a request
for permission agents also send empty arguments, shorter summaries, and other content than before.
"""

from __future__ import annotations

from typing import Final

from answerback_agents.pipe.json_rpc import Json, as_object

_MAX_BLOCKS: Final = 1_000
"""Blocks of content that are remembered of one tool call, the last ones."""
_ELLIPSES: Final = ("…", "...")


def merge(known: Json, update: Json) -> Json:
    """Return a tool call with what another message says about it."""
    return {
        **known,
        **{key: _merged(key, known.get(key), value) for key, value in update.items()},
    }


def _merged(key: str, known: object, update: object) -> object:
    if _is_empty(update):
        return update if known is None else known
    if isinstance(update, str) and isinstance(known, str):
        return known if _is_shortened(update, known) else update
    if isinstance(update, dict) and isinstance(known, dict):
        return merge(known, update)
    if isinstance(update, list) and isinstance(known, list) and key in {"content", "locations"}:
        return _added(known, update)
    return update


def _is_empty(value: object) -> bool:
    return value is None or value in ("", [], {})


def _is_shortened(update: str, known: str) -> bool:
    """Return True if a text is the beginning of one that is known whole."""
    ending = next((each for each in _ELLIPSES if update.endswith(each)), None)
    return ending is not None and known.startswith(update.removesuffix(ending))


def _added(known: list[object], update: list[object]) -> list[object]:
    """Return the blocks of two messages, each once: one whose text stands in another's adds nothing."""
    blocks = [*known]
    for block in update:
        if any(block == each or _contains(each, block) for each in blocks):
            continue
        within = [each for each in blocks if _contains(block, each)]
        if within:
            blocks[blocks.index(within[0])] = block
            blocks = [each for each in blocks if each is block or each not in within]
        else:
            blocks.append(block)
    return blocks[-_MAX_BLOCKS:]


def _contains(one: object, other: object) -> bool:
    """Return True if the text of a block contains that of another."""
    whole, part = _text(one), _text(other)
    return whole is not None and part is not None and part.strip() in whole


def _text(block: object) -> str | None:
    fields = as_object(block)
    inner = as_object(fields.get("content"))
    text = inner.get("text")
    is_text = (fields.get("type"), inner.get("type")) == ("content", "text")
    return text if is_text and isinstance(text, str) else None
