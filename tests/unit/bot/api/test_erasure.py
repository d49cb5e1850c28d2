"""Erasing through the API: who may, what remains of an ask, and what people see afterwards."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

import pytest
from pydantic import TypeAdapter

from answerback.api.wire import RecordPage
from answerback.core.actions import Answer
from answerback.core.person import Person
from answerback.ports.late_answers import SeenState
from answerback.ports.surface import Acted, Actor
from answerback.service.ask_wire import ErasedBody
from tests.service_support import FakeSurface
from tests.unit.bot.api.conftest import Json, Serve, Served
from tests.unit.bot.api.test_deliveries import SECRET as SIGNED
from tests.unit.bot.api.test_deliveries import ended_ask
from tests.unit.bot.api.test_late_answers import answered_ask
from tests.unit.picture_samples import PNG

SECRET = "tell-nobody"
FORM: Json = {"questions": [{"id": "why", "text": f"Why {SECRET}?", "answer_type": "text"}]}


async def erase(api: Served, ask: Json, headers: dict[str, str] | None = None) -> tuple[int, Json]:
    """Erase an ask; return the status and the body."""
    path = f"/v1/asks/{ask['id']}/erase"
    async with api.http.post(path, headers=api.person if headers is None else headers) as response:
        return response.status, await response.json(content_type=None)


async def everything(api: Served, ask: Json) -> str:
    """Everything the API returns about an ask."""
    paths = (f"/v1/asks/{ask['id']}", f"/v1/asks/{ask['id']}/record", "/v1/deliveries", "/v1/asks")
    return repr([await api.get(path) for path in paths])


@pytest.mark.rule("API-18")
async def test_an_erased_ask_keeps_its_outcome_but_no_content(api: Served) -> None:
    ask = await api.asked(FORM, conversation=SECRET, metadata={"a": SECRET}, tool_call_id=SECRET)
    await api.act(ask, action="answer", value=SECRET, actor={"user_id": SECRET, "name": SECRET})
    assert SECRET in await everything(api, ask)
    status, body = await erase(api, ask)
    TypeAdapter(ErasedBody).validate_python(body)
    assert (status, body["status"], body["answers"]) == (200, "answered", {})
    assert body["erased_at"] is not None
    assert body["ended_by"] == {"surface": "web", "user_id": "erased", "name": None}
    assert body["tool_result"]["structured"] == {"erased": True}
    assert body["tool_result"]["is_error"]
    assert SECRET not in await everything(api, ask)
    _, record = await api.get(f"/v1/asks/{ask['id']}/record")
    RecordPage.model_validate(record)
    kinds = [entry["type"] for entry in record["entries"]]
    assert kinds == ["request", "response", "ended", "note"]
    assert await erase(api, ask) == (200, body), "twice is fine"
    page = await api.http.get(body["thread"]["url"])
    shown = await page.text()
    assert SECRET not in shown
    assert "Erased: the questions and answers are no longer kept" in shown


@pytest.mark.rule("API-18")
async def test_an_open_ask_is_not_erased(api: Served) -> None:
    ask = await api.asked(FORM)
    status, body = await erase(api, ask)
    assert (status, body["title"], body["ask"]) == (409, "The ask is open", ask)
    assert "Withdraw it" in body["detail"]
    assert await api.get(f"/v1/asks/{ask['id']}") == (200, ask)
    assert (await erase(api, {"id": "ask_none"}))[0] == 404


@pytest.mark.rule("API-18")
async def test_an_agent_may_not_erase_but_a_front_end_may(serve: Serve) -> None:
    async with serve(roles={"ci": "agent", "console": "surface"}) as api:
        ask = await api.asked(FORM, headers=api.bearer("ci"))
        await api.http.delete(f"/v1/asks/{ask['id']}", headers=api.bearer("ci"))
        assert (await erase(api, ask, api.bearer("ci")))[0] == 403
        assert (await erase(api, ask, {}))[0] == 401
        assert (await erase(api, ask, api.bearer("console")))[0] == 200


@pytest.mark.rule("API-18")
async def test_without_tokens_erasing_requires_the_persons_key(api: Served) -> None:
    ask = await api.asked(FORM)
    await api.http.delete(f"/v1/asks/{ask['id']}")
    assert (await erase(api, ask, {}))[0] == 401


async def test_a_webhook_that_was_erased_cannot_be_sent_again(serve: Serve) -> None:
    async with serve(callbacks=SIGNED) as api:
        ask = await ended_ask(api)
        await erase(api, ask)
        _, body = await api.get("/v1/deliveries")
        (result,) = body["deliveries"]
        assert (result["state"], result["url"]) == ("dead", "")
        async with api.http.post(f"/v1/deliveries/{result['id']}/redeliver") as response:
            assert response.status == 409
            assert "erased" in (await response.json())["detail"]


@pytest.mark.rule("API-18", "CLARIFY-2")
async def test_questions_back_and_explanations_are_erased_and_were_never_logged(
    api: Served, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, logger="answerback")
    ask = await api.asked(FORM, accepts=["clarify"], conversation=SECRET)
    actor = {"user_id": f"{SECRET}@example.com", "name": f"Ann {SECRET}"}
    await api.act(ask, action="ask_back", text=f"Why {SECRET}?", actor=actor)
    path = f"/v1/asks/{ask['id']}/context"
    async with api.http.post(path, json={"text": f"Since {SECRET}."}) as response:
        assert response.status == 200
    await api.act(ask, action="answer", value=SECRET, actor=actor)
    assert (await everything(api, ask)).count(SECRET) > 6
    assert (await erase(api, ask))[0] == 200
    assert SECRET not in await everything(api, ask)
    async with api.http.get("/v1/export") as response:
        assert SECRET not in await response.text()
    _, found = await api.get("/v1/search?q=nobody")
    assert found["asks"] == []
    _, record = await api.get(f"/v1/asks/{ask['id']}/record")
    kinds = [entry["type"] for entry in record["entries"]]
    assert kinds == ["request", "clarify", "context", "response", "ended", "note"]
    assert caplog.records
    assert SECRET not in caplog.text


@pytest.mark.rule("LATE-11")
async def test_an_ask_that_is_erased_while_its_lost_outcome_is_returned_stays_as_it_is(
    api: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    service = api.running.service
    ask_id = (await answered_ask(api))["id"]
    await service.late_answer_tracker.save_seen([ask_id], SeenState.SEEN)
    set_seen_state, erased = service.store.late_answers.set_seen_state, []

    async def set_and_erase(*given: Any) -> Sequence[str]:
        changed = await set_seen_state(*given)
        erased.append(await service.erase(ask_id))
        return changed

    monkeypatch.setattr(service.store.late_answers, "set_seen_state", set_and_erase)
    assert await service.late_answer_tracker.save_seen([ask_id], SeenState.UNSEEN) == [ask_id]
    assert [await service.get(ask_id)] == erased


@pytest.mark.rule("FILE-17")
@pytest.mark.parametrize("surface", ["slack", "web"])
async def test_an_erasure_says_which_files_stay_where_people_have_sent_them(
    api: Served, surface: str
) -> None:
    service = api.running.service
    assert isinstance(service.surfaces, dict)
    service.surfaces["slack"] = FakeSurface("slack")
    to = {"slack": "slack:C1", "web": "web"}[surface]
    ask = await api.asked(FORM, to=to, responders="anyone")
    person = Person(surface=surface, user_id="U1")
    file = await service.people_files.take("photo.png", PNG, person)
    done = await service.act(ask["id"], Answer(value="See", files=(file,)), Actor(person))
    assert isinstance(done, Acted), done
    _, body = await erase(api, ask)
    TypeAdapter(ErasedBody).validate_python(body)
    sentence = "Files that people sent in slack stay there: delete them in the conversation."
    assert body["remains"] == ([sentence] if surface == "slack" else [])
    _, body = await erase(api, ask)
    assert body["remains"] == [], "nothing says any more who has sent them"
