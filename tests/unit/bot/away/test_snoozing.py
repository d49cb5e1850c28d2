"""A person takes a question off their own list until later; it is back then, or as soon as it needs them anew."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from answerback.core.actions import Answer
from answerback.core.ask import Ask, Reason, Status, end_ask
from answerback.core.clarification import AskBack
from answerback.core.handing_over import HandOver
from answerback.core.person import Person
from answerback.ports.commands import CommandAnswer, CommandUse
from answerback.ports.search import Search
from answerback.ports.surface import Acted, Actor
from answerback.workers.reminders import remind
from answerback_away import snoozes as module
from answerback_away import texts
from answerback_away.snoozes import needs
from answerback_storage.sqlite.store import SqliteStore
from tests.service_support import ManualClock
from tests.unit.bot.away.team import ANN, BOB, CY, Team
from tests.unit.bot.conftest import Parts

HOUR = 3_600.0
ANN_ON_THE_WEB = Person(surface="web", user_id="ann@example.com")


async def listed(team: Team, person: Person = ANN) -> list[str]:
    """Return the ids of what a person's list has."""
    page = await team.service.list_waiting_for(Actor(person), None, 50)
    return [ask.id for ask in page.rows]


async def snoozed(team: Team, ask: Ask, person: Person = ANN, seconds: float = HOUR) -> None:
    await team.away.snoozes.snooze(person, ask, team.now + seconds)


@pytest.mark.rule("SNOOZE-1", "SNOOZE-2")
async def test_it_leaves_the_list_of_one_person_until_the_time_is_over(parts: Parts) -> None:
    team = Team(parts)
    first, second = await team.ask("ann", "bob"), await team.ask("ann", "bob")
    before = await team.service.get(first.id)
    await snoozed(team, first)
    for account in (ANN, ANN_ON_THE_WEB):
        assert await listed(team, account) == [second.id]
    assert await listed(team, BOB) == [first.id, second.id]
    assert await team.service.get(first.id) == before, "nothing of the ask has changed"
    await parts.clock.advance(HOUR - 1)
    assert await listed(team) == [second.id]
    await parts.clock.advance(1)
    assert await listed(team) == [first.id, second.id]


@pytest.mark.rule("SNOOZE-1")
async def test_it_is_put_back_at_once_from_any_account(parts: Parts) -> None:
    team = Team(parts)
    ask = await team.ask("ann")
    await snoozed(team, ask)
    [found] = await team.away.snoozes.list_of(ANN_ON_THE_WEB)
    assert (found.ask.id, found.until) == (ask.id, team.now + HOUR)
    await team.away.snoozes.show_again(ANN_ON_THE_WEB, ask)
    assert await listed(team) == [ask.id]
    assert await team.away.snoozes.list_of(ANN) == ()


@pytest.mark.rule("SNOOZE-1")
async def test_the_last_time_that_a_person_says_holds_whatever_account_says_it(
    parts: Parts,
) -> None:
    team = Team(parts)
    ask = await team.ask("ann")
    for account, seconds in ((ANN, 9 * HOUR), (ANN_ON_THE_WEB, HOUR)):
        await snoozed(team, ask, account, seconds)
    assert [each.until for each in await team.away.snoozes.list_of(ANN)] == [team.now + HOUR]
    await parts.clock.advance(HOUR)
    assert await listed(team) == [ask.id]


@pytest.mark.rule("SNOOZE-2")
async def test_a_search_finds_what_is_snoozed(parts: Parts) -> None:
    team = Team(parts)
    ask = await team.ask("ann")
    await snoozed(team, ask)
    found = await team.service.search_for(ANN, Search(status=Status.OPEN), None, 9)
    assert [each.id for each in found.rows] == [ask.id]


@pytest.mark.rule("SNOOZE-2")
async def test_a_list_of_which_whole_pages_are_snoozed_goes_on_behind_them(parts: Parts) -> None:
    team = Team(parts)
    asks = [await team.ask("ann") for _ in range(7)]
    for ask in asks[:5]:
        await snoozed(team, ask)
    page = await team.service.list_waiting_for(Actor(ANN), None, 2)
    assert [ask.id for ask in page.rows] == [asks[5].id]
    rest = await team.service.list_waiting_for(Actor(ANN), page.after, 2)
    assert [ask.id for ask in rest.rows] == [asks[6].id]


