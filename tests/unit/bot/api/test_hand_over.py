"""Handing an ask over to somebody else, through the API: who may, to whom, what is told and what is recorded."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from answerback.runtime.config import PersonSettings
from answerback.service.submission_request import Route
from tests.unit.bot.api.conftest import Json, Serve, Served

ROLES = {"ci": "agent", "console": "surface"}
PEOPLE = {
    "ann": PersonSettings(ids=("web:ann", "web:ann@home")),
    "gus": PersonSettings(ids=("slack:U9",)),
}
ALL = ["ann", "bob", "cy", "@leads"]


@asynccontextmanager
async def serving(serve: Serve, **route: object) -> AsyncIterator[Served]:
    table = {"to": "web", "responders": ALL, **route}
    routes = {"prod": Route.model_validate(table), "open": Route.model_validate({"to": "web"})}
    async with serve(ROLES, routes=routes, people=PEOPLE) as api:
        yield api


async def submitted(api: Served, **more: object) -> Json:
    envelope: Json = {"to": "prod", "responders": ["bob"], **more}
    return await api.asked(headers=api.bearer("ci"), **envelope)


async def act(api: Served, ask: Json, who: str, **action: object) -> tuple[int, Json]:
    body = {**action, "actor": {"user_id": who, "name": who.title()}}
    path = f"/v1/asks/{ask['id']}/actions"
    async with api.http.post(path, json=body, headers=api.bearer("console")) as response:
        return response.status, await response.json(content_type=None)


async def hand_over(api: Served, ask: Json, who: str, to: Any, **more: object) -> tuple[int, Json]:
    return await act(api, ask, who, action="hand_over", to=to, **more)


def codes(problem: Json) -> list[str]:
    return [error["code"] for error in problem["errors"]]


async def read(api: Served, ask: Json, who: str = "console") -> Json:
    return (await api.get(f"/v1/asks/{ask['id']}", **api.bearer(who)))[1]


@pytest.mark.rule("HANDOVER-1", "HANDOVER-5")
async def test_somebody_else_may_answer_and_so_may_the_giver_still(serve: Serve) -> None:
    async with serving(serve) as api:
        ask = await submitted(api)
        assert ask["hand_over_to"] == ["ann", "bob", "cy"]
        assert "hand_over" not in ask["prompt"]["controls"]
        assert (await act(api, ask, "cy", action="end_turn"))[0] == 403
        status, handed = await hand_over(api, ask, "bob", "cy", revision=1)
        assert (status, handed["status"], handed["revision"]) == (200, "open", 2)
        assert handed["responders"] == ["bob", "cy"]
        assert handed["prompt"] == ask["prompt"]
        for who in ("bob", "cy"):
            assert (await act(api, handed, who, action="reply", revision=1))[0] == 409
        status, done = await act(api, handed, "cy", action="reply", revision=2)
        assert (status, done["ended_by"]["user_id"], done["hand_over_to"]) == (200, "cy", None)
        assert (await hand_over(api, ask, "bob", "ann"))[0] == 410
        record = (await api.get(f"/v1/asks/{ask['id']}/record", **api.bearer("ci")))[1]["entries"]
        [line] = [entry for entry in record if entry["type"] == "handed_over"]
        assert (line["handed_over"]["to"], line["handed_over"]["by"]["user_id"]) == ("cy", "bob")


@pytest.mark.rule("HANDOVER-2")
async def test_nobody_beyond_the_routes_list_gets_it(serve: Serve) -> None:
    async with serving(serve) as api:
        ask = await submitted(api)
        for to, code in (
            ("eve", "responders_forbidden"),
            ("@leads", "not_a_taker"),
            ("anyone", "not_a_taker"),
            ("bob", "not_a_taker"),
            ("person:gus", "not_a_taker"),
            ("person:nobody", "not_a_taker"),
            ("", "too_few"),
            (7, "wrong_type"),
        ):
            status, problem = await hand_over(api, ask, "bob", to)
            assert (to, status, len(codes(problem))) == (to, 422, 1)
            if to not in {"", 7}:
                assert codes(problem) == [code]
        assert (await hand_over(api, ask, "cy", "ann"))[0] == 403
        assert (await hand_over(api, ask, "bob", "cy", revision=9))[0] == 409
        path = f"/v1/asks/{ask['id']}/actions"
        body = {"action": "hand_over", "to": "cy"}
        async with api.http.post(path, json=body, headers=api.bearer("ci")) as refused:
            assert refused.status == 403  # an agent decides for nobody
        assert (await read(api, ask))["revision"] == 1


@pytest.mark.rule("HANDOVER-2")
async def test_without_a_list_of_the_route_there_is_nobody_to_give_it_to(serve: Serve) -> None:
    async with serving(serve) as api:
        for to in ("open", "web"):
            ask = await submitted(api, to=to)
            assert ask["hand_over_to"] is None
            status, problem = await hand_over(api, ask, "bob", "cy")
            assert (status, codes(problem)) == (422, ["no_ceiling"])


@pytest.mark.rule("HANDOVER-2", "PEOPLE-1")
async def test_a_person_gets_it_with_those_accounts_that_the_route_lists(serve: Serve) -> None:
    async with serving(serve) as api:
        status, handed = await hand_over(api, await submitted(api), "bob", "person:ann")
        assert (status, handed["responders"]) == (200, ["bob", "ann"])
        assert (await hand_over(api, handed, "ann", "person:ann"))[0] == 422
        assert (await act(api, handed, "ann@home", action="end_turn"))[0] == 403
    async with serving(serve, responders="anyone") as api:
        ask = await submitted(api)
        assert ask["hand_over_to"] == []
        status, handed = await hand_over(api, ask, "bob", "person:ann")
        assert (status, handed["responders"]) == (200, ["bob", "ann", "ann@home"])


@pytest.mark.rule("HANDOVER-1", "ACT-9")
async def test_a_repeated_request_hands_it_over_once(serve: Serve) -> None:
    async with serving(serve) as api:
        ask = await submitted(api)
        path, headers = f"/v1/asks/{ask['id']}/actions", api.bearer("console")
        body = {"action": "hand_over", "to": "cy", "actor": {"user_id": "bob"}}
        for _ in range(2):
            keyed = {**headers, "Idempotency-Key": "once"}
            async with api.http.post(path, json=body, headers=keyed) as response:
                assert (response.status, (await response.json())["revision"]) == (200, 2)
        status, again = await hand_over(api, ask, "bob", "cy")  # a person may be reminded of it
        assert (status, again["revision"], again["responders"]) == (200, 3, ["bob", "cy"])


@pytest.mark.rule("HANDOVER-3", "CONFIRM-6", "CONFIRM-8")
async def test_answers_that_wait_for_confirmation_are_handed_over_and_stay_secret(
    serve: Serve,
) -> None:
    confirmations = {"count": 1, "from": ["dee", "fay"]}
    async with serving(serve, confirmations=confirmations) as api:
        ask = await submitted(api)
        _, ask = await act(api, ask, "bob", action="answer", value=True)
        _, ask = await act(api, ask, "bob", action="answer", value="staging")
        assert ask["prompt"]["kind"] == "confirmation"
        assert (await hand_over(api, ask, "dee", "cy"))[0] == 403  # who only confirms has no answer
        status, handed = await hand_over(api, ask, "bob", "cy")
        assert (status, handed["prompt"]["kind"]) == (200, "confirmation")
        body = await read(api, ask, "ci")
        assert (body["answers"], body["prompt"]["text"]) == ({}, None)
        assert (await act(api, ask, "cy", action="confirm"))[0] == 403
        assert (await hand_over(api, ask, "bob", "dee"))[0] == 422  # confirms, but may not answer
        status, done = await act(api, ask, "fay", action="confirm")
        assert (status, done["status"]) == (200, "answered")
    async with serving(serve, confirmations=1) as api:
        ask = await submitted(api, responders=["ann", "bob"])
        _, ask = await act(api, ask, "bob", action="answer", value=True)
        _, ask = await act(api, ask, "bob", action="answer", value="staging")
        assert (await act(api, ask, "cy", action="confirm"))[0] == 403
        assert (await hand_over(api, ask, "bob", "cy"))[0] == 200
        status, done = await act(api, ask, "cy", action="confirm")
        assert (status, done["confirmed_by"][0]["user_id"]) == (200, "cy")
