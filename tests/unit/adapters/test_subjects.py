"""The subject of an ask in every list and notification: its headline, and the open question if it is another one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final

import pytest

from answerback.core.ask import Ask, Destination, Outcome, Status
from answerback.core.form import AnswerType, Form, Question
from answerback.core.labels import ENGLISH
from answerback.core.view import view_of
from answerback.core.walker import Phase
from answerback.ports.store_values import Page
from answerback_discord import inbox_view as discord_inbox
from answerback_slack import fallback_text
from answerback_slack import inbox_view as slack_home
from answerback_slack import private_notes as slack_notes
from answerback_testing.example_asks import new_ask
from answerback_web import inbox_view as web_inbox

LISTS: Final[dict[str, Callable[[Ask], object]]] = {
    "web": lambda ask: web_inbox.inbox_page([ask], ENGLISH, now=1.0, after=None, first=True),
    "Slack's Home tab": lambda ask: slack_home.build_home_view(
        Page((ask,) if ask.open else (), None), [] if ask.open else [ask], ENGLISH
    ),
    "Slack's fallback text": lambda ask: fallback_text.fallback_text(view_of(ask), ENGLISH),
    "Slack's reminder": lambda ask: slack_notes.reminder(ask, 0, None, ENGLISH),
    "Discord's inbox": lambda ask: discord_inbox.page(Page((ask,), None), ENGLISH),
}


def walked(at: int | None, *, ended: bool = False) -> Ask:
    """An ask of two questions at one of them; None: at the review."""
    questions = tuple(
        Question(id=text, text=text, answer_type=AnswerType.BOOLEAN)
        for text in ("Deploy now?", "Tell everyone?")
    )
    made = new_ask("1", to=Destination(surface="web"), form=Form(questions=questions, review=True))
    phase = Phase.REVIEW if at is None else made.walk.phase
    outcome = Outcome(status=Status.EXPIRED, at=1.0) if ended else None
    walk = replace(made.walk, at=at, phase=phase)
    return replace(made, walk=walk, outcome=outcome)


@pytest.mark.rule("ASK-9")
@pytest.mark.parametrize("shown", LISTS.values(), ids=LISTS)
def test_every_list_and_notification_says_what_the_ask_is_about(
    shown: Callable[[Ask], object],
) -> None:
    first, second, review = str(shown(walked(0))), str(shown(walked(1))), str(shown(walked(None)))
    assert "Deploy now?" in first
    assert "Tell everyone?" not in first
    assert second.index("Deploy now?") < second.index("Tell everyone?")
    assert review.index("Deploy now?") < review.index(ENGLISH.review_title)
    assert "Deploy now?" in str(shown(walked(1, ended=True)))