async def _reminded(team: Team, ask: Ask) -> None:
    team.parts.chat.not_ready = None
    shown = await team.parts.chat.show(ask, _nothing)
    await team.parts.store.asks.save_shown(ask.id, shown)  # type: ignore[arg-type]  # it shows at once
    await team.parts.clock.advance(61)
    assert await remind(team.service, ask.id, 5) is None


async def _nothing(_shown: object) -> None:
    """Nothing has to be saved halfway."""


async def _handed_over(team: Team, ask: Ask) -> None:
    done = await team.service.act(ask.id, HandOver(to="cy"), Actor(BOB))
    assert isinstance(done, Acted)


async def _answered(team: Team, ask: Ask) -> None:
    done = await team.service.act(ask.id, Answer(value=True), Actor(BOB))
    assert isinstance(done, Acted)
    assert done.ask.confirming


async def _explained(team: Team, ask: Ask) -> None:
    assert isinstance(await team.service.explain(ask.id, "It takes a minute."), Acted)


@pytest.mark.rule("SNOOZE-3")
@pytest.mark.parametrize(
    "happens", [_reminded, _handed_over, _answered, _explained], ids=lambda each: each.__name__
)
async def test_it_is_back_at_once_when_it_needs_people_anew(
    parts: Parts, happens: Callable[[Team, Ask], Awaitable[None]]
) -> None:
    team = Team(parts, confirmations=1, remind_after=[60])
    ask = await team.ask("ann", "bob", accepts=["clarify"])
    await snoozed(team, ask, seconds=24 * HOUR)
    assert await listed(team) == []
    await happens(team, ask)
    assert await listed(team) == [ask.id]
    assert await team.away.snoozes.list_of(ANN) == ()


@pytest.mark.rule("SNOOZE-3")
@pytest.mark.parametrize(
    "change",
    [
        {"schedule": {"escalated": True}},
        {"placement": {"destination": {"channel": "C9"}}},
        {"schedule": {"reminders_restarted_at": 5.0}},
    ],
    ids=["escalated", "moved", "reminders_begun_anew"],
)
async def test_an_escalation_or_a_move_needs_people_anew(
    parts: Parts, change: dict[str, dict[str, Any]]
) -> None:
    ask = await Team(parts).ask("ann")
    changed = ask
    for part, values in change.items():
        old = getattr(ask, part)
        if "destination" in values:
            values = {"destination": replace(old.destination, **values["destination"])}
        changed = replace(changed, **{part: replace(old, **values)})
    assert needs(changed) != needs(ask)


@pytest.mark.rule("SNOOZE-3")
async def test_what_others_do_in_a_form_or_ask_for_brings_nothing_back(parts: Parts) -> None:
    team = Team(parts)
    ask = await team.ask("ann", "bob", accepts=["clarify"])
    await snoozed(team, ask)
    done = await team.service.act(ask.id, AskBack(text="Which one?"), Actor(BOB))
    assert isinstance(done, Acted)
    assert await listed(team) == []


@pytest.mark.rule("SNOOZE-4")
async def test_reminders_and_deadlines_stay_as_they_are(parts: Parts) -> None:
    team = Team(parts, remind_after=[60])
    ask = await team.ask("ann")
    due = ask.next_due()
    await snoozed(team, ask, seconds=24 * HOUR)
    stored = await team.service.get(ask.id)
    assert stored is not None
    assert stored.next_due() == due
    assert team.away.quiet_until(ANN, team.now) is None
    await _reminded(team, ask)
    assert [ask_id for ask_id, _ in parts.chat.reminders] == [ask.id]


