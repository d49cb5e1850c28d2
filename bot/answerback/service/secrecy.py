"""What an agent may not read: until people have confirmed an ask's answers, the agent learns none of them. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from answerback.core.ask import Ask
from answerback.core.view import View
from answerback.ports.store_values import StoredEntry

_OPEN_KINDS: Final = frozenset(
    {"request", "confirmed", "handed_over", "clarify", "context", "ended", "delivery", "note"}
)
"""The kinds of record entries that contain no answer, or say that the ask has ended."""


def keeps_secret(ask: Ask) -> bool:
    """Whether an ask has answers, now or soon, that its agent may not read yet."""
    return ask.open and ask.form.confirmation is not None


def view_for_agent(ask: Ask, view: View) -> View:
    """Return a view without its answers, and without the open question if that depends on an answer."""
    if not keeps_secret(ask):
        return view
    prompt, confirmation = view.prompt, view.confirmation
    label = view.label
    if prompt is not None and is_telling(ask, prompt.question.id):
        request, prompt = ask.request, None
        label = request.form.tool or request.origin.asker(request.agent, request.prompt_label)
    elif prompt is not None:
        prompt = prompt._replace(prefill=prompt.question.default, again=None)
    if confirmation is not None:
        question = confirmation.about.question.model_copy(update={"context": None})
        confirmation = confirmation._replace(about=confirmation.about._replace(question=question))
    return view._replace(prompt=prompt, confirmation=confirmation, lines=(), label=label)


def entries_for_agent(ask: Ask, entries: Iterable[StoredEntry]) -> list[StoredEntry]:
    """Return the entries of an ask's record that its agent may read now."""
    if not keeps_secret(ask):
        return [*entries]
    return [
        stored
        for stored in entries
        if stored.entry.kind in _OPEN_KINDS and not is_telling(ask, stored.entry.question_id)
    ]


def is_telling(ask: Ask, question_id: str | None) -> bool:
    """Whether it tells something about the answers that this question was put."""
    questions = ask.form.questions
    has_conditions = any(each.when is not None for each in questions)
    return has_conditions and question_id not in {None, questions[0].id}
