"""The Home tab: the asks that wait for its owner, oldest first, with links to their messages, kept up to date."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from answerback.core.ask import Ask, Destination, Outcome, Status, Thread
from answerback.core.errors import StoreError
from answerback.core.form import AnswerType
from answerback.ports.store_values import Page
from answerback.ports.surface import Surface
from answerback.runtime.clock import SystemClock
from answerback.runtime.sockets import chat_http_session
from answerback.service.service import Service
from answerback.workers.message_sync import MessageSync, SyncPace
from answerback_slack import inbox, inbox_view
from answerback_slack.manifest import EVENTS
from answerback_testing.example_asks import with_values
from tests.fakes.slack import home_tab as fake_home_tab
from tests.fakes.slack.checks import check_view
from tests.fakes.slack.person import Person
from tests.fakes.slack.schema import Json
from tests.fakes.slack.visible_message import Sight, look
from tests.service_support import WAIT, escalate_to
from tests.surface_setups import create_host
from tests.unit.adapters.slack.asks import single_question_ask
from tests.unit.adapters.slack.rig import (
    LABELS,
    App,
    Rig,
    create_surface,
    rig,
    run_app,
    workspace,
)

GROUP = "S0DBA"


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Homes are updated at once, unless a test is about debouncing."""
    monkeypatch.setattr(inbox, "DEBOUNCE_SECONDS", 0.05)
    monkeypatch.setattr(inbox, "_FIRST_PAUSE", 0.05)


