"""Deliberate faults, the page for people, and sessions at the gateway."""

import asyncio

import aiohttp
import pytest

from tests.fakes.discord.person import WAIT
from tests.fakes.discord.problems import Payload
from tests.fakes.discord.server import FakeDiscord
from tests.fakes.discord.visible_message import NotPossibleError
from tests.fakes.discord.world import Channel
from tests.unit.fakes.discord.conftest import Rest

HELLO: Payload = {"content": "hello"}


@pytest.mark.parametrize("after", [False, True])
async def test_a_dropped_connection_is_cut_before_or_after_the_message_is_stored(
    fake: FakeDiscord, channel: Channel, rest: Rest, after: bool
) -> None:
    route = f"/channels/{channel.id}/messages"
    fake.faults.drop(f"POST {route}", after=after)
    with pytest.raises(aiohttp.ClientError):
        await rest("POST", route, HELLO)
    assert len(channel.messages) == int(after)
    assert (await rest("POST", route, HELLO))[0] == 200
    assert [call.status for call in fake.faults.calls("POST *")] == [0, 200]


async def test_a_hanging_call_completes_once_released(
    fake: FakeDiscord, channel: Channel, rest: Rest
) -> None:
    fault = fake.faults.hang("POST /channels/*/messages")
    call = asyncio.create_task(rest("POST", f"/channels/{channel.id}/messages", HELLO))
    await fake.bell.until(lambda: fault.hits == 1)
    assert not channel.messages
    fault.release()
    assert (await call)[0] == 200


async def test_codes_server_errors_and_rate_limits_are_returned_as_planned(
    fake: FakeDiscord, channel: Channel, rest: Rest
) -> None:
    route = f"/channels/{channel.id}/messages"
    fake.faults.code("POST *", 50013)
    fake.faults.server_error("POST *", status=502)
    fake.faults.server_error("POST *", after=True)
    fake.faults.rate_limit("POST *", retry_after=1.5)
    answers = [await rest("POST", route, HELLO) for _ in range(5)]
    assert [status for status, _ in answers] == [403, 502, 500, 429, 200]
    assert answers[3][1]["retry_after"] == 1.5
    assert len(channel.messages) == 2
    assert len(await fake.faults.called(f"POST {route}", 5)) == 5


async def test_a_real_rate_limit_returns_429_with_headers(
    fake: FakeDiscord, channel: Channel
) -> None:
    fake.rate_limits.limit = 1
    headers = {
        "Authorization": f"Bot {fake.application.token}",
        "User-Agent": "DiscordBot (https://example.com, 1)",
    }
    async with aiohttp.ClientSession(headers=headers) as session:
        url = f"{fake.api_url}/channels/{channel.id}"
        async with session.get(url) as first, session.get(url) as second:
            assert (first.status, first.headers["X-RateLimit-Remaining"]) == (200, "0")
            assert (second.status, "Via" in second.headers) == (429, True)


SELECT: Payload = {
    "flags": 1 << 15,
    "components": [
        {
            "type": 17,
            "accent_color": 5793266,
            "components": [
                {"type": 10, "content": "## Deploy <b>?\n**bold** \\*plain\\* `code`"},
                {
                    "type": 1,
                    "components": [
                        {
                            "type": 3,
                            "custom_id": "env",
                            "placeholder": "Environment",
                            "options": [
                                {"label": "Staging", "value": "s", "default": True},
                                {"label": "Production", "value": "p"},
                            ],
                        }
                    ],
                },
                {
                    "type": 1,
                    "components": [
                        {"type": 2, "style": 4, "label": "End Turn", "custom_id": "end"}
                    ],
                },
            ],
        }
    ],
}


async def test_the_page_shows_a_thread_and_its_buttons_work(
    fake: FakeDiscord, channel: Channel, rest: Rest
) -> None:
    ada = fake.person("ada", fake.world.guilds[channel.guild_id or 0])
    _, message = await rest("POST", f"/channels/{channel.id}/messages", SELECT)
    async with aiohttp.ClientSession() as session:
        async with session.get(f"{fake.url}/channels/{channel.id}?as={ada.id}") as response:
            page = await response.text()
        form = {"as": str(ada.id), "message": message["id"], "custom_id": "end"}
        click = asyncio.create_task(
            session.post(f"{fake.url}/channels/{channel.id}/act", data=form)
        )
        await fake.bell.until(lambda: bool(fake.interactions.all))
        made = next(iter(fake.interactions.all.values()))
        route = f"/interactions/{made.id}/{made.token}/callback"
        modal: Payload = {
            "type": 9,
            "data": {
                "custom_id": "m",
                "title": "Why?",
                "components": [
                    {
                        "type": 18,
                        "label": "Reason",
                        "component": {"type": 4, "style": 2, "custom_id": "t"},
                    }
                ],
            },
        }
        assert (await rest("POST", route, modal))[0] == 204
        async with await click as response:
            assert "Why?" in await response.text()
    assert "<h2>Deploy &lt;b&gt;?</h2>" in page
    assert "<b>bold</b> *plain* <code>code</code>" in page
    assert "End Turn" in page


