"""Lists in which permissions are decided together: valid with the oddest texts, and these are whole or not allowed."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import NamedTuple

import pytest

from answerback.core.ask import Ask, Destination
from answerback.core.form import AnswerType, Form, Option, OptionKind, Question
from answerback.core.labels import Labels
from answerback.ports.store_values import Page
from answerback.presentation.batch_rows import BatchRow
from answerback.testing.store_examples import new_ask
from answerback_chat.control_codec import NO_ASK, Control, Verb
from answerback_discord import inbox_view as discord_view
from answerback_slack import inbox_view as slack_view
from answerback_telegram import inbox_view as telegram_view
from answerback_telegram.html_text import length
from answerback_telegram.limits import ENTITIES, MESSAGE_TEXT
from tests.fakes.discord import rules as discord_rules
from tests.fakes.slack.checks import check_view
from tests.fakes.telegram.rules import parse_html

LABELS = Labels()
FILLINGS = ("x", "*", "`", "<", "\U0001f469", "\u200b", "a b\n", "@here ")
SIZES = (0, 290, 310, 599, 5_000)


class ListedOn(NamedTuple):
    """A platform's list: how many asks are on a page, its rows, and a check that the platform takes the page."""

    size: int
    rows: Callable[[list[Ask]], list[BatchRow[str]]]
    check: Callable[[list[Ask], bool], str]
    """Returns what is shown; fails if the platform would refuse it."""


def _on_slack(asks: list[Ask], allow: bool) -> str:
    assert check_view(slack_view.build_home_view(asks, (), LABELS, following="x" * 30)) == []
    verb = Verb.ALLOW_SEVERAL if allow else Verb.DENY_SEVERAL
    modal = slack_view.batch_modal(asks, verb, LABELS)
    assert modal is None or check_view(modal) == []
    return json.dumps(modal, ensure_ascii=False)


def _on_discord(asks: list[Ask], allow: bool) -> str:
    page = Page(tuple(asks), "d2FpdGluZzox")
    shown = discord_view.page(page, LABELS, after="d2FpdGluZzox", left=3)
    assert discord_rules.check_callback({"type": 4, "data": shown}) == []
    verb = Verb.ALLOW_SEVERAL if allow else Verb.DENY_SEVERAL
    control = Control(NO_ASK, 999_999_999, verb, "d2FpdGluZzox")
    modal = discord_view.batch_modal(page, control, LABELS, allow=allow)
    assert modal is None or discord_rules.check_callback({"type": 9, "data": modal}) == []
    return json.dumps(modal, ensure_ascii=False)


def _on_telegram(asks: list[Ask], _allow: bool) -> str:
    ticked = [row.tick for row in telegram_view.batch_rows(asks)]
    page = Page(tuple(asks), "d2FpdGluZzox")
    note = LABELS.selection_changed.format(submit=LABELS.allow_once)
    text = str(telegram_view.page(page, LABELS, (), ticked, note)["text"])
    parse_html(text)
    assert length(text) <= MESSAGE_TEXT
    assert text.count("</") <= ENTITIES
    assert not text.startswith("<pre>"), "the marks fit"
    return text


PLATFORMS = {
    "slack": ListedOn(slack_view.PAGE_SIZE, slack_view.batch_rows, _on_slack),  # type: ignore[arg-type] # blocks
    "discord": ListedOn(discord_view.ASKS_PER_PAGE, discord_view.batch_rows, _on_discord),
    "telegram": ListedOn(telegram_view.ASKS_PER_PAGE, telegram_view.batch_rows, _on_telegram),
}


def _permission(surface: str, number: int, text: str, context: str) -> Ask:
    options = (
        Option(value="allow", label="Allow once", kind=OptionKind.ALLOW_ONCE),
        Option(value="deny", label="Deny", kind=OptionKind.DENY),
    )
    question = Question(
        id="decision",
        text=text or "Run it",
        context=context or None,
        answer_type=AnswerType.SELECT,
        options=options,
    )
    place = Destination(surface=surface, channel="C1")
    return new_ask(f"{number:024x}", to=place, form=Form(questions=(question,)), at=1.0)


@pytest.mark.rule("BATCH-5")
@pytest.mark.parametrize("surface", PLATFORMS)
@pytest.mark.parametrize("filling", FILLINGS)
def test_a_full_page_is_valid_whatever_is_in_its_rows(surface: str, filling: str) -> None:
    on = PLATFORMS[surface]
    for size in SIZES:
        text = (filling * 150)[:150].strip()
        for context in ((filling * size)[:size], f"```sh\n{(filling * size)[:size]}\n```"):
            asks = [_permission(surface, n, text, context) for n in range(on.size)]
            for allow in (True, False):
                on.check(asks, allow)


@pytest.mark.rule("BATCH-5")
@pytest.mark.parametrize("surface", PLATFORMS)
def test_a_row_that_can_be_allowed_shows_every_line_and_no_other_does(surface: str) -> None:
    on = PLATFORMS[surface]
    whole = []
    for size in range(1, 60):
        lines = [f"word{n}" for n in range(size)]
        ask = _permission(surface, size, "Run it", f"```sh\n{' '.join(lines)}\n```")
        [row] = on.rows([ask])
        whole.append(row.shown is not None)
        shown = on.check([ask], True)
        assert all(line in shown for line in lines) or row.shown is None
        hidden = _permission(surface, size, "Run it", f"a *b* `c` {'<!-- d -->' * size}")
        [row] = on.rows([hidden])
        assert row.shown is None, "marks are left out"
    assert whole == sorted(whole, reverse=True)
    assert any(whole)
    long = _permission(surface, 1, "R" * 400, "ls")
    assert on.rows([long])[0].shown is None, "its headline is cut"
