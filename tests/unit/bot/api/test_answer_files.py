"""Files that people send, over the API: read by their ask's agent alone, and not before their answer."""

from __future__ import annotations

import pytest

from answerback.core.actions import Answer, Back, Confirm
from answerback.core.files import AttachedFile
from answerback.core.person import Person
from answerback.ports.surface import Acted, Actor
from tests.unit.bot.api.conftest import Json, Serve, Served
from tests.unit.bot.api.test_files import ROLES, download
from tests.unit.picture_samples import PNG

ADA = Person(surface="web", user_id="ada", name="Ada")
BEN = Person(surface="web", user_id="ben", name="Ben")
FORM = {"questions": [{"id": n, "text": "Why?", "answer_type": "text"} for n in "ab"]}
pytestmark = pytest.mark.rule("FILE-14")


async def ask_bot(api: Served, **more: object) -> Json:
    return await api.asked(FORM, headers=api.bearer("bot"), **more)


async def answered(api: Served, ask: Json, *files: AttachedFile) -> None:
    done = await api.running.service.act(
        ask["id"], Answer(value="See", files=files), Actor(ADA, all_groups=True)
    )
    assert isinstance(done, Acted), done


async def read_by(api: Served, file: AttachedFile) -> dict[str, int]:
    """Return the status that each caller gets."""
    callers = {name: api.bearer(name) for name in ROLES} | {"person": api.person}
    return {name: (await download(api, file.id, **headers))[0] for name, headers in callers.items()}


async def test_an_agent_reads_what_came_with_an_answer_to_its_ask(serve: Serve) -> None:
    async with serve(ROLES) as api:
        ask = await ask_bot(api)
        file = await api.running.service.people_files.take("photo.png", PNG, ADA)
        assert set((await read_by(api, file)).values()) <= {403, 404}, "nobody has sent it yet"
        await answered(api, ask, file)
        found = await read_by(api, file)
        assert (found["bot"], found["other"]) == (200, 404)
        assert found["person"] == 200
        status, data, headers = await download(api, file.id, **api.bearer("bot"))
        assert (status, data, headers["X-Content-Type-Options"]) == (200, PNG, "nosniff")
        _, body = await api.get(f"/v1/asks/{ask['id']}", **api.bearer("bot"))
        assert [(each["id"], each["question_id"]) for each in body["answer_files"]] == [
            (file.id, "a")
        ]
        back = await api.running.service.act(ask["id"], Back(), Actor(ADA, all_groups=True))
        assert isinstance(back, Acted)
        assert (await read_by(api, file))["bot"] == 404, "it was taken back"
        _, body = await api.get(f"/v1/asks/{ask['id']}", **api.bearer("bot"))
        assert body["answer_files"] == []


async def test_an_agent_names_no_file_of_a_person_in_an_ask(serve: Serve) -> None:
    async with serve(ROLES) as api:
        file = await api.running.service.people_files.take("photo.png", PNG, ADA)
        body = {"name": "ask_user", "arguments": FORM, "to": "web", "files": [{"id": file.id}]}
        async with api.http.post("/v1/asks", json=body, headers=api.bearer("bot")) as response:
            assert response.status == 422


async def test_an_agent_reads_no_file_until_its_answer_is_confirmed(serve: Serve) -> None:
    async with serve(ROLES) as api:
        question = {"questions": FORM["questions"][:1]}
        ask = await api.asked(question, headers=api.bearer("bot"), confirmations=1)
        file = await api.running.service.people_files.take("photo.png", PNG, ADA)
        await answered(api, ask, file)
        assert (await read_by(api, file))["bot"] == 404
        for path in "", "/record":
            _, body = await api.get(f"/v1/asks/{ask['id']}{path}", **api.bearer("bot"))
            assert file.id not in str(body)
        confirmed = await api.running.service.act(ask["id"], Confirm(), Actor(BEN, all_groups=True))
        assert isinstance(confirmed, Acted), confirmed
        assert (await read_by(api, file))["bot"] == 200
