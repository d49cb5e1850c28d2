"""Answers that other people have to confirm, through the API: what is sent, what is refused, what stays secret."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from answerback.runtime.config import PersonSettings
from answerback.service.submission_request import Route
from tests.unit.bot.api.conftest import Json, Serve, Served

ROLES = {"ci": "agent", "console": "surface"}
TWO = {"count": 2, "from": ["bob", "cy", "dee"]}
SECRET = "sesame"
FORM: Json = {
    "questions": [
        {"id": "why", "text": "Why?", "answer_type": "text"},
        {
            "id": "how",
            "text": "How?",
            "answer_type": "text",
            "when": {"question_id": "why", "equals": SECRET},
        },
    ]
}
APPROVAL: Json = {
    "tool_name": "Bash",
    "tool_input": {"command": "rm -rf build"},
}


@asynccontextmanager
async def serving(serve: Serve, confirmations: object, **route: object) -> AsyncIterator[Served]:
    """A service whose route `prod` has confirmations."""
    table = {"to": "web", "responders": ["ann", "bob"], "confirmations": confirmations, **route}
    async with serve(ROLES, routes={"prod": Route.model_validate(table)}) as api:
        yield api


async def submitted(api: Served, arguments: Json = FORM, **more: object) -> Json:
    """Submit to the route as the agent."""
    return await api.asked(arguments, headers=api.bearer("ci"), **{"to": "prod", **more})


async def act(api: Served, ask: Json, who: str, **action: object) -> tuple[int, Json]:
    """Act as a person whom the front end vouches for."""
    body = {**action, "actor": {"user_id": who, "name": who.title()}}
    path = f"/v1/asks/{ask['id']}/actions"
    async with api.http.post(path, json=body, headers=api.bearer("console")) as response:
        return response.status, await response.json(content_type=None)


async def read(api: Served, path: str, who: str) -> Any:
    """Read a path with a token; lines of JSON come as a list."""
    async with api.http.get(path, headers=api.bearer(who)) as response:
        assert response.status == 200, await response.text()
        return await response.text()


async def confirming(api: Served) -> Json:
    """An ask whose answers wait for confirmation."""
    ask = await submitted(api)
    assert (await act(api, ask, "ann", action="answer", value=SECRET))[0] == 200
    status, body = await act(api, ask, "ann", action="answer", value=f"{SECRET} again")
    assert (status, body["prompt"]["kind"]) == (200, "confirmation")
    return body


@pytest.mark.rule("CONFIRM-1", "CONFIRM-2")
async def test_people_read_what_they_confirm_and_the_outcome_names_them(serve: Serve) -> None:
    async with serving(serve, TWO) as api:
        ask = await confirming(api)
        assert ask["status"] == "open"
        assert ask["answers"] == {"why": SECRET, "how": f"{SECRET} again"}
        prompt = ask["prompt"]
        assert prompt["controls"] == ["confirm", "object", "back", "end_turn"]
        assert prompt["confirmations"] == {"due": 2, "given": []}
        assert [line["answer"] for line in prompt["answered"]] == [[SECRET], [f"{SECRET} again"]]
        status, ask = await act(api, ask, "bob", action="confirm")
        given = [{"surface": "web", "user_id": "bob", "name": "Bob"}]
        assert (status, ask["status"], ask["confirmed_by"]) == (200, "open", [])
        assert ask["prompt"]["confirmations"] == {"due": 2, "given": given}
        status, ask = await act(api, ask, "cy", action="confirm")
        assert (status, ask["status"], ask["ended_by"]["user_id"]) == (200, "answered", "cy")
        assert [(p["user_id"], p["via"]) for p in ask["confirmed_by"]] == [
            ("bob", "console"),
            ("cy", "console"),
        ]
        agents = json.loads(await read(api, f"/v1/asks/{ask['id']}", "ci"))
        assert agents["answers"] == {"why": SECRET, "how": f"{SECRET} again"}
        record = json.loads(await read(api, f"/v1/asks/{ask['id']}/record", "ci"))["entries"]
        votes = [line for line in record if line["type"] == "confirmed"]
        assert [line["confirmed"]["by"]["user_id"] for line in votes] == ["bob", "cy"]


@pytest.mark.rule("CONFIRM-1")
async def test_the_record_says_who_submitted_the_review_that_others_confirm(serve: Serve) -> None:
    options = [{"value": each, "label": each} for each in ("north", "south")]
    questions = [{"id": each, "prompt": f"{each}?", "options": options} for each in ("a", "b")]
    async with serving(serve, TWO) as api:
        ask = await api.asked(
            {"questions": questions}, name="question", headers=api.bearer("ci"), to="prod"
        )
        for who, action in (("ann", "answer"), ("ann", "answer"), ("bob", "submit")):
            value = {"value": "north"} if action == "answer" else {}
            assert (await act(api, ask, who, action=action, **value))[0] == 200
        for reader in ("ci", "console"):
            record = json.loads(await read(api, f"/v1/asks/{ask['id']}/record", reader))["entries"]
            notes = [line["note"] for line in record if line["type"] == "note"]
            assert [each["by"]["user_id"] for each in notes if "submitted" in each] == ["bob"]


@pytest.mark.rule("CONFIRM-3")
async def test_each_refusal_says_why_and_changes_nothing(serve: Serve) -> None:
    async with serving(serve, TWO) as api:
        ask = await confirming(api)
        revision = ask["revision"]
        for who, action, status, code in (
            ("ann", {"action": "confirm"}, 422, "already_answered"),
            ("bob", {"action": "back"}, 422, "not_an_answerer"),
            ("bob", {"action": "answer", "value": "x"}, 422, "confirmation_due"),
            ("bob", {"action": "other", "text": "x"}, 422, "confirmation_due"),
            ("bob", {"action": "edit", "question_id": "why"}, 422, "confirmation_due"),
            ("bob", {"action": "submit"}, 422, "confirmation_due"),
            ("eve", {"action": "confirm"}, 403, None),
        ):
            found, body = await act(api, ask, who, **action)
            codes = [each["code"] for each in body.get("errors", [{"code": None}])]
            assert (found, codes) == (status, [code]), (who, action)
        _, ask = await act(api, ask, "bob", action="confirm")
        assert ask["revision"] == revision + 1
        status, body = await act(api, ask, "bob", action="confirm")
        assert (status, body["errors"][0]["code"]) == (422, "already_confirmed")
        # Nothing is confirmed while a question is open.
        _, ask = await act(api, ask, "ann", action="back")
        assert (ask["prompt"]["kind"], ask["prompt"]["question_id"]) == ("question", "how")
        status, body = await act(api, ask, "ann", action="confirm")
        assert (status, body["errors"][0]["code"]) == (422, "nothing_to_confirm")


@pytest.mark.rule("CONFIRM-6")
async def test_who_may_only_confirm_may_not_answer_nor_who_may_only_answer_confirm(
    serve: Serve,
) -> None:
    async with serving(serve, {"from": ["cy"]}) as api:
        ask = await submitted(api)
        status, _ = await act(api, ask, "cy", action="answer", value="x")
        assert status == 403
        assert (await act(api, ask, "ann", action="answer", value="x"))[0] == 200
        status, body = await act(api, ask, "bob", action="confirm")
        assert (status, body["detail"]) == (403, "This person may not confirm here.")
        inbox = json.loads(await read(api, "/v1/inbox?responder=web:cy", "console"))
        assert [each["id"] for each in inbox["asks"]] == [ask["id"]]
        inbox = json.loads(await read(api, "/v1/inbox?responder=web:bob", "console"))
        assert inbox["asks"] == []
        status, body = await act(api, ask, "cy", action="confirm")
        assert (status, body["status"]) == (200, "answered")


@pytest.mark.rule("CONFIRM-4")
@pytest.mark.parametrize("action", ["object", "reply"])
async def test_an_objection_denies(serve: Serve, action: str) -> None:
    async with serving(serve, 1) as api:
        ask = await submitted(api, APPROVAL, name="PermissionRequest")
        assert (await act(api, ask, "ann", action="answer", value="allow"))[0] == 200
        status, ask = await act(api, ask, "bob", action=action, text="Not today")
        assert (status, ask["status"], ask["confirmed_by"]) == (200, "cancelled", [])
        result = json.dumps(ask["tool_result"]["structured"])
        assert '"deny"' in result
        assert "Not today" in result
        record = json.loads(await read(api, f"/v1/asks/{ask['id']}/record", "ci"))["entries"]
        [objected] = [line for line in record if line["type"] == "objected"]
        assert objected["objected"] == {
            "text": "Not today",
            "by": {"surface": "web", "user_id": "bob", "name": "Bob"},
        }


@pytest.mark.rule("CONFIRM-8")
async def test_the_agent_learns_no_answer_early(serve: Serve) -> None:
    async with serving(serve, TWO) as api:
        ask = await submitted(api)
        assert (ask["prompt"]["kind"], ask["prompt"]["question_id"]) == ("question", "why")
        await act(api, ask, "ann", action="answer", value=SECRET)
        hidden = json.loads(await read(api, f"/v1/asks/{ask['id']}", "ci"))
        assert hidden["prompt"]["question_id"] is None  # that it is asked depends on the answer
        assert hidden["prompt"]["controls"] == ["back", "reply", "end_turn"]
        await act(api, ask, "ann", action="answer", value=f"{SECRET} again")
        path = f"/v1/asks/{ask['id']}"
        for where in (path, "/v1/asks", f"{path}/record", "/v1/export", "/v1/search?q=Why"):
            text = await read(api, where, "ci")
            assert ask["id"] in text or where.endswith("record")
            assert f'"{SECRET}' not in text.replace('"equals":"sesame"', ""), where
            assert f'"{SECRET}' in await read(api, where, "console"), where
        seen = json.loads(await read(api, path, "ci"))
        assert (seen["answers"], seen["sources"]) == ({}, {})
        assert (seen["prompt"]["text"], seen["prompt"]["context"]) == (None, None)
        assert seen["prompt"]["answered"] == []
        assert seen["prompt"]["controls"] == ["confirm", "object", "back", "end_turn"]
        async with api.http.get(f"{path}/events", headers=api.bearer("ci")) as stream:
            await act(api, ask, "bob", action="confirm")
            await act(api, ask, "cy", action="confirm")
            events = (await stream.read()).decode()
        names = [line[7:] for line in events.splitlines() if line.startswith("event: ")]
        assert names == ["prompt", "confirmation", "confirmation", "outcome"]
        assert f'"{SECRET} again"' in events  # with the outcome


@pytest.mark.rule("CONFIRM-12")
@pytest.mark.parametrize("how", ["expired", "withdrawn", "object", "end_turn", "reply"])
async def test_the_agent_never_learns_what_nobody_confirmed(serve: Serve, how: str) -> None:
    async with serving(serve, TWO) as api:
        ask, service = await submitted(api, mode="async"), api.running.service
        path = f"/v1/asks/{ask['id']}"
        await act(api, ask, "ann", action="answer", value=SECRET)
        if how != "reply":  # which is instead of the second answer
            await act(api, ask, "ann", action="answer", value=f"{SECRET} again")
            await act(api, ask, "bob", action="confirm")
        if how in {"expired", "withdrawn"}:
            await (service.expire(ask["id"]) if how == "expired" else service.withdraw(ask["id"]))
        else:
            assert (await act(api, ask, "cy" if how == "object" else "ann", action=how))[0] == 200
        shown = json.loads(await read(api, path, "ci"))
        assert (shown["answers"], shown["sources"], shown["prompt"]) == ({}, {}, None)
        if how != "end_turn":
            assert shown["tool_result"]["structured"]["answered"] == {}
            assert shown["tool_result"]["structured"]["reason"] == "not_confirmed"
        page = ask["thread"]["url"]
        for where in (path, "/v1/asks", f"{path}/record", "/v1/export", "/v1/search?q=Why", page):
            text = await read(api, where, "ci")
            assert f'"{SECRET}' not in text.replace('"equals":"sesame"', ""), where
            assert SECRET in await read(api, where, "console") or where == page, where
        for where in (f"{path}/events", "/v1/answers", f"/v1/search?q={SECRET}"):
            text = await read(api, where, "ci")
            assert SECRET not in text.replace('"equals":"sesame"', ""), where
        assert SECRET not in await read(api, page, "ci")
        for who, status in (("ci", 404), ("console", 200)):
            async with api.http.get(f"{path}/receipt", headers=api.bearer(who)) as response:
                assert response.status == status


@pytest.mark.rule("CONFIRM-8")
async def test_the_link_of_the_agent_shows_nothing_before_the_end(serve: Serve) -> None:
    async with serving(serve, 1) as api:
        ask = await submitted(api)
        await act(api, ask, "ann", action="answer", value=SECRET)

        async def page() -> str:
            async with api.http.get(str(ask["thread"]["url"])) as response:
                return await response.text()

        shown = await page()
        assert SECRET not in shown
        assert "How?" not in shown
        assert "[2/2]" not in shown
        await act(api, ask, "ann", action="answer", value="so")
        assert SECRET not in await page()
        await act(api, ask, "bob", action="confirm")
        assert SECRET in await page()


@pytest.mark.rule("CONFIRM-3")
async def test_the_operators_key_confirms_nothing(serve: Serve) -> None:
    route = Route.model_validate({"to": "web", "responders": "anyone", "confirmations": 1})
    async with serve(routes={"prod": route}) as api:
        ask = await api.asked(to="prod")
        alice = {"user_id": "alice", "name": "Alice"}
        await api.act(ask, action="answer", value=False, actor=alice)
        for actor in (None, {"user_id": "bob"}):
            status, body = await api.act(ask, action="confirm", actor=actor)
            assert (status, "no particular person" in body["detail"]) == (403, True)
        status, ask = await api.act(ask, action="object")
        assert (status, ask["status"]) == (200, "cancelled")


@pytest.mark.rule("CONFIRM-9")
async def test_a_call_may_ask_for_more_and_never_for_fewer(serve: Serve) -> None:
    async with serving(serve, TWO) as api:
        for asked, due in ((1, 2), (3, 3)):
            ask = await submitted(api, confirmations=asked)
            _, ask = await act(api, ask, "ann", action="answer", value="x")
            assert ask["prompt"]["confirmations"]["due"] == due
        for too_many in (4, 11):
            body = {"name": "ask_user", "arguments": FORM, "to": "prod", "confirmations": too_many}
            async with api.http.post("/v1/asks", json=body, headers=api.bearer("ci")) as response:
                [error] = (await response.json())["errors"]
                assert response.status == 422
                assert (error["code"], error["pointer"]) == (
                    "too_many_confirmations",
                    "/confirmations",
                )


@pytest.mark.rule("CONFIRM-9")
async def test_a_route_without_confirmations_has_those_of_the_call(serve: Serve) -> None:
    async with serving(serve, None) as api:
        ask = await submitted(api, confirmations=1)
        await act(api, ask, "ann", action="answer", value="x")
        _, ask = await act(api, ask, "bob", action="confirm")
        assert (ask["status"], len(ask["confirmed_by"])) == ("answered", 1)


@pytest.mark.rule("CONFIRM-3")
async def test_an_account_elsewhere_acts_only_for_a_person_of_the_directory(serve: Serve) -> None:
    async with serving(serve, 1) as api:
        ask = await submitted(api)
        path = f"/v1/asks/{ask['id']}/actions"
        body = {"action": "answer", "value": "x", "actor": {"surface": "slack", "user_id": "ann"}}
        async with api.http.post(path, json=body, headers=api.bearer("console")) as response:
            assert response.status == 403


@pytest.mark.rule("CONFIRM-3")
async def test_one_person_is_one_person_on_all_surfaces(serve: Serve) -> None:
    accounts = {"ann": ["web:ann", "slack:U1"], "bob": ["web:bob", "slack:U2", "slack:ann"]}
    people = {who: PersonSettings.model_validate({"ids": ids}) for who, ids in accounts.items()}
    table = {"to": "web", "responders": ["person:ann", "bob"], "confirmations": 1}
    async with serve(ROLES, routes={"prod": Route.model_validate(table)}, people=people) as api:
        ask = await submitted(api)
        assert ask["responders"] == ["ann", "bob"]

        async def as_slack(user_id: str, **action: object) -> tuple[int, Json]:
            actor = {"surface": "slack", "user_id": user_id}
            path, headers = f"/v1/asks/{ask['id']}/actions", api.bearer("console")
            body = {**action, "actor": actor}
            async with api.http.post(path, json=body, headers=headers) as response:
                return response.status, await response.json(content_type=None)

        assert (await as_slack("U1", action="answer", value="x"))[0] == 200
        status, body = await act(api, ask, "ann", action="confirm")
        assert (status, body["errors"][0]["code"]) == (422, "already_answered")
        assert (await as_slack("U3", action="confirm"))[0] == 403
        status, body = await as_slack("ann", action="confirm")  # Bob's, whatever it is called
        assert (status, body["status"]) == (200, "answered")
        assert body["confirmed_by"][0]["surface"] == "slack"


@pytest.mark.rule("CONFIRM-4")
async def test_a_permission_that_is_denied_ends_at_once(serve: Serve) -> None:
    async with serving(serve, 1) as api:
        for value, status in (("deny", "answered"), ("allow", "open")):
            ask = await submitted(api, APPROVAL, name="PermissionRequest")
            _, ask = await act(api, ask, "ann", action="answer", value=value)
            assert ask["status"] == status


@pytest.mark.rule("CONFIRM-5", "CLARIFY-1")
async def test_an_explanation_drops_what_was_confirmed_without_it(serve: Serve) -> None:
    async with serving(serve, TWO) as api:
        ask = await submitted(api, accepts=["clarify"])
        _, ask = await act(api, ask, "ann", action="answer", value="so")
        _, ask = await act(api, ask, "bob", action="confirm")
        assert [each["user_id"] for each in ask["prompt"]["confirmations"]["given"]] == ["bob"]
        path = f"/v1/asks/{ask['id']}/context"
        async with api.http.post(
            path, json={"text": "It is dear."}, headers=api.bearer("ci")
        ) as response:
            assert response.status == 200, await response.text()
        _, still_open = await act(api, ask, "cy", action="confirm")
        assert still_open["status"] == "open"
        assert [each["user_id"] for each in still_open["prompt"]["confirmations"]["given"]] == [
            "cy"
        ]
        _, done = await act(api, ask, "bob", action="confirm")  # with the explanation before them
        assert done["status"] == "answered"
