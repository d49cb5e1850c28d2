"""Wherever the API and MCP give asks, they follow one rule."""

from __future__ import annotations

from collections.abc import AsyncIterator
from itertools import product
from pathlib import Path

import pytest

from answerback.core.person import Person
from answerback.service.may_see import Viewer, may_see
from tests.unit.bot.api.conftest import Json, Serve, Served
from tests.unit.bot.api.test_personal_keys import act, create_link

YES: Json = {"question": "Really?", "answer_type": "boolean"}


async def seen(api: Served, who: dict[str, str], asks: list[Json]) -> dict[str, set[str]]:
    """Return the ids of the asks that a caller gets, by the way in which they ask for them."""
    ids = [ask["id"] for ask in asks]
    found: dict[str, set[str]] = {}
    for part in ("", "/record", "/call"):
        answers = {each: await api.get(f"/v1/asks/{each}{part}", **who) for each in ids}
        found[f"ask{part}"] = {each for each, (status, _) in answers.items() if status == 200}
        assert {status for status, _ in answers.values()} <= {200, 404}
    status, page = await api.get("/v1/asks", **who)
    assert status == 200
    found["list"] = {ask["id"] for ask in page["asks"]}
    return found


@pytest.fixture
async def api(serve: Serve) -> AsyncIterator[Served]:
    async with serve({"ci": "agent", "ops": "agent"}) as served:
        yield served


@pytest.mark.rule("AUTH-14", "PEOPLE-4")
async def test_every_way_to_read_asks_follows_the_rule(api: Served, tmp_path: Path) -> None:
    ann, eve = [await create_link(tmp_path, name) for name in ("ann", "eve")]
    asks = [
        await api.asked(YES, headers=api.bearer(agent), responders=[responder])
        for agent, responder in product(("ci", "ops"), ("ann", "eve"))
    ]
    for ask, holder in ((asks[0], ann), (asks[3], eve)):
        status, _ = await act(api, ask, holder, action="answer", value=True)
        assert status == 200
    service = api.running.service
    stored = [await service.get(ask["id"]) for ask in asks]
    for who, viewer in (
        (api.bearer("ci"), Viewer(agent="ci")),
        (api.bearer("ops"), Viewer(agent="ops")),
        (ann, Viewer(person=Person(surface="web", user_id="ann"))),
        (eve, Viewer(person=Person(surface="web", user_id="eve"))),
        (api.person, Viewer()),
    ):
        allowed = {each.id for each in stored if each and may_see(each, viewer, service.people)}
        assert allowed
        found = await seen(api, who, asks)
        assert found == dict.fromkeys(found, allowed)
