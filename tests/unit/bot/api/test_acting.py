"""Acting through the API: what each outcome answers, and who may."""

from __future__ import annotations

import asyncio

import pytest

from bot.ports import Rejected, Why
from tests.unit.bot.api.conftest import Json, Serve, Served

ROLES = {"ci": "agent", "other": "agent", "console": "surface"}
ALICE = {"user_id": "U1", "name": "Alice"}
TEXT: Json = {"question": "Which port?"}


async def test_an_action_answers_with_the_ask_after_it(api: Served) -> None:
    ask = await api.asked()
    status, body = await api.act(ask, action="answer", value=True, revision=ask["revision"])
    assert (status, body["revision"], body["answers"]) == (200, 2, {"apply": True})
    assert body["prompt"]["question_id"] == "env"


async def test_an_action_on_an_old_revision_is_409_with_the_ask_as_it_stands(api: Served) -> None:
    ask = await api.asked()
    _, latest = await api.act(ask, action="answer", value=True)
    assert await api.act(ask, action="answer", value=False, revision=1) == (409, latest)


async def test_an_action_on_an_ended_ask_is_410_and_says_how_it_ended(api: Served) -> None:
    ask = await api.asked()
    _, ended = await api.act(ask, action="reply", text="not today", actor=ALICE)
    assert ended["ended_by"] == {"surface": "web", "user_id": "U1", "name": "Alice"}
    for revision in (None, ended["revision"]):
        status, body = await api.act(ask, action="back", revision=revision)
        assert (status, body["status"], body["ask"]) == (410, 410, ended)


async def test_who_was_slower_than_the_action_that_ended_the_ask_gets_409(api: Served) -> None:
    ask = await api.asked()
    _, ended = await api.act(ask, action="end_turn", revision=1)
    assert await api.act(ask, action="answer", value=True, revision=1) == (409, ended)


async def test_a_value_that_is_no_answer_is_422_with_its_place_and_changes_nothing(
    api: Served,
) -> None:
    ask = await api.asked()
    status, body = await api.act(ask, action="answer", value="yes")
    assert status == 422
    assert [(e["pointer"], e["code"]) for e in body["errors"]] == [("/value", "wrong_type")]
    assert await api.get(f"/v1/asks/{ask['id']}") == (200, ask)


@pytest.mark.parametrize(
    ("body", "where"),
    [
        ({}, ["/action"]),
        ([], ["/action"]),
        ({"action": 1}, ["/action"]),
        ({"action": "jump"}, ["/action"]),
        ({"action": "answer"}, ["/value"]),
        ({"action": "answer", "value": 1, "remember": "yes", "x": 1}, ["/remember", "/x"]),
        ({"action": "other", "text": 5}, ["/text"]),
        ({"action": "reply", "text": "\ud800"}, ["/text"]),
        ({"action": "edit"}, ["/question_id"]),
        ({"action": "back", "revision": "2"}, ["/revision"]),
        ({"action": "back", "actor": {}}, ["/actor/user_id"]),
        ({"action": "back"}, ["/action"]),
    ],
)
async def test_an_action_that_is_none_is_422_with_every_place(
    api: Served, body: Json, where: list[str]
) -> None:
    ask = await api.asked()
    async with api.http.post(f"/v1/asks/{ask['id']}/actions", json=body) as response:
        assert response.status == 422
        problem = await response.json(content_type=None)
    assert sorted(error["pointer"] for error in problem["errors"]) == where


async def test_half_a_surrogate_pair_in_an_answer_is_a_wrong_type(api: Served) -> None:
    ask = await api.asked(TEXT)
    status, body = await api.act(ask, action="answer", value="\ud800")
    assert (status, body["errors"][0]["code"]) == (422, "wrong_type")


async def test_nul_and_controls_are_kept_verbatim(api: Served) -> None:
    ask = await api.asked(TEXT)
    status, body = await api.act(ask, action="answer", value="a\x00\x1b\u202eb")
    assert (status, body["tool_result"]["structured"]["answer"]) == (200, "a\x00\x1b\u202eb")


async def test_an_agent_may_not_act_even_on_its_own_ask(serve: Serve) -> None:
    async with serve(ROLES) as api:
        ask = await api.asked(headers=api.bearer("ci"))
        path = f"/v1/asks/{ask['id']}/actions"
        body = {"action": "answer", "value": True}
        async with api.http.post(path, json=body, headers=api.bearer("ci")) as response:
            assert response.status == 403


async def test_a_surface_token_vouches_for_its_actor(serve: Serve) -> None:
    async with serve(ROLES) as api:
        ask = await api.asked(TEXT, headers=api.bearer("ci"), responders=["U1", "@G1"])
        path = f"/v1/asks/{ask['id']}/actions"
        answer = {"action": "answer", "value": "8420"}

        async def act(actor: Json | None) -> tuple[int, Json]:
            body = answer if actor is None else answer | {"actor": actor}
            async with api.http.post(path, json=body, headers=api.bearer("console")) as response:
                return response.status, await response.json(content_type=None)

        assert (await act(None))[0] == 422
        assert (await act({"user_id": "U2"}))[0] == 403
        assert (await act({"user_id": "U2", "groups": ["G2"]}))[0] == 403
        status, body = await act({"user_id": "U3", "name": "Bob", "groups": ["@G1"]})
        assert status == 200
        assert body["ended_by"] == {"surface": "console", "user_id": "U3", "name": "Bob"}


async def test_without_tokens_only_web_asks_can_be_acted_on(api: Served) -> None:
    ask = await api.asked()
    # An ask on a surface that is not configured has failed; it is not the API's to act on either.
    body = {"name": "ask_user", "arguments": TEXT, "to": "slack:C1", "responders": "anyone"}
    async with api.http.post("/v1/asks", json=body) as response:
        elsewhere = await response.json()
    assert (await api.act(elsewhere, action="answer", value="x"))[0] == 403
    assert (await api.act(ask, action="end_turn"))[0] == 200


async def test_two_who_act_on_one_revision_make_one_step_a_thousand_times(api: Served) -> None:
    async def race() -> None:
        ask = await api.asked(TEXT)
        told = await asyncio.gather(
            *(api.act(ask, action="answer", value=who, revision=1) for who in "ab")
        )
        assert sorted(status for status, _ in told) == [200, 409]
        assert {body["answers"]["answer"] for _, body in told} <= {"a", "b"}
        assert told[0][1] == told[1][1]

    for _ in range(50):
        await asyncio.gather(*(race() for _ in range(20)))


async def test_who_cannot_be_looked_up_just_now_is_told_to_try_again(
    api: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask = await api.asked()
    stored = await api.running.service.get(ask["id"])

    async def act(*_action: object, **_more: object) -> Rejected:
        return Rejected(Why.UNCHECKED, stored)

    monkeypatch.setattr(api.running.service, "act", act)
    status, body = await api.act(ask, action="answer", value=True)
    assert status == 503
    assert "try again" in body["detail"]
