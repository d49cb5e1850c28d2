"""Acting through the API: the response to each result, and who may act."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from answerback.ports.surface import Rejected, RejectReason
from answerback_storage.person_key_file import PersonKeyFile
from tests.service_support import FakeSurface
from tests.unit.bot.api.conftest import Json, Serve, Served

ROLES = {"ci": "agent", "other": "agent", "console": "surface"}
ALICE = {"user_id": "U1", "name": "Alice"}
TEXT: Json = {"question": "Which port?"}


@pytest.mark.rule("ACT-1")
async def test_an_action_returns_the_updated_ask(api: Served) -> None:
    ask = await api.asked()
    status, body = await api.act(ask, action="answer", value=True, revision=ask["revision"])
    assert (status, body["revision"], body["answers"]) == (200, 2, {"apply": True})
    assert body["prompt"]["question_id"] == "env"


@pytest.mark.rule("ACT-2", "WALK-16")
async def test_an_action_on_an_old_revision_is_409_with_the_current_ask(api: Served) -> None:
    ask = await api.asked()
    _, latest = await api.act(ask, action="answer", value=True)
    assert await api.act(ask, action="answer", value=False, revision=1) == (409, latest)


@pytest.mark.rule("ASK-5", "ACT-3")
async def test_an_action_on_an_ended_ask_is_410_and_says_how_it_ended(api: Served) -> None:
    ask = await api.asked()
    _, ended = await api.act(ask, action="reply", text="not today", actor=ALICE)
    assert ended["ended_by"] == {"surface": "web", "user_id": "U1", "name": "Alice"}
    for revision in (None, ended["revision"]):
        status, body = await api.act(ask, action="back", revision=revision)
        assert (status, body["status"], body["ask"]) == (410, 410, ended)


@pytest.mark.rule("ACT-2")
async def test_acting_after_another_action_ended_the_ask_is_409(api: Served) -> None:
    ask = await api.asked()
    _, ended = await api.act(ask, action="end_turn", revision=1)
    assert await api.act(ask, action="answer", value=True, revision=1) == (409, ended)


@pytest.mark.rule("ACT-9")
async def test_repeating_a_key_and_action_acts_once_and_returns_the_current_ask(
    api: Served,
) -> None:
    ask = await api.asked()
    click: Json = {"action": "answer", "value": True, "revision": 1}
    both = await asyncio.gather(*(api.act(ask, key="click-1", **click) for _ in range(2)))
    assert [status for status, _ in both] == [200, 200]
    first = both[0][1]
    assert first["revision"] == 2
    assert await api.act(ask, key="click-1", **click) == (200, first)
    _, ended = await api.act(ask, key="click-2", action="end_turn")
    assert await api.act(ask, key="click-1", **click) == (200, ended)
    assert await api.act(ask, key="click-2", action="end_turn") == (200, ended)


@pytest.mark.rule("ACT-9")
async def test_reusing_a_key_for_another_body_or_ask_is_422_and_changes_nothing(
    api: Served,
) -> None:
    ask, another = await api.asked(), await api.asked()
    click: Json = {"action": "answer", "value": True}
    _, first = await api.act(ask, key="click-1", **click)
    for other, more in ((ask, {"value": False}), (ask, {"revision": 2}), (another, {})):
        status, problem = await api.act(other, key="click-1", **(click | more))
        assert (status, problem["title"]) == (422, "This Idempotency-Key was used for another body")
    assert await api.get(f"/v1/asks/{ask['id']}") == (200, first)
    assert await api.get(f"/v1/asks/{another['id']}") == (200, another)


@pytest.mark.rule("ACT-9")
async def test_a_key_can_be_reused_if_its_action_did_nothing(api: Served) -> None:
    ask = await api.asked()
    assert (await api.act(ask, key="click-1", action="answer", value="maybe"))[0] == 422
    assert (await api.act(ask, key="click-1", action="answer", value=True))[0] == 200
    assert (await api.act(ask, key="", action="back"))[0] == 400


@pytest.mark.rule("ACT-9")
async def test_keys_of_different_callers_are_independent(serve: Serve) -> None:
    async with serve({**ROLES, "desk": "surface"}) as api:
        ask = await api.asked(headers=api.bearer("ci"))
        path = f"/v1/asks/{ask['id']}/actions"
        revisions = []
        for name, value in (("console", True), ("desk", "staging"), ("console", True)):
            headers = {**api.bearer(name), "Idempotency-Key": "1"}
            body = {"action": "answer", "value": value, "actor": ALICE}
            async with api.http.post(path, json=body, headers=headers) as response:
                assert response.status == 200
                revisions.append((await response.json())["revision"])
    assert revisions == [2, 3, 3]


@pytest.mark.rule("ACT-4")
async def test_an_invalid_answer_is_422_with_its_location_and_changes_nothing(
    api: Served,
) -> None:
    ask = await api.asked()
    status, body = await api.act(ask, action="answer", value="yes")
    assert status == 422
    assert [(e["pointer"], e["code"]) for e in body["errors"]] == [("/value", "wrong_type")]
    assert await api.get(f"/v1/asks/{ask['id']}") == (200, ask)


@pytest.mark.rule("ACT-1")
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
async def test_an_invalid_action_is_422_with_every_location(
    api: Served, body: Json, where: list[str]
) -> None:
    ask = await api.asked()
    path = f"/v1/asks/{ask['id']}/actions"
    async with api.http.post(path, json=body, headers=api.person) as response:
        assert response.status == 422
        problem = await response.json(content_type=None)
    assert sorted(error["pointer"] for error in problem["errors"]) == where


@pytest.mark.rule("FORM-8")
async def test_a_lone_surrogate_in_an_answer_is_a_wrong_type(api: Served) -> None:
    ask = await api.asked(TEXT)
    status, body = await api.act(ask, action="answer", value="\ud800")
    assert (status, body["errors"][0]["code"]) == (422, "wrong_type")


@pytest.mark.rule("FORM-9")
async def test_nul_and_controls_are_kept_verbatim(api: Served) -> None:
    ask = await api.asked(TEXT)
    status, body = await api.act(ask, action="answer", value="a\x00\x1b\u202eb")
    assert (status, body["tool_result"]["structured"]["answer"]) == (200, "a\x00\x1b\u202eb")


@pytest.mark.rule("AUTH-6")
async def test_an_agent_may_not_act_even_on_its_own_ask(serve: Serve) -> None:
    async with serve(ROLES) as api:
        ask = await api.asked(headers=api.bearer("ci"))
        path = f"/v1/asks/{ask['id']}/actions"
        body = {"action": "answer", "value": True}
        async with api.http.post(path, json=body, headers=api.bearer("ci")) as response:
            assert response.status == 403


@pytest.mark.rule("AUTH-7")
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
        assert body["ended_by"] == {"surface": "web", "user_id": "U3", "name": "Bob"}


@pytest.mark.rule("AUTH-8")
async def test_acting_requires_the_persons_key_even_without_tokens(api: Served) -> None:
    ask = await api.asked()
    path = f"/v1/asks/{ask['id']}/actions"
    body = {"action": "answer", "value": True, "actor": ALICE}
    wrong = (
        "",
        "Bearer",
        "Bearer wrong",
        "Bearer \udcff",
        f"Basic {api.person['Authorization'][7:]}",
    )
    for sent in ({}, *({"Authorization": one} for one in wrong)):
        async with api.http.post(path, json=body, headers=sent) as response:
            assert response.status == 401
            assert "answerback key" in await response.text()
            assert response.headers["WWW-Authenticate"].startswith("Bearer")
    assert await api.get(f"/v1/asks/{ask['id']}") == (200, ask)


@pytest.mark.rule("ACT-5", "WHO-2")
async def test_a_caller_with_only_the_key_is_the_operator(api: Served) -> None:
    _, ended = await api.act(await api.asked(), action="end_turn")
    operator = {"surface": "web", "user_id": "operator", "name": "the operator"}
    assert ended["ended_by"] == operator


@pytest.mark.rule("AUTH-10")
async def test_a_rotated_key_applies_at_once(api: Served, tmp_path: Path) -> None:
    ask, key = await api.asked(), PersonKeyFile(tmp_path / "asks.db")
    fresh = await asyncio.to_thread(key.rotate)
    assert (await api.act(ask, action="answer", value=True))[0] == 401
    api.person["Authorization"] = f"Bearer {fresh}"
    assert (await api.act(ask, action="answer", value=True))[0] == 200
    key.path.unlink()
    assert (await api.act(ask, action="back"))[0] == 401


async def test_a_key_file_that_cannot_be_read_lets_nobody_act(api: Served, tmp_path: Path) -> None:
    ask, path = await api.asked(), PersonKeyFile(tmp_path / "asks.db").path
    path.unlink()
    path.mkdir()
    assert (await api.act(ask, action="answer", value=True))[0] == 503


@pytest.mark.rule("AUTH-8")
async def test_with_tokens_the_key_can_read_and_act_but_is_not_an_agents_token(
    serve: Serve,
) -> None:
    async with serve(ROLES) as api:
        ask = await api.asked(headers=api.bearer("ci"))
        assert (await api.get(f"/v1/asks/{ask['id']}", **api.person))[0] == 200
        assert (await api.get("/v1/asks", Authorization="Bearer wrong"))[0] == 401
        assert (await api.act(ask, action="end_turn"))[0] == 200
        body = {"name": "ask_user", "arguments": TEXT}
        async with api.http.post("/v1/asks", json=body, headers=api.person) as response:
            assert response.status == 403


@pytest.mark.rule("ACT-5")
async def test_only_web_asks_can_be_acted_on_with_the_key(api: Served) -> None:
    ask = await api.asked()
    surfaces = api.running.service.surfaces
    assert isinstance(surfaces, dict)
    surfaces["slack"] = FakeSurface("slack")
    elsewhere = await api.asked(TEXT, to="slack:C1", responders="anyone")
    assert (await api.act(elsewhere, action="answer", value="x"))[0] == 403
    assert (await api.act(ask, action="end_turn"))[0] == 200


@pytest.mark.rule("WALK-15")
async def test_of_two_concurrent_actions_on_a_revision_exactly_one_succeeds(api: Served) -> None:
    async def race() -> None:
        ask = await api.asked(TEXT)
        result = await asyncio.gather(
            *(api.act(ask, action="answer", value=who, revision=1) for who in "ab")
        )
        assert sorted(status for status, _ in result) == [200, 409]
        assert {body["answers"]["answer"] for _, body in result} <= {"a", "b"}
        assert result[0][1] == result[1][1]

    for _ in range(10):
        await asyncio.gather(*(race() for _ in range(20)))


@pytest.mark.rule("ACT-6")
async def test_if_a_person_cannot_be_looked_up_they_are_asked_to_try_again(
    api: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask = await api.asked()
    stored = await api.running.service.get(ask["id"])

    async def act(*_action: object, **_more: object) -> Rejected:
        return Rejected(RejectReason.UNCHECKED, stored)

    monkeypatch.setattr(api.running.service, "apply", act)
    status, body = await api.act(ask, action="answer", value=True)
    assert status == 503
    assert "Try again" in body["detail"]


def several(name: str) -> Json:
    options = [{"label": label, "description": "it"} for label in "AB"]
    question = {"question": "Which?", "header": "h", "options": options, "multiSelect": True}
    return {"name": name, "arguments": {"questions": [question, {**question, "question": "More?"}]}}


@pytest.mark.rule("WALK-10")
async def test_own_words_in_a_multi_select_are_added_to_the_ticked_options(api: Served) -> None:
    ask = await api.asked(**several("ask_user"))
    assert (ask["prompt"]["other"], ask["prompt"]["other_beside"]) == (True, True)
    _, body = await api.act(ask, action="other", text="Zig", value=["B", "A"])
    assert body["answers"] == {"q1": ["A", "B", "Zig"]}
    _, body = await api.act(ask, action="back")
    assert body["prompt"]["prefill"] == ["A", "B", "Zig"]
    assert body["prompt"]["prefill_other"] == "Zig"
    await api.act(ask, action="other", text="Zig", value=["A"])
    _, body = await api.act(ask, action="other", text="alone")
    assert body["tool_result"]["structured"] == {"answers": [["A", "Zig"], ["alone"]]}


@pytest.mark.rule("WALK-10")
async def test_own_words_replace_the_ticked_options_if_the_result_cannot_hold_both(
    api: Served,
) -> None:
    ask = await api.asked(**several("AskUserQuestion"))
    assert (ask["prompt"]["other"], ask["prompt"]["other_beside"]) == (True, False)
    await api.act(ask, action="other", text="Zig", value=["A", "B"])
    _, body = await api.act(ask, action="answer", value=["A"])
    assert body["tool_result"]["structured"]["answers"] == {"Which?": "Zig", "More?": "A"}


@pytest.mark.rule("ACT-4")
@pytest.mark.parametrize("value", [["C"], "A", [1], {}, False])
async def test_invalid_ticked_options_with_own_words_change_nothing(
    api: Served, value: object
) -> None:
    ask = await api.asked(**several("ask_user"))
    status, body = await api.act(ask, action="other", text="Zig", value=value)
    assert status == 422
    assert body["errors"][0]["pointer"].startswith("/value")
    assert await api.get(f"/v1/asks/{ask['id']}") == (200, ask)


async def test_an_answer_can_have_a_note_if_its_dialect_supports_notes(api: Served) -> None:
    questions = [{"id": "a", "question": "A?", "options": [{"label": "x"}]}]
    ask = await api.asked(name="request_user_input", arguments={"questions": questions})
    assert ask["prompt"]["note"] is True
    _, body = await api.act(ask, action="answer", value="x", note="for now")
    assert body["tool_result"]["structured"] == {
        "answers": {"a": {"answers": ["x", "user_note: for now"]}}
    }
    ask = await api.asked()
    status, body = await api.act(ask, action="answer", value=True, note="why")
    assert (status, [error["pointer"] for error in body["errors"]]) == (422, ["/note"])
    assert await api.get(f"/v1/asks/{ask['id']}") == (200, ask)


async def test_an_action_with_too_many_values_is_refused(api: Served) -> None:
    ask = await api.asked()
    status, body = await api.act(ask, action="answer", value=True, actor=[0] * 2_001)
    assert (status, [one["code"] for one in body["errors"]]) == (422, ["too_many"])
    assert (await api.get(f"/v1/asks/{ask['id']}"))[1]["revision"] == ask["revision"]
