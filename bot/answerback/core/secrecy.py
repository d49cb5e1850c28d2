"""Keep answers from the agent as long as other people have to confirm them. Pure.

If the ask ends without enough confirmations, that stays so.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from answerback.core.ask import Ask, Reason, Status, headline_of
from answerback.core.errors import NO_RETRY
from answerback.core.sent_files import SentFile, sent_files
from answerback.core.view import View

_FAILED: Final = f"The call failed before its answers were confirmed. {NO_RETRY} in this turn."
"""Instead of a message that may name the question at which it failed."""


def keeps_secret(ask: Ask) -> bool:
    """Return True if an ask has answers, now or soon, that its agent may not read."""
    return ask.form.confirmation is not None and ask.status is not Status.ANSWERED


def without_unconfirmed(ask: Ask) -> Ask:
    """Return an ended ask as its agent may read it: without answers that nobody confirmed, which it says."""
    outcome = ask.outcome
    if outcome is None or not keeps_secret(ask) or not ask.walk.answers:
        return ask
    if outcome.status is not Status.FAILED:
        outcome = replace(outcome, reason=Reason.NOT_CONFIRMED)
    elif has_telling_failure(ask):
        outcome = replace(outcome, reason=Reason.NOT_CONFIRMED, message=_FAILED)
    # Where it ended would tell that a question was asked because of an answer.
    walk = replace(ask.walk, at=0, answers=(), again=None, kept=(), editing=None)
    return replace(ask, walk=walk, outcome=outcome)


def has_telling_failure(ask: Ask) -> bool:
    """Return True if an ask with a secret failed at a question that was asked because of an answer."""
    if (at := ask.walk.at) is None or ask.status is not Status.FAILED or not keeps_secret(ask):
        return False
    return is_telling(ask, ask.form.questions[at].id)


def is_unconfirmed(ask: Ask) -> bool:
    """Return True if an ask has ended with answers that nobody confirmed."""
    outcome = without_unconfirmed(ask).outcome
    return outcome is not None and outcome.reason is Reason.NOT_CONFIRMED


def readable_files(ask: Ask, *, to_people: bool = False) -> list[SentFile]:
    """Return what people have sent with their answers and replies, as far as its agent may read it now.

    Args:
        to_people: whether people read it, who also see what waits for confirmation.
    """
    secret = keeps_secret(ask) and not to_people
    # A reply is told at once, and so is what comes with it.
    return [each for each in sent_files(ask.walk) if each.question_id is None or not secret]


def view_for_agent(ask: Ask, view: View) -> View:
    """Return the view of an ask with a secret: no answers, and no open question that depends on one."""
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
    # Whether another question is left may tell which are asked.
    return view._replace(
        prompt=prompt,
        confirmation=confirmation,
        lines=(),
        label=label,
        has_next=False,
        headline=headline_of(ask.form),  # not that of a call that somebody has changed
    )


def is_telling(ask: Ask, question_id: str | None) -> bool:
    """Return True if the mere fact that this question was asked tells something about the answers."""
    questions = ask.form.questions
    has_conditions = any(each.when is not None for each in questions)
    return has_conditions and question_id not in {None, questions[0].id}