@pytest.mark.rule("SNOOZE-2")
async def test_nobody_reads_of_what_does_not_wait_for_them(parts: Parts) -> None:
    team = Team(parts)
    ask = await team.ask("bob")
    snoozes = team.away.snoozes
    assert await snoozes.find(ANN, ask.id) is None
    assert await snoozes.find(ANN, ask.id[:16]) is None
    await snoozed(team, ask)
    assert await snoozes.list_of(ANN) == ()
    own = await team.ask("ann")
    await snoozed(team, own)
    await team.service.act(own.id, Answer(value=True), Actor(ANN))
    assert await snoozes.list_of(ANN) == ()
    assert await snoozes.find(ANN, own.id) is None


@pytest.mark.rule("SNOOZE-5")
async def test_it_holds_over_restarts_and_in_other_processes(parts: Parts, tmp_path: Path) -> None:
    team, other = Team(parts), Team(parts)
    ask = await team.ask("ann")
    await snoozed(team, ask)
    assert await listed(other) == []
    await parts.store.close()
    parts.store = SqliteStore(tmp_path / "asks.db")
    await parts.store.open()
    again = Team(parts)
    assert await listed(again) == []
    await parts.clock.advance(HOUR)
    assert await listed(again) == [ask.id]


@pytest.mark.rule("SNOOZE-5")
async def test_it_is_erased_with_the_ask_and_pruned_when_it_is_over(parts: Parts) -> None:
    team = Team(parts)
    ended, other = await team.ask("ann"), await team.ask("ann")
    for ask in (ended, other):
        await snoozed(team, ask)
    await team.service.update(
        ended.id,
        lambda ask, at: end_ask(ask, Status.WITHDRAWN, at=at, reason=Reason.WITHDRAWN),
    )
    await team.service.erase(ended.id)
    rows = "SELECT ask_id FROM snoozes"
    assert await parts.store.rows.read(rows) == [(other.id,)]
    await parts.store.maintenance.prune(team.now)
    assert await parts.store.rows.read(rows) == [(other.id,)]
    await parts.store.maintenance.prune(team.now + HOUR + 1)
    assert await parts.store.rows.read(rows) == []


