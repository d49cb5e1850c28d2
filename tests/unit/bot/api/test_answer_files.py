"""Files that people send, over the API: read by their ask's agent alone, and not before their answer."""

from __future__ import annotations

import pytest

from answerback.core.actions import Answer, Back, Confirm
from answerback.core.files import AttachedFile
from answerback.core.person import Person
from answerback.ports.surface import Acted, Actor
from answerback.service.people_files import MAX_UNCLAIMED
from tests.fakes.receiver import Receiver
from tests.unit.bot.api.conftest import Json, Serve, Served
from tests.unit.bot.api.test_deliveries import SECRET
from tests.unit.bot.api.test_files import ROLES, download, upload
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


async def test_a_webhook_names_what_came_with_an_answer(serve: Serve, receiver: Receiver) -> None:
    async with serve(ROLES, callbacks=SECRET) as api:
        question = {"questions": FORM["questions"][:1]}
        callback = {"url": receiver.url}
        ask = await api.asked(question, headers=api.bearer("bot"), callback=callback)
        file = await api.running.service.people_files.take("photo.png", PNG, ADA)
        await answered(api, ask, file)
        [received] = await receiver.until(1)
        [delivered] = received.event["data"]["answer_files"]
        assert (delivered["id"], delivered["name"], delivered["question_id"]) == (
            file.id,
            "photo.png",
            "a",
        )
        _, body = await api.get(f"/v1/asks/{ask['id']}", **api.bearer("bot"))
        assert delivered == body["answer_files"][0]
        assert (await download(api, delivered["id"], **api.bearer("bot")))[:2] == (200, PNG)


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


async def send(api: Served, headers: dict[str, str], data: bytes = PNG) -> tuple[int, Json]:
    """Upload a file."""
    return await upload(api, data, "photo.png", headers=headers)


@pytest.mark.rule("FILE-53")
@pytest.mark.parametrize("action", ["answer", "reply"])
async def test_a_person_answers_with_files_over_the_api(serve: Serve, action: str) -> None:
    async with serve(ROLES) as api:
        form = {"questions": [{"id": "a", "text": "Why?", "answer_type": "text"}]}
        ask = await api.asked(form, headers=api.bearer("bot"))
        status, file = await send(api, api.person)
        assert status == 201, file
        said = {"value": "See"} if action == "answer" else {"text": "See"}
        body = {"action": action, **said, "files": [file["id"]]}
        status, done = await api.act(ask, key="k1", **body)
        assert status == 200, done
        [sent] = done["answer_files"]
        assert (sent["id"], sent["name"], sent["by"]["user_id"]) == (
            *(file["id"], "photo.png"), "operator",
        )  # fmt: skip
        assert (await api.act(ask, key="k1", **body))[0] == 200, "a repeated call counts once"
        found = await download(api, file["id"], **api.bearer("bot"))
        assert found[:2] == (200, PNG)


@pytest.mark.rule("FILE-53")
async def test_a_front_end_says_whose_file_it_is_and_nobody_sends_that_of_somebody_else(
    serve: Serve,
) -> None:
    async with serve(ROLES) as api:
        ask, front = await ask_bot(api), api.bearer("front")
        status, refused = await send(api, front)
        assert (status, refused["title"]) == (422, "No sender")
        query = {"name": "photo.png", "surface": "web", "user_id": "ada"}
        async with api.http.post("/v1/files", params=query, data=PNG, headers=front) as response:
            file = (await response.json())["id"]
        async with api.http.post(
            "/v1/files", params=query, data=PNG, headers=api.bearer("bot")
        ) as response:
            assert response.status == 422, "an agent speaks for nobody"

        async def act(user_id: str, headers: dict[str, str], named: str = file) -> int:
            body: Json = {"action": "answer", "value": "See", "files": [named]}
            if headers == front:
                body["actor"] = {"user_id": user_id}
            path = f"/v1/asks/{ask['id']}/actions"
            async with api.http.post(path, json=body, headers=headers) as response:
                return response.status

        _, own = await send(api, api.bearer("bot"))
        assert await act("ben", front) == 422
        assert await act("operator", api.person) == 422
        assert await act("ada", front, own["id"]) == 422, "it is an agent's"
        assert await act("ada", front) == 200
        again = await ask_bot(api)
        ask = again
        assert await act("ada", front) == 422, "it has gone with another answer"


@pytest.mark.rule("FILE-53")
async def test_files_go_with_no_plain_choice_and_have_the_limits_of_people(serve: Serve) -> None:
    async with serve(ROLES) as api:
        ask = await api.asked(
            {"question": "Go?", "answer_type": "boolean"}, headers=api.bearer("bot")
        )
        _, file = await send(api, api.person)
        status, refused = await api.act(ask, action="answer", value=True, files=[file["id"]])
        assert (status, refused["errors"][0]["code"]) == (422, "takes_no_files")
        status, refused = await api.act(ask, action="back", files=[file["id"]])
        assert status == 422
        status, refused = await api.act(ask, action="reply", text="", files=[file["id"]] * 11)
        assert status == 422
        status, _ = await send(api, api.person, b"\0\0\0\x18ftypheic")
        assert status == 422, "its place cannot be removed"
        for _ in range(MAX_UNCLAIMED - 1):
            status, refused = await send(api, api.person, b"x")
        assert status == 201
        status, refused = await send(api, api.person, b"x")
        assert status == 429, refused