async def test_a_person_can_only_do_what_the_client_shows(
    fake: FakeDiscord, channel: Channel, rest: Rest
) -> None:
    ada = fake.person("ada", fake.world.guilds[channel.guild_id or 0])
    await rest("POST", f"/channels/{channel.id}/messages", SELECT)
    with pytest.raises(NotPossibleError, match="sends nothing"):
        await ada.choose("Environment", ["Staging"])
    with pytest.raises(NotPossibleError, match="no option"):
        await ada.choose(None, ["Moon"])
    with pytest.raises(NotPossibleError, match="takes 1 to 1"):
        await ada.choose("env", ["Staging", "Production"])
    with pytest.raises(NotPossibleError, match="no modal"):
        await ada.submit()
    with pytest.raises(NotPossibleError, match="waited"):
        await ada.finds("never said", timeout=0.01)


async def test_without_the_content_intent_a_session_gets_only_texts_meant_for_the_bot(
    fake: FakeDiscord, channel: Channel, rest: Rest
) -> None:
    ada = fake.person("ada", fake.world.guilds[channel.guild_id or 0])
    _, message = await rest("POST", f"/channels/{channel.id}/messages", HELLO)
    sent = fake.world.message(channel.id, int(message["id"]))
    async with aiohttp.ClientSession() as session, session.ws_connect(fake.gateway.url) as socket:
        intents = 1 << 0 | 1 << 9 | 1 << 12
        await socket.send_json(
            {"op": 2, "d": {"token": fake.application.token, "intents": intents}}
        )
        await fake.gateway.connected()
        ada.types(channel, "plain")
        ada.replies(sent, "a reply")
        ada.replies(sent, "a quiet reply", ping=False)
        ada.mention_bot(channel, "a mention")
        ada.dm("direct")
        texts: list[str] = []
        while len(texts) < 5:
            frame = await socket.receive_json(timeout=WAIT)
            if frame["t"] == "MESSAGE_CREATE":
                texts.append(frame["d"]["content"])
    assert texts == ["", "a reply", "", f"<@{fake.bot.id}> a mention", "direct"]


async def test_a_forgotten_session_cannot_be_resumed(fake: FakeDiscord) -> None:
    identify = {"op": 2, "d": {"token": fake.application.token, "intents": 1}}
    async with aiohttp.ClientSession() as session:
        async with session.ws_connect(fake.gateway.url) as socket:
            await socket.send_json(identify)
            await fake.gateway.connected()
        (known,) = fake.gateway.sessions
        fake.gateway.forget_sessions()
        async with session.ws_connect(fake.gateway.url) as socket:
            data = {"token": fake.application.token, "session_id": known, "seq": 1}
            await socket.send_json({"op": 6, "d": data})
            frames = [await socket.receive_json(timeout=WAIT) for _ in range(2)]
            assert (frames[1]["op"], frames[1]["d"]) == (9, False)
            await socket.send_json(identify)
            ready = await socket.receive_json(timeout=WAIT)
    assert ready["t"] == "READY"
    assert ready["d"]["session_id"] != known


async def test_a_wrong_token_and_an_early_frame_close_the_connection(fake: FakeDiscord) -> None:
    frames = [{"op": 2, "d": {"token": "x", "intents": 1}}, {"op": 3, "d": {}}, {"op": 99}, {}]
    codes = []
    async with aiohttp.ClientSession() as session:
        for frame in frames:
            async with session.ws_connect(fake.gateway.url) as socket:
                await socket.receive_json(timeout=WAIT)
                await socket.send_json(frame)
                await socket.receive(timeout=WAIT)
                codes.append(socket.close_code)
    assert codes == [4004, 4003, 4003, 4002]
