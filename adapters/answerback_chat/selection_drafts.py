"""Drafts of multi-select answers that are not submitted yet: stored next to the ask, changed by one click at a time."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Collection
from contextlib import AbstractAsyncContextManager
from typing import Final
from weakref import WeakValueDictionary

from pydantic import JsonValue

from answerback.core.actions import Action, Other
from answerback.core.ask import Ask
from answerback.core.clarification import walk_revision
from answerback.core.errors import Problem
from answerback.core.view import Prompt
from answerback.ports.surface import Asks
from answerback.presentation import form_values
from answerback.presentation.option_controls import (
    is_several,
    selected_indexes,
    selection_digest,
)
from answerback_chat.control_codec import Control, Verb

_VERBS: Final = frozenset(
    {Verb.CHOOSE, Verb.SUBMIT_SELECTION, Verb.PAGE, Verb.SEARCH, Verb.OTHER, Verb.NOTE}
)
"""The controls that read or change what is chosen or shown of a list."""


class SelectionDrafts:
    """The selection at each ask's open question. Asking back and the agent's explanation leave it as it was."""

    def __init__(self, asks: Asks) -> None:
        self._asks = asks
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    def lock_for(self, control: Control) -> AbstractAsyncContextManager[None]:
        """Return the lock on the selection that a control is about; clicks acquire it in their order."""
        if control.verb not in _VERBS:
            return contextlib.nullcontext()
        return self._locks.setdefault(control.ask_id, asyncio.Lock())

    async def load(self, ask: Ask) -> tuple[int, ...] | None:
        """Return the selected indexes, or None if nobody has changed the prefill's selection."""
        return _chosen(await self._asks.draft(_key(ask)))

    async def selected(self, ask: Ask, prompt: Prompt | None) -> tuple[int, ...]:
        """Return the indexes that are selected now; none if the open question is not a multi-select."""
        if prompt is None or not is_several(prompt):
            return ()
        return selected_indexes(prompt, await self.load(ask))

    async def save(self, ask: Ask, chosen: tuple[int, ...]) -> None:
        await self._asks.save_draft(_key(ask), {"chosen": [*chosen]})

    async def change(
        self, ask: Ask, prompt: Prompt, change: Callable[[frozenset[int]], Collection[int]]
    ) -> tuple[int, ...]:
        """Replace the selection with what ``change`` makes of the stored one, and return it.

        Clicks may arrive at several processes at the same time, and ``change`` may be called again.
        """

        def changed(draft: JsonValue) -> JsonValue:
            selected = frozenset(selected_indexes(prompt, _chosen(draft)))
            return {"chosen": [*sorted(change(selected))]}

        return _chosen(await self._asks.change_draft(_key(ask), changed)) or ()


def _chosen(draft: JsonValue) -> tuple[int, ...] | None:
    chosen = draft.get("chosen") if isinstance(draft, dict) else None
    return tuple(i for i in chosen if isinstance(i, int)) if isinstance(chosen, list) else None


def check_selection(selected: tuple[int, ...], seen: str, changed: str) -> tuple[Problem, ...]:
    """Return the problem with an entry beside a selection that is no longer the one that its person saw.

    Args:
        seen: what ends with the digest of that one.
        changed: the message if it is another one now.
    """
    if seen.endswith(selection_digest(selected)):
        return ()
    return (Problem(pointer="", code="unknown_value", message=changed),)


def with_selected(other: Other, prompt: Prompt, selected: tuple[int, ...]) -> Action:
    """Add the selection to a free-text answer."""
    values = form_values.option_values(prompt.question, selected)
    return form_values.with_selection(other, prompt, values)


def _key(ask: Ask) -> str:
    return f"{ask.id}:{walk_revision(ask)}:ticks"
