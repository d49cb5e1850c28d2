"""Previews of chats' messages: the question first, each choice once, all of it escaped, and cut as the chat cuts it."""

from __future__ import annotations

import re
from html import unescape
from typing import Final

import pytest

from answerback.core.ask import Ask
from answerback.core.labels import Labels
from answerback.core.question_markdown import without_marks
from answerback.core.view import view_of
from answerback.presentation.attribution import utc_time
from answerback.runtime.plugins import installed_plugins
from answerback_base.sanitize import one_line
from answerback_testing.message_cases import CUT, KINDS, MESSAGE_CASES, PHASES

LABELS: Final = Labels()
CHATS: Final = {plugin.name: plugin for plugin in installed_plugins() if plugin.name != "web"}
ASKS: Final = {name: ask for group in MESSAGE_CASES.values() for name, ask in group.items()}
_ELEMENT: Final = re.compile(r"<(/?)(\w+)[^<>]*>")


def previewed(chat: str, ask: Ask) -> str:
    """Return the HTML of an ask on a chat."""
    preview = CHATS[chat].preview(ask, LABELS)
    assert preview is not None
    return str(preview.html)


def texts_in(html: str) -> list[str]:
    """Return the texts between the elements, each on one line."""
    return [text for each in _ELEMENT.split(html) if (text := one_line(unescape(each)))]


@pytest.fixture(params=CHATS)
def chat(request: pytest.FixtureRequest) -> str:
    """Each chat."""
    return str(request.param)


@pytest.mark.rule("CLI-6")
def test_the_question_stands_above_what_it_is_about(chat: str) -> None:
    for name, about in (("permission", "rm -rf build</pre>"), ("boolean", "forty")):
        view = view_of(KINDS[name])
        assert view.prompt is not None
        html = previewed(chat, KINDS[name])
        assert html.index(view.prompt.question.text) < html.index(about)


@pytest.mark.rule("CLI-6")
@pytest.mark.parametrize(
    "name", [name for name, ask in KINDS.items() if ask.form.questions[0].options]
)
def test_each_choice_stands_once(chat: str, name: str) -> None:
    texts = texts_in(previewed(chat, KINDS[name]))
    for option in KINDS[name].form.questions[0].options:
        assert texts.count(one_line(without_marks(option.label))) == 1


@pytest.mark.rule("CLI-6")
@pytest.mark.parametrize("name", ASKS)
def test_elements_are_closed_in_turn_and_nothing_of_an_agent_is_one(chat: str, name: str) -> None:
    """The texts of these asks have marks of every platform."""
    opened: list[str] = []
    html = previewed(chat, ASKS[name])
    for end, element in _ELEMENT.findall(html):
        if end:
            assert opened.pop() == element
        elif element not in {"input", "hr"}:
            opened.append(element)
    assert opened == []


def test_what_denies_stands_apart(chat: str) -> None:
    html = previewed(chat, KINDS["permission"])
    assert re.findall(r'class="danger">([^<]*)<', html) == ["Deny"]


def test_a_context_has_its_marks_and_no_others(chat: str) -> None:
    html = previewed(chat, KINDS["text"])
    for part in (
        *("<b>What changes</b>", "<b>invoices</b>", "<code>paid_at</code>", "<i>slowly</i>"),
        *("<s>nothing</s>", "1. lock", "• watch", "┃ Careful: @here &lt;!channel&gt; #general"),
        *("<pre>-ALTER TABLE a;\n+ALTER TABLE b;</pre>", "<hr>", "https://example.com/plan"),
    ):
        assert part in html


def test_what_is_cut_there_is_cut_here(chat: str) -> None:
    for name in ("long-question", "long-context", "long-reply"):
        html = previewed(chat, CUT[name])
        assert "…" in html
        assert LABELS.details in texts_in(html)


def test_reviews_and_records_have_their_answers(chat: str) -> None:
    review, record = (texts_in(previewed(chat, PHASES[each])) for each in ("review", "reply"))
    assert LABELS.review_title in review
    assert LABELS.submit in review
    assert any("the *blue* cluster" in text for text in review)
    assert any("Not on a *Friday*. Monday." in text for text in record)
    assert LABELS.submit not in record


def test_who_may_answer_is_named(chat: str) -> None:
    [audience] = [
        text for text in texts_in(previewed(chat, PHASES["for-some-people"])) if "For " in text
    ]
    assert audience.startswith("For Ada, Bob, Cy")
    closes = PHASES["for-some-people"].schedule.expires_at
    assert closes is not None
    assert utc_time(closes) in audience