class Watched:
    """Notes whose lists are said to have changed."""

    def __init__(self, team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
        self.changed: list[tuple[str, str]] = []
        monkeypatch.setattr(team.service, "list_changed", self._note)

    def _note(self, person: Person, ask: Ask) -> None:
        self.changed.append((person.user_id, ask.id))


@pytest.mark.rule("SNOOZE-3")
async def test_lists_are_updated_when_something_leaves_them_and_when_it_is_back(
    parts: Parts, monkeypatch: pytest.MonkeyPatch
) -> None:
    team = Team(parts)
    watched, ask = Watched(team, monkeypatch), await team.ask("cy")
    await snoozed(team, ask, CY)
    assert watched.changed == [("cy", ask.id)]
    await parts.clock.advance(HOUR - 1)
    await team.away.snoozes.step()
    assert len(watched.changed) == 1
    await parts.clock.advance(1)
    for _ in range(2):
        await team.away.snoozes.step()
    assert watched.changed == [("cy", ask.id)] * 2, "once"
    await snoozed(team, ask, CY)
    await team.away.snoozes.show_again(CY, ask)
    assert len(watched.changed) == 4


@pytest.mark.rule("SNOOZE-3")
async def test_lists_are_updated_after_the_clock_was_set_back(
    parts: Parts, monkeypatch: pytest.MonkeyPatch
) -> None:
    team = Team(parts)
    watched, ask = Watched(team, monkeypatch), await team.ask("cy")
    clock: ManualClock = parts.clock
    await clock.set(-24 * HOUR)
    await team.away.snoozes.step()
    await snoozed(team, ask, CY)
    await clock.advance(HOUR)
    await team.away.snoozes.step()
    assert watched.changed == [("cy", ask.id)] * 2


async def use(team: Team, line: str, person: Person = ANN) -> CommandAnswer:
    """Give the command as a chat does."""
    [command] = [each for each in team.away.commands() if each.name == "snooze"]
    return await command.answer(CommandUse(person, line.removeprefix("snooze").strip()))


@pytest.mark.rule("SNOOZE-1")
async def test_in_a_chat_buttons_snooze_what_is_listed_and_take_that_back(parts: Parts) -> None:
    team = Team(parts)
    asks = [await team.ask("ann") for _ in range(6)]
    shown = await use(team, "snooze")
    assert [each.label for each in shown.buttons] == [f"Snooze {n}" for n in range(1, 6)]
    assert texts.FIRST_ONES.format(count=5) in shown.text
    done = await use(team, shown.buttons[1].command)
    assert done.text.startswith("Snoozed until 2027-01-15 12:00 UTC: ")
    assert await listed(team) == [each.id for each in asks if each != asks[1]]
    [undo] = done.buttons
    assert undo.label == texts.UNDO
    await use(team, undo.command)
    assert await listed(team) == [each.id for each in asks]


@pytest.mark.rule("SNOOZE-1", "COMMAND-2")
@pytest.mark.parametrize("length", ["30m", "2w", "2027-01-20"])
async def test_in_a_chat_another_time_is_said_first(parts: Parts, length: str) -> None:
    team = Team(parts)
    ask = await team.ask("ann")
    [button] = (await use(team, f"snooze {length}")).buttons
    assert len(button.command) <= 30, "what a button's command may have"
    await use(team, button.command)
    assert await listed(team) == []
    again = await use(team, "snooze")
    assert again.text.startswith(texts.NOTHING_WAITS)
    [back] = again.buttons
    assert (await use(team, back.command)).text.startswith("It is on your list again: ")
    assert await listed(team) == [ask.id]


@pytest.mark.rule("SNOOZE-1")
@pytest.mark.parametrize(
    ("line", "answer"),
    [
        ("snooze tomorrow", texts.BAD_SNOOZE),
        ("snooze 0h", texts.BAD_SNOOZE),
        ("snooze 2026-12-24T10:00+00:00", texts.BAD_SNOOZE),
        ("snooze 4h ask_z", texts.NOT_WAITING),
        ("snooze 4h <b>", texts.NOT_WAITING),
        ("snooze back ask_z", texts.NOT_WAITING),
    ],
)
async def test_in_a_chat_what_cannot_be_is_refused_with_a_reason(
    parts: Parts, line: str, answer: str
) -> None:
    team = Team(parts)
    for name in ("ann", "bob"):
        await team.ask(name)
    assert (await use(team, line)).text == answer
    assert len(await listed(team)) == 1


@pytest.mark.rule("SNOOZE-1")
async def test_a_beginning_that_several_ids_have_snoozes_none(parts: Parts) -> None:
    team = Team(parts)
    asks = [await team.ask("ann") for _ in range(17)]  # an id begins with one of 16 digits
    [(beginning, number)] = Counter(ask.id[:5] for ask in asks).most_common(1)
    assert number > 1
    assert (await use(team, f"snooze 4h {beginning}")).text == texts.NOT_WAITING
    assert len(await listed(team)) == 17


@pytest.mark.rule("SNOOZE-1")
async def test_a_beginning_is_compared_with_all_ids_of_a_long_list(
    parts: Parts, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "PAGE", 2)
    team = Team(parts)
    asks = [await team.ask("ann") for _ in range(17)]
    [(beginning, _)] = Counter(ask.id[:5] for ask in asks).most_common(1)
    assert await team.away.snoozes.find(ANN, beginning) is None
    last = asks[-1].id
    assert await team.away.snoozes.find(ANN, last[:-1]) == await team.service.get(last)


@pytest.mark.rule("SNOOZE-1")
async def test_of_many_that_are_snoozed_a_chat_lists_those_that_are_back_first(
    parts: Parts,
) -> None:
    team = Team(parts)
    for hours in range(7, 0, -1):
        await snoozed(team, await team.ask("ann"), seconds=hours * HOUR)
    shown = await use(team, "snooze")
    assert "1. go?, until 2027-01-15 09:00 UTC" in shown.text
    assert len(shown.buttons) == 5
    assert shown.text.endswith(texts.FIRST_ONES.format(count=5))
