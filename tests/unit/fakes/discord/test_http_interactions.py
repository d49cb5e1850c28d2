"""Interactions as signed POSTs to the app's endpoint, and the live check when an endpoint is saved."""

import json
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest
from aiohttp import web
from nacl.exceptions import BadSignatureError
from nacl.signing import VerifyKey

from tests.fakes.discord.problems import Payload
from tests.fakes.discord.server import FakeDiscord
from tests.fakes.discord.world import Channel
from tests.unit.fakes.discord.conftest import Rest

BUTTONS: Payload = {
    "content": "Deploy?",
    "components": [
        {"type": 1, "components": [{"type": 2, "style": 1, "label": "Yes", "custom_id": "y"}]}
    ],
}


class Endpoint:
    """A small app that verifies signatures, answers pings, and answers everything else as a test requests."""

    def __init__(self, public_key: str) -> None:
        self.key, self.url = VerifyKey(bytes.fromhex(public_key)), ""
        self.status, self.check = 200, True
        self.answer: Payload = {"type": 6}
        self.bodies: list[Payload] = []
        self.then: Callable[[Payload], Awaitable[None]] | None = None

    async def handle(self, request: web.Request) -> web.Response:
        raw = await request.read()
        signed = request.headers["X-Signature-Timestamp"].encode() + raw
        try:
            self.key.verify(signed, bytes.fromhex(request.headers["X-Signature-Ed25519"]))
        except BadSignatureError:
            if self.check:
                return web.Response(status=401)
        body = json.loads(raw)
        self.bodies.append(body)
        if body["type"] == 1:
            return web.json_response({"type": 1})
        if self.then:
            await self.then(body)
        return (
            web.Response(status=202)
            if self.status == 202
            else web.json_response(self.answer, status=self.status)
        )


@pytest.fixture
async def endpoint(fake: FakeDiscord) -> AsyncIterator[Endpoint]:
    made = Endpoint(fake.application.public_key)
    app = web.Application()
    app.router.add_post("/discord/interactions", made.handle)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    made.url = f"http://127.0.0.1:{runner.addresses[0][1]}/discord/interactions"
    yield made
    await runner.cleanup()


async def test_saving_an_endpoint_checks_that_it_answers_pings_and_rejects_bad_signatures(
    fake: FakeDiscord, endpoint: Endpoint, rest: Rest
) -> None:
    endpoint.check = False
    status, refused = await rest(
        "PATCH", "/applications/@me", {"interactions_endpoint_url": endpoint.url}
    )
    assert (status, list(refused["errors"])) == (400, ["interactions_endpoint_url"])
    endpoint.check = True
    status, saved = await rest(
        "PATCH", "/applications/@me", {"interactions_endpoint_url": endpoint.url}
    )
    assert (status, saved["interactions_endpoint_url"]) == (200, endpoint.url)


async def test_a_click_is_answered_in_the_response_body_or_through_the_callback_route(
    fake: FakeDiscord, channel: Channel, endpoint: Endpoint, rest: Rest
) -> None:
    async def by_route(body: Payload) -> None:
        status, _ = await rest(
            "POST",
            f"/interactions/{body['id']}/{body['token']}/callback",
            {"type": 7, "data": {"content": "Done"}},
        )
        assert status == 204

    fake.application.interactions_endpoint_url = endpoint.url
    ada = fake.person("ada", fake.world.guilds[channel.guild_id or 0])
    await rest("POST", f"/channels/{channel.id}/messages", BUTTONS)
    assert (await ada.click("Yes")).answered
    endpoint.status, endpoint.then = 202, by_route
    assert (await ada.click("Yes")).answered
    assert ada.latest().text == "Done"
    assert endpoint.bodies[-1]["data"] == {"custom_id": "y", "component_type": 2, "id": 2}


@pytest.mark.parametrize(
    ("status", "answer"),
    [(500, {}), (200, {"type": 9, "data": {}}), (200, {"type": 1}), (401, {})],
    ids=["crash", "bad modal", "pong", "unauthorised"],
)
async def test_an_invalid_response_shows_the_person_that_the_interaction_failed(
    fake: FakeDiscord,
    channel: Channel,
    endpoint: Endpoint,
    rest: Rest,
    status: int,
    answer: Payload,
) -> None:
    fake.application.interactions_endpoint_url = endpoint.url
    ada = fake.person("ada", fake.world.guilds[channel.guild_id or 0])
    await rest("POST", f"/channels/{channel.id}/messages", BUTTONS)
    endpoint.status, endpoint.answer = status, answer
    click = await ada.click("Yes")
    assert click.failed
    assert click.problem


async def test_follow_ups_and_edits_work_until_the_token_expires(
    fake: FakeDiscord, channel: Channel, endpoint: Endpoint, rest: Rest
) -> None:
    fake.application.interactions_endpoint_url = endpoint.url
    guild = fake.world.guilds[channel.guild_id or 0]
    ada, ben = fake.person("ada", guild), fake.person("ben", guild)
    await rest("POST", f"/channels/{channel.id}/messages", BUTTONS)
    endpoint.answer = {"type": 4, "data": {"content": "one", "flags": 64}}
    await ada.click("Yes")
    hook = f"/webhooks/{fake.application.id}/{endpoint.bodies[-1]['token']}"
    assert (await rest("PATCH", f"{hook}/messages/@original", {"content": "two"}))[0] == 200
    assert (await rest("POST", hook, {"content": "three", "flags": 64}))[0] == 200
    assert [note.text for note in ada.notes()] == ["three", "two"]
    assert ben.notes() == []
    fake.clock.advance(901)
    assert (await rest("POST", hook, {"content": "late"}))[1]["code"] == 50027
