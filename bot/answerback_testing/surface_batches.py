"""Contract tests for lists in which a person decides about several permissions together."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import pytest

from answerback.core.ask import Ask, Destination, Status
from answerback.core.clarification import CLARIFY
from answerback.core.confirmation import ConfirmationRule
from answerback.core.form import AnswerType, Form, Question
from answerback.core.people import People
from answerback.ports.store_values import Page
from answerback.ports.surface import Actor
from answerback_testing.simulated_people import (
    Capability,
    HasBatches,
    SimulatedPerson,
    Stage,
    requires_capability,
)
from answerback_testing.surface_clicks import answered_values
from answerback_testing.surface_questions import ALLOW, DENY, GO, LABELS

_LONG = "true; " * 200 + "rm -rf /srv"
_MAX_CLEARING = 240.0
"""Seconds in which a hundred permissions are decided, on a machine with much else to do."""


def _permission(command: str, **more: Any) -> Form:
    question = Question(
        id="decision",
        text=f"Run {command[:40]}",
        context=f"```sh\n{command}\n```",
        answer_type=AnswerType.SELECT,
        options=(ALLOW, DENY),
    )
    return Form(questions=(question,), **more)


async def _ask(stage: Stage, who: SimulatedPerson, form: Form) -> Ask:
    request = {"dialect": "approval", "accepts": (CLARIFY,)}
    return await stage.harness.create_ask(form, stage.place, (who.user_id,), request=request)


async def _decisions(stage: Stage, asks: Sequence[Ask]) -> list[object]:
    return [answered_values(await stage.harness.read_stored(ask.id)) for ask in asks]


ListWaiting = Callable[[Actor, str | None, int], Awaitable[Page[Ask]]]


def _without(ask_id: str, listed: ListWaiting) -> ListWaiting:
    """Return what lists what waits for people, but for an ask."""

    async def list_waiting(actor: Actor, after: str | None, limit: int) -> Page[Ask]:
        page = await listed(actor, after, limit)
        return Page(tuple(ask for ask in page.rows if ask.id != ask_id), page.after)

    return list_waiting


@requires_capability(Capability.BATCHES)
class BatchesContract:
    """Contract of lists: which permissions they decide, and which they never do."""

    @pytest.mark.rule("BATCH-5")
    @pytest.mark.parametrize("allow", [True, False])
    async def test_a_list_decides_what_is_ticked_and_nothing_else(
        self, stage: Stage, ada: HasBatches, allow: bool
    ) -> None:
        asks = [await _ask(stage, ada, _permission(f"make t{n}\nmake u{n}")) for n in range(3)]
        rows = await ada.list_tickable(allow=allow)
        assert [*rows] == [ask.id for ask in asks]
        assert all(f"make u{n}" in row for n, row in enumerate(rows.values()))
        read = await ada.decide_ticked([ask.id for ask in asks[:2]], allow=allow)
        value = "allow" if allow else "deny"
        assert await _decisions(stage, asks) == [[value], [value], []]
        assert LABELS.batch_left.partition("{count}")[0] not in read
        assert [*await ada.list_tickable(allow=allow)] == [asks[2].id]

    @pytest.mark.rule("BATCH-5")
    async def test_a_list_allows_only_what_it_shows_whole(
        self, stage: Stage, ada: HasBatches
    ) -> None:
        """A permission whose context does not fit, a question, and what others confirm are not allowed in it."""
        long, short = [await _ask(stage, ada, _permission(c)) for c in (_LONG, "ls")]
        question = await _ask(stage, ada, Form(questions=(GO,)))
        confirmed = await _ask(stage, ada, _permission("pwd", confirmation=ConfirmationRule(due=1)))
        rows = await ada.list_tickable(allow=True)
        assert [*rows] == [short.id]
        assert "ls" in rows[short.id]
        assert [*await ada.list_tickable(allow=False)] == [long.id, short.id]
        await ada.decide_ticked([long.id], allow=False)
        asks = [long, short, question, confirmed]
        assert await _decisions(stage, asks) == [["deny"], [], [], []]

    @pytest.mark.rule("BATCH-5")
    async def test_what_changed_or_was_taken_away_is_left_and_stops_no_other(
        self, stage: Stage, ada: HasBatches, bob: SimulatedPerson
    ) -> None:
        """An ask that was withdrawn, explained, or given to others since the list was opened is not decided."""
        asks = [await _ask(stage, ada, _permission(f"make {n}")) for n in range(3)]
        others = await _ask(stage, bob, _permission("make x"))
        assert [*await ada.list_tickable(allow=True)] == [ask.id for ask in asks]
        service = stage.harness.service
        await service.withdraw(asks[0].id)
        await service.explain(asks[1].id, "This also deletes the database.")
        await stage.restart()
        read = await ada.decide_ticked([ask.id for ask in asks], allow=True)
        says = (LABELS.batch_left, LABELS.batch_left_named)
        assert any(label.format(count=2) in read for label in says)
        assert await _decisions(stage, [*asks, others]) == [[], [], ["allow"], []]
        assert (await stage.harness.read_stored(asks[0].id)).status is Status.WITHDRAWN

    @pytest.mark.rule("SNOOZE-2")
    async def test_a_list_is_without_what_its_person_has_taken_off_it(
        self,
        stage: Stage,
        ada: HasBatches,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        asks = [await _ask(stage, ada, _permission(f"make {n}")) for n in range(3)]
        assert [*await ada.list_tickable(allow=False)] == [ask.id for ask in asks]
        for each in (stage.harness, *stage.harness.other_replicas):
            listed = each.service.list_waiting_for
            monkeypatch.setattr(each.service, "list_waiting_for", _without(asks[1].id, listed))
        assert [*await ada.list_tickable(allow=False)] == [asks[0].id, asks[2].id]
        monkeypatch.undo()
        assert [*await ada.list_tickable(allow=False)] == [ask.id for ask in asks]

    @pytest.mark.rule("BATCH-7", "PEOPLE-4")
    @pytest.mark.parametrize("allow", [True, False])
    async def test_a_list_decides_what_waits_for_another_account_of_the_person(
        self, stage: Stage, ada: HasBatches, allow: bool
    ) -> None:
        harness, surfaces = stage.harness, (stage.place.surface, "elsewhere")
        accounts = tuple(f"{surface}:{ada.user_id}" for surface in surfaces)
        for each in (harness, *harness.other_replicas):
            each.service.people.update_from(People({"ada": accounts}))
        own = await _ask(stage, ada, _permission("make here"))
        place = Destination(surface="elsewhere", channel="C1")
        request = {"dialect": "approval", "accepts": (CLARIFY,)}
        others = [
            await harness.create_ask(_permission(command), place, (ada.user_id,), request=request)
            for command in ("make there", _LONG)
        ]
        rows = await ada.list_tickable(allow=allow)
        shown = [own, *others[: 1 if allow else 2]]
        assert [*rows] == [ask.id for ask in shown]
        assert "make there" in rows[others[0].id]
        await ada.decide_ticked([ask.id for ask in shown], allow=allow)
        value = "allow" if allow else "deny"
        assert await _decisions(stage, shown) == [[value]] * len(shown)
        rest = await ada.list_tickable(allow=False)
        assert [*rest] == [ask.id for ask in others[len(shown) - 1 :]]


@requires_capability(Capability.BATCHES)
class ManyContract:
    """Contract of many open asks: what they may take."""

    @pytest.mark.rule("BATCH-5", "INBOX-1")
    async def test_a_hundred_mixed_permissions_are_cleared(
        self, stage: Stage, ada: HasBatches
    ) -> None:
        commands = [_LONG if n % 10 == 9 else f"make t{n}" for n in range(100)]
        asks = await asyncio.gather(*(_ask(stage, ada, _permission(c)) for c in commands))
        # What a page does not show whole is denied only once the page has nothing else.
        async with asyncio.timeout(_MAX_CLEARING):
            while True:
                allowed = await ada.list_tickable(allow=True)
                rows = allowed or await ada.list_tickable(allow=False)
                if not rows:
                    break
                await ada.decide_ticked([*rows], allow=bool(allowed))
        decided = await _decisions(stage, asks)
        assert decided == [["deny" if n % 10 == 9 else "allow"] for n in range(100)]
