"""Each limit of notifications at its boundary."""

from __future__ import annotations

from dataclasses import replace

import pytest

from answerback.core.form import AnswerType, Form, Question
from answerback.core.labels import ENGLISH
from answerback_push import push_text
from answerback_push.settings import PushRules
from tests.limit_edges import edge
from tests.unit.adapters.slack.asks import ask_of

pytestmark = pytest.mark.rule("WEB-1")


@edge("PUSH_LINE")
def test_a_line_of_a_notification_has_200_units() -> None:
    question = Question(id="q", text="Which one?", answer_type=AnswerType.BOOLEAN)
    ask = ask_of(Form(questions=(question,)))
    for length, full in ((200, True), (201, False)):
        asker = "x" * (length - len("A question from  is waiting."))
        request = ask.request.model_copy(update={"agent": None, "prompt_label": asker})
        named = replace(ask, request=request)
        message = push_text.push_message(named, over=False, labels=ENGLISH, rules=PushRules())
        assert (message["text"] == f"A question from {asker} is waiting.") == full
