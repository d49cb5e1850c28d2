"""Calls with files are decided by people who have seen them: no answer given before, and no list, decides them."""

from __future__ import annotations

import asyncio
import base64
from typing import Any

import pytest
from pydantic import JsonValue

from answerback.core.actions import Answer
from answerback.core.ask import Ask
from answerback.core.files import CLAIM_SECONDS, AttachedFile
from answerback.core.intents import Decide, Intent
from answerback.ports.surface import Acted, Rejected
from answerback.presentation.batch_rows import whole_prompt
from answerback.service.question_routing import Rules
from answerback.service.service import Service
from answerback.service.submission_request import Agent, Route, Routes, read_submission
from answerback.workers.housekeeping import Housekeeping
from answerback.workers.retention import RetentionPolicy
from tests.service_support import WAIT, actor, ask_user
from tests.unit.bot.conftest import Parts
from tests.unit.bot.service.test_remembered_answers import call
from tests.unit.picture_samples import GIF, PNG


def inline(name: str = "a.png", data: bytes = PNG, **more: str) -> dict[str, JsonValue]:
    return {"name": name, "data": base64.b64encode(data).decode(), **more}


async def approval(
    service: Service, *sent: dict[str, JsonValue], agent: Agent | None = None
) -> Ask:
    body: Any = {
        "name": "PermissionRequest",
        "arguments": {"tool_name": "Bash", "tool_input": {"command": "ls"}},
        "origin": {"folder": "/srv"},
        "files": list(sent),
    }
    if agent is None:
        body |= {"to": "chat:C1", "responders": "anyone"}
    return (await service.submit(read_submission(body), agent=agent)).ask


@pytest.mark.rule("FILE-9")
@pytest.mark.parametrize(
    "other", [[], [inline(data=GIF)], [inline("b.png")], [inline(alt="x")], [inline(), inline("b")]]
)
async def test_a_remembered_answer_is_reused_only_with_equal_files(
    service: Service, other: list[dict[str, JsonValue]]
) -> None:
    def with_files(*sent: dict[str, JsonValue]) -> Any:
        body: Any = call("t1").model_dump(mode="json", exclude_unset=True)
        return read_submission({**body, "files": [*sent]})

    first = (await service.submit(with_files(inline()))).ask
    await service.act(first.id, Answer(value=True, remember=True), actor())
    assert (await service.submit(with_files(*other))).ask.open
    assert not (await service.submit(with_files(inline()))).ask.open


@pytest.mark.rule("FILE-9")
async def test_a_fixed_answer_was_set_without_seeing_the_files(parts: Parts) -> None:
    body: Any = ask_user().model_dump(mode="json", exclude_unset=True)
    [question] = body["arguments"]["questions"]
    answer = {"tools": {"ask_user": {"questions": {question["id"]: {"answer": True}}}}}
    service = parts.service(Rules.model_validate(answer))
    plain = (await service.submit(read_submission(body))).ask
    assert [each.question_id for each in plain.walk.answers] == [question["id"]]
    with_file = (await service.submit(read_submission({**body, "files": [inline()]}))).ask
    assert with_file.walk.answers == ()


@pytest.mark.rule("FILE-9", "BATCH-2")
async def test_a_permission_with_files_is_only_denied_in_a_list(service: Service) -> None:
    plain, ask = await approval(service), await approval(service, inline())
    assert whole_prompt(plain) is not None
    assert whole_prompt(ask) is None
    allowed = await service.apply(Intent(ask.id, Decide(allow=True)), actor())
    assert isinstance(allowed, Rejected)
    assert [each.code for each in allowed.problems] == ["files_not_shown"]
    assert isinstance(await service.apply(Intent(ask.id, Decide(allow=False)), actor()), Acted)


@pytest.mark.rule("FILE-9", "GRANT-1")
async def test_a_permission_with_files_makes_and_uses_no_grant(parts: Parts) -> None:
    table = {"to": "chat:C1", "responders": ["U1"], "grants": {}}
    service = parts.service(routes=Routes("ops", {"ops": Route.model_validate(table)}))
    agent = Agent("ci", token_hash="hash")
    assert (await approval(service, agent=agent)).request.grants is not None
    assert (await approval(service, inline(), agent=agent)).request.grants is None


@pytest.mark.rule("FILE-4")
async def test_uploads_that_no_ask_names_are_deleted_after_an_hour(parts: Parts) -> None:
    service, store = parts.service(), parts.store
    file = AttachedFile(id="file_a", name="a", media_type="image/png", bytes=1, sha256="0")
    await store.files.begin(file.id, "", parts.clock.now(), 0)
    await store.files.finish(file)
    body = ask_user().model_dump(mode="json", exclude_unset=True)
    await parts.clock.advance(CLAIM_SECONDS + 1)
    with pytest.raises(Exception, match="Invalid ask_user call"):
        await service.submit(read_submission({**body, "files": [{"id": file.id}]}))
    loops = dict(Housekeeping(service, RetentionPolicy(service, None, None)).loops())
    pruning = asyncio.ensure_future(loops["uploads"]())
    async with asyncio.timeout(WAIT):
        while await store.files.get(file.id) is not None:  # noqa: ASYNC110 nothing tells of it
            await asyncio.sleep(0.01)
    pruning.cancel()