@pytest.fixture
def gathering(soon: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Changes are debounced for as long as in production."""
    monkeypatch.setattr(inbox, "DEBOUNCE_SECONDS", 1.0)


@pytest.fixture
async def up(tmp_path: Path) -> AsyncIterator[Rig]:
    async with rig(tmp_path) as made:
        made.slack.event_types = {name.partition(".")[0] for name in EVENTS}
        made.slack.workspace.add_group(GROUP, made.ada.id)
        yield made


def question(text: str) -> dict[str, Any]:
    return {"id": "q", "text": text, "answer_type": "boolean"}


def shown(up: Rig, person: Person) -> Sight | None:
    """Return a person's Home as it is now."""
    view = up.slack.workspace.homes.get(person.id)
    return look(view) if view else None


def waiting(up: Rig, person: Person) -> list[str]:
    """The texts of a person's Home above the recently answered asks."""
    sight = shown(up, person)
    texts = list(sight.texts) if sight else []
    if LABELS.recently_answered in texts:
        texts = texts[: texts.index(LABELS.recently_answered)]
    return texts


async def until(up: Rig, person: Person, *texts: str) -> list[str]:
    """Wait until exactly these questions are in a person's Home, in this order."""

    def so() -> bool:
        lines = waiting(up, person)
        return [line for line in lines if line.endswith("?")] == [*texts] and bool(lines)

    await up.slack.until(so)
    return waiting(up, person)


async def opened(up: Rig, person: Person, *texts: str) -> list[str]:
    """Open a Home and wait for these questions."""
    up.slack.workspace.homes.pop(person.id, None)
    fake_home_tab.open_home(person)
    found = await until(up, person, *texts)
    await up.slack.queue.settle()  # Slack sends an event that is acknowledged late again
    return found


@pytest.mark.rule("SLACK-11", "INBOX-1")
async def test_a_home_shows_waiting_asks_oldest_first_with_who_asks_and_since_when(
    up: Rig,
) -> None:
    first = await up.submit(question("Apply the migration?"))
    await up.submit(question("Not for Ada?"), responders=[up.bob.id])
    second = await up.submit(question("Drop the table?"), responders=[f"@{GROUP}"], expires_in=900)
    direct = await up.submit(question("Just you?"), to=f"slack:@{up.ada.id}", responders=None)
    lines = await opened(up, up.ada, "Apply the migration?", "Drop the table?", "Just you?")
    assert lines[0] == LABELS.inbox_title
    assert lines[2] == LABELS.asks.format(label="Assistant")
    assert lines[3].startswith("since 20")
    assert "closes 20" in lines[6]
    sight = shown(up, up.ada)
    assert sight is not None
    links = [control.element["url"] for control in sight.controls]
    assert [
        ask.placement.thread.url for ask in (first, second, direct) if ask.placement.thread
    ] == links
    labels = [control.element["accessibility_label"] for control in sight.controls]
    assert labels[0] == "Open: Apply the migration?"


@pytest.mark.rule("SLACK-11")
async def test_a_home_without_waiting_asks_says_so(up: Rig) -> None:
    fake_home_tab.open_home(up.bob)
    await up.slack.until(lambda: shown(up, up.bob))
    assert waiting(up, up.bob) == [LABELS.inbox_title, LABELS.inbox_empty]


@pytest.mark.rule("SLACK-11", "INBOX-1")
async def test_a_home_without_waiting_asks_says_where_questions_are_open_to_anyone(
    up: Rig,
) -> None:
    up.slack.workspace.add_channel("C0DEV", up.ada.id, name="dev")
    for text, channel in (("One?", "C0OPS"), ("Two?", "C0DEV"), ("Three?", "C0DEV")):
        await up.submit(question(text), responders="anyone", to=f"slack:{channel}")
    fake_home_tab.open_home(up.bob)
    await up.slack.until(lambda: shown(up, up.bob))
    home = json.dumps(up.slack.workspace.homes[up.bob.id].body)
    assert LABELS.inbox_empty_mine.format(count=3, where="<#C0OPS>, <#C0DEV>") in home
    assert "Three?" not in home  # whoever looks may not see that channel


@pytest.mark.rule("SLACK-11")
async def test_an_open_home_is_updated_by_new_asks_answers_and_ends(up: Rig) -> None:
    await opened(up, up.ada)
    ask = await up.submit(question("Apply the migration?"))
    lines = await until(up, up.ada, "Apply the migration?")
    ack = await fake_home_tab.press(up.ada, LABELS.open_message)
    assert ack.ok
    await up.ada.click(up.live(ask), LABELS.yes)
    lines = await until(up, up.ada)
    assert LABELS.inbox_empty in lines
    sight = shown(up, up.ada)
    assert sight is not None
    assert f"{LABELS.recently_answered}\nApply the migration?" in sight.text
    assert "✓ Answered by ada" in sight.text
    other = await up.submit(question("And this one?"))
    await until(up, up.ada, "And this one?")
    await up.app.service.withdraw(other.id)
    await until(up, up.ada)
    assert up.bob.id not in up.slack.workspace.homes


@pytest.mark.rule("SLACK-11")
async def test_group_members_see_the_asks_of_the_group_come_and_go(up: Rig) -> None:
    await opened(up, up.ada)
    await opened(up, up.bob)
    ask = await up.submit(question("For the group?"), responders=[f"@{GROUP}"])
    await until(up, up.ada, "For the group?")
    await up.app.service.withdraw(ask.id)
    await until(up, up.ada)
    assert LABELS.inbox_empty in waiting(up, up.bob)


@pytest.mark.rule("SLACK-11")
async def test_an_open_home_loses_an_ask_that_is_escalated_to_others(up: Rig) -> None:
    up.slack.workspace.add_channel("C0ELSE")
    ask = await up.submit(question("Apply the migration?"))
    await opened(up, up.ada, "Apply the migration?")
    elsewhere = Destination(surface="slack", channel="C0ELSE")
    await escalate_to(up.app.service, ask, elsewhere, [up.bob.id])
    await until(up, up.ada)


@pytest.mark.rule("SLACK-11")
async def test_a_home_stays_on_the_current_page_when_it_is_updated(
    up: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inbox_view, "PAGE_SIZE", 2)
    asks = [await up.submit(question(f"Number {n}?")) for n in range(5)]
    await opened(up, up.ada, "Number 0?", "Number 1?")
    assert (await fake_home_tab.press(up.ada, LABELS.next)).ok
    await until(up, up.ada, "Number 2?", "Number 3?")
    await fake_home_tab.press(up.ada, LABELS.next)
    await until(up, up.ada, "Number 4?")
    await up.app.service.withdraw(
        asks[4].id
    )  # the last page is empty now, so the previous one is shown
    await until(up, up.ada, "Number 2?", "Number 3?")
    await fake_home_tab.press(up.ada, LABELS.previous)
    await until(up, up.ada, "Number 0?", "Number 1?")


@pytest.mark.rule("SLACK-11")
async def test_a_home_that_was_opened_before_a_restart_is_kept_up_to_date(tmp_path: Path) -> None:
    async with workspace() as (slack, ada, bob):
        slack.event_types |= {"app_home_opened"}
        async with run_app(slack, tmp_path / "answerback.db", "socket") as app:
            await opened(Rig(slack, app, ada, bob), ada)
        async with run_app(slack, tmp_path / "answerback.db", "socket") as app:
            up = Rig(slack, app, ada, bob)
            await up.submit(question("Apply the migration?"))
            await until(up, ada, "Apply the migration?")


@pytest.mark.usefixtures("gathering")
@pytest.mark.rule("SLACK-11")
async def test_one_of_several_processes_publishes_wherever_the_home_was_opened(
    tmp_path: Path,
) -> None:
    async with rig(tmp_path) as up, replica_of(up) as other:
        up.slack.event_types |= {"app_home_opened"}
        await opened(up, up.ada)
        for n, app in enumerate((up.app, other)):
            on = Rig(up.slack, app, up.ada, up.bob)
            ask = await on.submit(question(f"Number {n}?"))
            await until(up, up.ada, f"Number {n}?")
            published = [call for call in up.slack.calls if call.method == "views.publish"]
            assert sum(f"Number {n}?" in str(call.args) for call in published) == 1
            await app.service.withdraw(ask.id)
            await until(up, up.ada)


@asynccontextmanager
async def replica_of(up: Rig) -> AsyncIterator[App]:
    """Another process on the same store, as far as Slack can tell."""
    async with chat_http_session() as http:
        surfaces: dict[str, Surface] = {}
        known = frozenset({"slack"})
        service = Service(up.app.store, SystemClock(), surfaces, known_surfaces=known)
        surface = create_surface(service, up.slack, create_host(http), "socket")
        surfaces["slack"] = surface
        shower = MessageSync(service, pace=SyncPace(first_pause=0.02))
        await surface.start()
        try:
            yield App(surface, service, up.app.store, shower)
        finally:
            await surface.stop()
            await shower.stop()


@pytest.mark.rule("SLACK-11")
async def test_rate_limits_delay_a_home_and_lose_nothing(up: Rig) -> None:
    await opened(up, up.ada)
    up.slack.faults.add("views.publish", times=1, status=429, retry_after=1)
    await up.submit(question("Apply the migration?"))
    await until(up, up.ada, "Apply the migration?")
    limited = [call for call in up.slack.calls if call.method == "views.publish"]
    assert [call.status for call in limited][-2:] == [429, 200]


@pytest.mark.usefixtures("gathering")
@pytest.mark.rule("SLACK-11")
async def test_a_burst_of_changes_is_published_together(up: Rig) -> None:
    await opened(up, up.ada)
    before = up.slack.count("views.publish")
    asks = [up.submit(question(f"Number {n}?")) for n in range(8)]
    await asyncio.gather(*asks)
    await up.slack.until(lambda: len(waiting(up, up.ada)) > 8 * 2)
    assert up.slack.count("views.publish") - before <= 4


@pytest.mark.usefixtures("gathering")
@pytest.mark.rule("SLACK-11")
async def test_the_queue_of_homes_is_bounded_and_drains_however_many_may_answer(up: Rig) -> None:
    homes = up.app.surface._homes
    assert homes is not None
    for crowd in range(3):
        everybody = tuple(f"U{crowd}X{n}" for n in range(1_500))
        homes.refresh_for(
            with_values(single_question_ask(AnswerType.BOOLEAN), responders=everybody)
        )
    assert len(homes._queue) == 2_000
    await opened(up, up.ada)  # goes first, ahead of everybody who is queued
    async with asyncio.timeout(WAIT):
        while homes._queue:  # noqa: ASYNC110 nothing signals it
            await asyncio.sleep(0.02)
    assert set(up.slack.workspace.homes) == {up.ada.id}


@pytest.mark.rule("SLACK-11")
async def test_without_the_home_tab_asks_still_work_and_it_is_logged_once(
    up: Rig, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    up.slack.home_tab = False
    for _ in range(2):
        fake_home_tab.open_home(up.ada)
        await up.slack.until(lambda: up.slack.count("views.publish"))
        ask = await up.submit(question("Apply the migration?"))
        await up.ada.click(up.live(ask), LABELS.yes)
        assert (await up.shown(ask)).status is Status.ANSWERED
        await up.slack.queue.settle()
    logged = [each.getMessage() for each in caplog.records]
    [warning] = [message for message in logged if message.startswith("Slack rejected the Home tab")]
    assert "App Home" in warning


@pytest.mark.rule("SLACK-11")
async def test_opening_the_messages_tab_publishes_nothing(up: Rig) -> None:
    fake_home_tab.open_home(up.ada, "messages")
    await up.slack.queue.settle()
    fake_home_tab.open_home(up.bob)
    await up.slack.until(lambda: shown(up, up.bob))
    assert up.ada.id not in up.slack.workspace.homes


@pytest.mark.rule("DATA-13", "SLACK-11")
@pytest.mark.parametrize("user", ["", None, 7, {}, "U", "U0<a>"])
async def test_a_home_opened_by_nobody_holds_up_nobody(up: Rig, user: object) -> None:
    up.slack.emit({"type": "app_home_opened", "user": user, "tab": "home"})
    await up.slack.queue.settle()
    assert up.slack.queue.unacked == []
    ask = await up.submit(question("Apply the migration?"), responders=[up.ada.id])
    await opened(up, up.ada, "Apply the migration?")
    assert ask.open


@pytest.mark.rule("SLACK-11")
async def test_an_ask_without_a_permalink_is_shown_in_full_in_place(up: Rig) -> None:
    up.slack.faults.add("chat.getPermalink", times=1, error="internal_error")
    await up.submit(question("Apply the migration?"))
    await opened(up, up.ada, "Apply the migration?")
    assert (await fake_home_tab.press(up.ada, LABELS.details)).ok
    assert "Apply the migration?" in look(await up.ada.sees_modal()).text


@pytest.mark.usefixtures("impatient")
@pytest.mark.rule("SLACK-11")
async def test_if_the_store_is_down_slack_sends_the_event_again(
    up: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    save, failed = up.app.store.drafts.save, asyncio.Event()

    async def fails_once(*what: Any) -> None:
        monkeypatch.setattr(up.app.store.drafts, "save", save)
        failed.set()
        raise StoreError("the disk is full")

    monkeypatch.setattr(up.app.store.drafts, "save", fails_once)
    await opened(up, up.ada)
    assert failed.is_set()


# --- what is published ---------------------------------------------------------------------------

URL = "https://acme.slack.com/archives/C1/p1700000000000100"


def listed(ask: Ask, number: int = 0, url: str | None = URL) -> Ask:
    return replace(
        ask,
        id=f"ask_{number:024x}",
        placement=replace(ask.placement, thread=Thread(channel="C1", id="1.0", url=url)),
    )


def wire(view: Json) -> Json:
    read: Json = json.loads(json.dumps(view))
    return read


@pytest.mark.rule("SLACK-11")
def test_the_largest_home_is_within_slacks_limits() -> None:
    text = "漢\U0001f469" * 10_000
    question = single_question_ask(AnswerType.BOOLEAN, text=text)
    waits = [listed(question, n, f"{URL}{'x' * 2_900}") for n in range(inbox_view.PAGE_SIZE)]
    ended = replace(question, outcome=Outcome(status=Status.FAILED, at=1_700_000_000.0))
    recent = [listed(ended, 100 + n) for n in range(inbox_view.RECENT_SIZE)]
    view = wire(
        inbox_view.build_home_view(Page(tuple(waits), "c" * 500), recent, LABELS, first=False)
    )
    assert check_view(view, foreign=False) == []
