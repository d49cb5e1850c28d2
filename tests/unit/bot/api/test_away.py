"""Being away and snoozing over the API: for people's own keys, front ends and the operator; not for agents."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from answerback.service.submission_request import Route
from answerback_away.extension import AwaySettings
from tests.unit.bot.api.conftest import Json, Serve, Served
from tests.unit.bot.api.test_personal_keys import create_link

ROLES = {"ci": "agent", "console": "surface"}
TABLES: dict[str, Any] = {
    "away": AwaySettings(enabled=True),
    "routes": {"ops": Route.model_validate({"to": "web", "responders": ["ann", "bob"]})},
}


async def call(
    api: Served, method: str, path: str, who: dict[str, str], body: Json | None = None
) -> tuple[int, Json]:
    async with api.http.request(method, f"/v1/{path}", headers=who, json=body) as response:
        return response.status, await response.json(content_type=None)


async def ids(api: Served, name: str) -> list[str]:
    _, found = await call(api, "GET", f"inbox?responder=web:{name}", api.person)
    return [ask["id"] for ask in found["asks"]]


@pytest.mark.rule("AWAY-7")
async def test_a_person_says_that_they_are_away_with_their_own_key(
    serve: Serve, tmp_path: Path
) -> None:
    async with serve(**TABLES) as api:
        ann = await create_link(tmp_path, "ann")
        assert await call(api, "GET", "away", ann) == (200, {"absence": None, "hours": None})
        leaving = {"until": "3d", "stand_in": "web:bob", "hours": "9-17 UTC"}
        status, left = await call(api, "PUT", "away", ann, leaving)
        stand_in = {"surface": "web", "user_id": "bob", "name": None}
        assert (status, left["absence"]["stand_in"]) == (200, stand_in)
        assert left["hours"] == "9:00-17:00 UTC"
        assert await call(api, "GET", "away?person=web:ann", api.person) == (200, left)
        assert (await call(api, "PUT", "away", ann, {"hours": ""}))[1]["absence"] == left["absence"]
        assert await call(api, "DELETE", "away", ann) == (200, {"absence": None, "hours": None})


@pytest.mark.rule("AWAY-7")
@pytest.mark.parametrize(
    ("body", "detail"),
    [
        ({"until": "3d"}, "Name one person who stands in"),
        ({"stand_in": "web:bob"}, "Say how long"),
        ({"until": "2y", "stand_in": "web:bob"}, "Say how long"),
        ({"until": "3d", "stand_in": "web:ann"}, "Another person has to stand in"),
        ({"until": "3d", "stand_in": "web:bob", "hours": "noon"}, "Write hours"),
    ],
)
async def test_what_cannot_be_is_refused_with_a_reason_and_changes_nothing(
    serve: Serve, tmp_path: Path, body: Json, detail: str
) -> None:
    async with serve(**TABLES) as api:
        ann = await create_link(tmp_path, "ann")
        status, problem = await call(api, "PUT", "away", ann, body)
        assert (status, problem["title"]) == (422, "Nothing was changed")
        assert detail in problem["detail"]
        assert await call(api, "GET", "away", ann) == (200, {"absence": None, "hours": None})


@pytest.mark.rule("AWAY-7", "SNOOZE-1")
async def test_others_say_whom_they_speak_for_and_nobody_speaks_for_another(
    serve: Serve, tmp_path: Path
) -> None:
    async with serve(ROLES, **TABLES) as api:
        ask = await api.asked(to="ops", headers=api.bearer("ci"))
        bob, front, agent = (
            await create_link(tmp_path, "bob"),
            api.bearer("console"),
            api.bearer("ci"),
        )
        leave = {"until": "3d", "stand_in": "web:bob"}
        for path, body in (("away", leave), (f"asks/{ask['id']}/snooze", {"until": "4h"})):
            assert (await call(api, "PUT", f"{path}?person=web:ann", agent, body))[0] == 403
            assert (await call(api, "PUT", f"{path}?person=web:ann", bob, body))[0] == 403
            for who in (front, api.person):
                assert (await call(api, "PUT", path, who, body))[0] == 422, "for whom is not said"
                assert (await call(api, "PUT", f"{path}?person=web:ann", who, body))[0] == 200
        nobody = await call(api, "PUT", "away?person=web:operator", api.person, leave)
        assert nobody[0] == 422
        assert "never away" in nobody[1]["detail"]
        _, snoozed = await call(api, "GET", "snoozes?person=web:ann", front)
        assert [each["ask_id"] for each in snoozed["snoozes"]] == [ask["id"]]


@pytest.mark.rule("SNOOZE-1", "SNOOZE-2")
async def test_an_ask_is_snoozed_and_put_back_by_its_persons_key(
    serve: Serve, tmp_path: Path
) -> None:
    async with serve(**TABLES) as api:
        ann = await create_link(tmp_path, "ann")
        mine, others = [await api.asked(to="ops", responders=[name]) for name in ("ann", "bob")]
        path = f"asks/{mine['id']}/snooze"
        status, snoozed = await call(api, "PUT", path, ann, {"until": "4h"})
        assert (status, snoozed["ask_id"], snoozed["headline"]) == (
            200,
            mine["id"],
            mine["headline"],
        )
        assert await ids(api, "ann") == []
        assert await call(api, "GET", "snoozes", ann) == (200, {"snoozes": [snoozed]})
        assert (await call(api, "PUT", path, ann, {"until": "soon"}))[0] == 422
        for ask_id in (others["id"], "ask_0", mine["id"][:20]):
            refused = await call(api, "PUT", f"asks/{ask_id}/snooze", ann, {"until": "4h"})
            assert (refused[0], refused[1]["title"]) == (404, "Not found")
        assert await call(api, "DELETE", path, ann) == (200, {"snoozes": []})
        assert await ids(api, "ann") == [mine["id"]]


@pytest.mark.rule("AWAY-7", "SNOOZE-1")
async def test_both_are_off_where_the_operator_has_not_switched_them_on(serve: Serve) -> None:
    async with serve() as api:
        for path in ("away?person=web:ann", "snoozes?person=web:ann"):
            status, problem = await call(api, "GET", path, api.person)
            assert (status, "away.enabled" in problem["detail"]) == (404, True)
