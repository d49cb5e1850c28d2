"""A Home that is published while its person turns the page, or while another cannot be."""

from __future__ import annotations

from typing import Any

import pytest

from answerback.core.ask import Ask
from answerback.core.person import Person
from answerback.ports.store_values import Page
from answerback_slack import inbox_view
from tests.fakes.slack import home_tab
from tests.fakes.slack.schema import Json
from tests.unit.adapters.slack.rig import LABELS, Rig
from tests.unit.adapters.slack.test_inbox import opened, question, until


@pytest.fixture(autouse=True)
def homes(up: Rig) -> None:
    up.slack.event_types |= {"app_home_opened"}


@pytest.mark.rule("SLACK-11")
async def test_a_home_opened_while_its_page_is_found_empty_shows_the_first_page(
    up: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inbox_view, "PAGE_SIZE", 1)
    asks = [await up.submit(question(f"Number {n}?")) for n in range(3)]
    await opened(up, up.ada, "Number 0?")
    for number in (1, 2):
        await home_tab.press(up.ada, LABELS.next)
        await until(up, up.ada, f"Number {number}?")
    list_waiting_for = up.app.service.list_waiting_for

    async def opens_meanwhile(*what: Any) -> Page[Ask]:
        monkeypatch.setattr(up.app.service, "list_waiting_for", list_waiting_for)
        found = await list_waiting_for(*what)
        home_tab.open_home(up.ada)
        await up.slack.queue.settle()
        return found

    monkeypatch.setattr(up.app.service, "list_waiting_for", opens_meanwhile)
    await up.app.service.withdraw(asks[2].id)
    await until(up, up.ada, "Number 0?")


@pytest.mark.rule("SLACK-11")
async def test_a_defect_in_one_home_is_logged_and_the_others_are_published(
    up: Rig, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    for person in (up.ada, up.bob):
        await opened(up, person)
    build = inbox_view.build_home_view

    def breaks_once(*_: Any, **__: Any) -> Json:
        monkeypatch.setattr(inbox_view, "build_home_view", build)
        raise RuntimeError("a renderer broke")

    monkeypatch.setattr(inbox_view, "build_home_view", breaks_once)
    await up.submit(question("Both?"), responders=[up.ada.id, up.bob.id])
    await until(up, up.bob, "Both?")
    assert "a renderer broke" in caplog.text


@pytest.mark.rule("SLACK-11", "SNOOZE-3")
async def test_an_open_home_follows_what_leaves_its_persons_list_and_comes_back(
    up: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    service = up.app.service
    mine, _ = await up.submit(question("Mine?")), await up.submit(question("Other?"))
    await opened(up, up.ada, "Mine?", "Other?")
    listed = service.list_waiting_for

    async def without_mine(*what: Any) -> Page[Ask]:
        found = await listed(*what)
        return Page(tuple(ask for ask in found.rows if ask.id != mine.id), found.after)

    person = Person(surface="slack", user_id=up.ada.id)
    with monkeypatch.context() as patch:
        patch.setattr(service, "list_waiting_for", without_mine)
        service.list_changed(person, mine)
        await until(up, up.ada, "Other?")
    service.list_changed(person, mine)
    await until(up, up.ada, "Mine?", "Other?")
