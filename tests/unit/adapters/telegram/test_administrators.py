"""A group's administrators as responders and confirmers, wherever these are listed."""

from __future__ import annotations

from pathlib import Path

import pytest

from answerback.core.ask import Status
from answerback.core.errors import InvalidCallError
from answerback.core.walker import Person
from answerback.service.submission_request import Route, Routes
from tests.fakes.telegram.server import FakeTelegram
from tests.unit.adapters.telegram.rig import rig
from tests.unit.adapters.telegram.test_doctor import find_wrong
from tests.unit.adapters.telegram.test_places_and_faults import GO, live, press


@pytest.mark.rule("TELEGRAM-10")
async def test_the_administrators_of_the_group_may_answer(tmp_path: Path) -> None:
    async with rig(tmp_path, responders=("@admins",)) as at:
        ask = await at.submit([GO], responders=None)
        assert ask.placement.responders == (f"@{at.group.id}",)
        assert "the administrators of ops" in live(at.group, ask).text
        assert "may answer here" in await press(at, at.ann, live(at.group, ask), "Yes")
        at.group.members[at.ann.id] = "administrator"
        assert await press(at, at.ann, live(at.group, ask), "Yes") == ""
        assert (await at.shown(ask)).status is Status.ANSWERED


@pytest.mark.rule("TELEGRAM-10")
async def test_an_account_of_the_directory_that_is_not_an_id_administers_nothing(
    tmp_path: Path,
) -> None:
    async with rig(tmp_path) as at:
        account = Person(surface="telegram", user_id="@ann")
        group = str(at.group.id)
        assert await at.surface.groups_of(account, frozenset({group})) == frozenset()


@pytest.mark.rule("TELEGRAM-10")
async def test_a_route_may_name_the_administrators_of_its_groups(tmp_path: Path) -> None:
    async with FakeTelegram() as telegram:
        group, leads = telegram.add_group(), telegram.add_group("leads")
        route = {
            "to": f"telegram:{group.id}",
            "responders": ["@admins"],
            "confirmations": {"count": 1, "from": ["@admins", "7"]},
            "escalate": {
                "after": 60.0,
                "to": f"telegram:{leads.id}",
                "responders": ["@admins", "8"],
            },
        }
        stays = route | {"escalate": {"after": 60.0, "responders": ["@admins", "8"]}}
        by_name = {"ops": Route.model_validate(route), "here": Route.model_validate(stays)}
        routes = Routes(by_name=by_name)
        async with rig(tmp_path, telegram=telegram, group=group, routes=routes) as at:
            ask = await at.submit([GO], to="ops", responders=None)
            assert ask.placement.responders == (f"@{group.id}",)
            assert ask.placement.confirmers == (f"@{group.id}", "7")
            escalation = ask.request.escalation
            assert escalation is not None
            assert escalation.responders == (f"@{leads.id}", "8")
            assert escalation.confirmers == (f"@{leads.id}", "7")
            escalation = (await at.submit([GO], to="here", responders=None)).request.escalation
            assert escalation is not None
            assert escalation.responders == (f"@{group.id}", "8")
            narrowed = await at.submit([GO], to="ops", responders=["@admins"])
            assert narrowed.placement.responders == (f"@{group.id}",)
            group.members[at.ann.id] = "administrator"
            await press(at, at.ann, live(group, ask), "Yes")
            assert (await at.shown(ask)).confirming


@pytest.mark.rule("TELEGRAM-10", "TELEGRAM-11")
async def test_the_administrators_of_a_group_that_became_a_supergroup_may_answer(
    tmp_path: Path,
) -> None:
    async with (
        FakeTelegram() as telegram,
        rig(
            tmp_path,
            telegram=telegram,
            group=telegram.add_group(kind="group"),
            responders=("@admins",),
        ) as at,
    ):
        ask = await at.submit([GO], responders=None)
        new = telegram.migrate(at.group)
        new.members[at.ann.id] = "creator"
        await telegram.tell_of_migration(at.group)
        await telegram.until(lambda: new.messages)
        ask = await at.shown(ask)
        assert await press(at, at.ann, live(new, ask), "Yes") == ""
        assert (await at.shown(ask)).status is Status.ANSWERED


@pytest.mark.rule("TELEGRAM-10")
@pytest.mark.parametrize(
    "route",
    [
        {"responders": ["7"], "confirmations": {"count": 1, "from": ["@admins"]}},
        {"responders": ["7"], "escalate": {"after": 60.0, "responders": ["@admins"]}},
    ],
    ids=["confirmers", "escalation"],
)
async def test_an_ask_that_only_administrators_may_decide_is_refused_in_a_direct_message(
    tmp_path: Path, route: dict[str, object]
) -> None:
    routes = Routes(by_name={"me": Route.model_validate({"to": "telegram:@7", **route})})
    async with rig(tmp_path, routes=routes) as at:
        with pytest.raises(InvalidCallError) as refused:
            await at.submit([GO], to="me", responders=None)
        assert "ask in a group" in refused.value.problems[0].message
        ask = await at.submit([GO], to=f"telegram:@{at.ann.id}", responders=None)
        assert ask.status is Status.OPEN


@pytest.mark.rule("TELEGRAM-10")
async def test_administrators_beside_a_person_are_left_out_in_a_direct_message(
    tmp_path: Path,
) -> None:
    async with rig(tmp_path) as at:
        ann = str(at.ann.id)
        ask = await at.submit([GO], to=f"telegram:@{ann}", responders=["@admins", ann])
        assert ask.placement.responders == (ann,)


@pytest.mark.rule("TELEGRAM-10")
async def test_the_doctor_names_a_direct_message_for_administrators_only() -> None:
    found = await find_wrong(direct=(("@admins", "7"), ("@admins",)))
    assert [each for each in found if each] == [
        'only "@admins" may act in a direct message, which has no administrators'
    ]
