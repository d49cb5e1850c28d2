"""Asking back about a question keeps what is already entered, even without JavaScript."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from answerback.core.ask import Ask
from tests.browser.site import Site
from tests.unit.adapters.web.examples import MANY, TEXT, path
from tests.unit.adapters.web.reader import Reader

YES_NO = {"id": "y", "text": "Go on?", "answer_type": "boolean"}


async def asked(site: Site, question: Mapping[str, Any]) -> Ask:
    return await site.ask(question, accepts=["clarify"])


@pytest.mark.rule("CLARIFY-3")
async def test_what_is_ticked_stays_ticked_when_somebody_asks_back(
    web_site: Site, visitor: Reader
) -> None:
    ask = await asked(web_site, MANY)
    page = await visitor.open(path(ask))
    entered = [("choice", "0"), ("choice", "2"), ("ask_back", "How long do they take?")]
    page = await visitor.press(page, path(ask), "ask_back", entered)
    assert page.status == 200
    assert "How long do they take?" in page.text
    assert page.values("choice") == ["0", "2"]
    assert page.values("ask_back") == [""]
    page = await visitor.press(page, path(ask), "answer")
    assert [answer.value for answer in (await web_site.stored(ask)).walk.answers] == [["a", "c"]]


@pytest.mark.rule("CLARIFY-3")
async def test_a_text_that_is_being_written_stays_when_somebody_asks_back(
    web_site: Site, visitor: Reader
) -> None:
    ask = await asked(web_site, TEXT)
    page = await visitor.open(path(ask))
    entered = {"text": "half a sent", "ask_back": "How long may it be?"}
    page = await visitor.press(page, path(ask), "ask_back", entered)
    assert page.values("text") == ["half a sent"]


async def test_without_other_input_the_browser_is_redirected_to_the_page(
    web_site: Site, visitor: Reader
) -> None:
    ask = await asked(web_site, YES_NO)
    page = await visitor.open(path(ask))
    entered = {"ask_back": "Why now?"}
    answer = await visitor.press(page, path(ask), "ask_back", entered, follow=False)
    assert answer.status == 303
