"""Threads, forums, direct messages, permissions and edits, over bare REST calls."""

import aiohttp
import pytest

from answerback_discord.parse import changed_at, snowflake_time
from tests.fakes.discord.problems import Payload
from tests.fakes.discord.server import FakeDiscord
from tests.fakes.discord.world import PRIVATE_THREAD, Can, Channel
from tests.unit.fakes.discord.conftest import Rest

HELLO: Payload = {"content": "hello"}


async def test_a_thread_from_a_message_has_the_messages_id_and_a_second_one_returns_160004(
    fake: FakeDiscord, channel: Channel, rest: Rest
) -> None:
    _, message = await rest("POST", f"/channels/{channel.id}/messages", HELLO)
    route = f"/channels/{channel.id}/messages/{message['id']}/threads"
    status, thread = await rest("POST", route, {"name": "work"})
    assert (status, thread["id"], thread["type"]) == (201, message["id"], 11)
    assert (await rest("POST", route, {"name": "work"}))[1]["code"] == 160004


async def test_events_within_one_millisecond_have_increasing_times(
    fake: FakeDiscord, channel: Channel, rest: Rest, monkeypatch: pytest.MonkeyPatch
) -> None:
    frozen = fake.clock.now()
    monkeypatch.setattr(fake.clock, "now", lambda: frozen)
    _, message = await rest("POST", f"/channels/{channel.id}/messages", HELLO)
    route = f"/channels/{channel.id}/messages/{message['id']}"
    _, edited = await rest("PATCH", route, {"content": "x"})
    typed = fake.person("ann", next(iter(fake.world.guilds.values()))).types(channel, "read it")
    moments = [snowflake_time(message["id"]), changed_at(edited), snowflake_time(str(typed.id))]
    assert moments == sorted({each for each in moments if each is not None})


async def test_a_full_guild_returns_160006_and_a_forum_that_requires_a_tag_returns_40067(
    fake: FakeDiscord, rest: Rest
) -> None:
    forum = fake.add_forum(fake.add_guild(), tags=("ask",), requires_tag=True)
    post: Payload = {"name": "q", "message": HELLO}
    route = f"/channels/{forum.id}/threads"
    assert (await rest("POST", route, post))[1]["code"] == 40067
    (tag,) = forum.tags
    status, thread = await rest("POST", route, {**post, "applied_tags": [str(tag)]})
    assert (status, thread["message"]["id"]) == (201, thread["id"])
    fake.world.max_active_threads = 1
    assert (await rest("POST", route, {**post, "applied_tags": [str(tag)]}))[1]["code"] == 160006


async def test_a_thread_without_a_message_has_the_requested_type_else_is_private_and_needs_a_name(
    channel: Channel, rest: Rest
) -> None:
    _, thread = await rest("POST", f"/channels/{channel.id}/threads", {"name": "x", "type": 11})
    assert thread["type"] == 11
    _, private = await rest("POST", f"/channels/{channel.id}/threads", {"name": "x"})
    assert private["type"] == 12
    status, refused = await rest("POST", f"/channels/{channel.id}/threads", {"name": ""})
    assert (status, list(refused["errors"])) == (400, ["name"])


async def test_an_archived_thread_rejects_edits_until_a_patch_or_a_message_reopens_it(
    fake: FakeDiscord, channel: Channel, rest: Rest
) -> None:
    thread = fake.add_thread(channel)
    route = f"/channels/{thread.id}"
    _, message = await rest("POST", f"{route}/messages", HELLO)
    edit = f"{route}/messages/{message['id']}"
    fake.set_thread(thread, archived=True)
    assert (await rest("PATCH", edit, {"content": "x"}))[1]["code"] == 50083
    assert (await rest("PATCH", route, {"archived": False}))[0] == 200
    assert (await rest("PATCH", edit, {"content": "x"}))[0] == 200
    fake.set_thread(thread, archived=True)
    assert (await rest("POST", f"{route}/messages", HELLO))[0] == 200
    assert not thread.archived
    fake.set_thread(thread, archived=True, locked=True)
    assert (await rest("POST", f"{route}/messages", HELLO))[1]["code"] == 160005
    assert (await rest("PATCH", route, {"archived": False}))[1]["code"] == 160005


@pytest.mark.parametrize(
    ("denied", "code"),
    [(Can.VIEW_CHANNEL, 50001), (Can.SEND_MESSAGES, 50013)],
    ids=["unseen", "mute"],
)
async def test_the_bot_cannot_act_without_permission(
    fake: FakeDiscord, channel: Channel, rest: Rest, denied: Can, code: int
) -> None:
    fake.deny(channel, denied)
    status, body = await rest("POST", f"/channels/{channel.id}/messages", HELLO)
    assert (status, body["code"]) == (403, code)


async def test_a_private_thread_is_hidden_from_people_who_are_not_members(
    fake: FakeDiscord, channel: Channel
) -> None:
    ada = fake.person("ada", fake.world.guilds[channel.guild_id or 0])
    thread = fake.add_thread(channel, type=PRIVATE_THREAD)
    assert not fake.world.sees(thread, ada.id)
    thread.members.add(ada.id)
    assert fake.world.sees(thread, ada.id)


async def test_a_message_to_a_person_who_accepts_no_direct_messages_returns_50007(
    fake: FakeDiscord, rest: Rest
) -> None:
    reachable, closed = fake.person("ada"), fake.person("ben", dms_open=False)
    answers = []
    for person in (reachable, closed):
        _, place = await rest("POST", "/users/@me/channels", {"recipient_id": str(person.id)})
        answers.append(await rest("POST", f"/channels/{place['id']}/messages", HELLO))
    assert [status for status, _ in answers] == [200, 403]
    assert answers[1][1]["code"] == 50007


async def test_edits_of_old_messages_are_rate_limited(
    fake: FakeDiscord, channel: Channel, rest: Rest
) -> None:
    route = f"/channels/{channel.id}/messages"
    _, message = await rest("POST", route, HELLO)
    fake.clock.advance(3601)
    codes = [(await rest("PATCH", f"{route}/{message['id']}", HELLO))[0] for _ in range(6)]
    assert codes == [200] * 5 + [429]


async def test_deleted_and_unknown_objects_return_their_error_codes(
    fake: FakeDiscord, channel: Channel, rest: Rest
) -> None:
    route = f"/channels/{channel.id}/messages"
    _, message = await rest("POST", route, HELLO)
    assert (await rest("DELETE", f"{route}/{message['id']}"))[0] == 204
    assert (await rest("PATCH", f"{route}/{message['id']}", HELLO))[1]["code"] == 10008
    fake.remove_channel(channel)
    assert (await rest("POST", route, HELLO))[1]["code"] == 10003
    assert (await rest("POST", "/interactions/1/none/callback", {"type": 6}))[1]["code"] == 10062
    hook = f"/webhooks/{fake.application.id}/none"
    assert (await rest("POST", hook, HELLO))[1]["code"] == 10015


async def test_the_message_list_is_paginated_and_hides_texts_without_the_content_intent(
    fake: FakeDiscord, channel: Channel, rest: Rest
) -> None:
    ada = fake.person("ada", fake.world.guilds[channel.guild_id or 0])
    for number in range(3):
        ada.types(channel, f"text {number}", mention=number == 2)
    fake.application.message_content = False
    _, page = await rest("GET", f"/channels/{channel.id}/messages?limit=2")
    bot = fake.bot.id
    assert [each["content"] for each in page] == [f"<@{bot}> text 2", ""]


async def test_a_malformed_user_agent_and_a_wrong_token_are_rejected(fake: FakeDiscord) -> None:
    good = {"User-Agent": "DiscordBot (https://example.com, 1)", "Authorization": "Bot nonsense"}
    async with aiohttp.ClientSession() as session:
        async with session.get(fake.api_url + "/users/@me", headers=good) as response:
            assert response.status == 401
        async with session.get(
            fake.api_url + "/users/@me", headers={"User-Agent": "x"}
        ) as response:
            assert (await response.json())["code"] == 40333
        async with session.get(fake.api_url + "/gateway", headers=good) as response:
            assert (await response.json())["url"] == fake.gateway.url


async def test_members_and_roles_can_be_looked_up(fake: FakeDiscord, rest: Rest) -> None:
    guild = fake.add_guild()
    role = fake.add_role(guild, "approvers")
    ada = fake.person("ada", guild, roles=(role,))
    _, member = await rest("GET", f"/guilds/{guild.id}/members/{ada.id}")
    assert member["roles"] == [str(role.id)]
    assert (await rest("GET", f"/guilds/{guild.id}/members/1"))[1]["code"] == 10007
    _, roles = await rest("GET", f"/guilds/{guild.id}/roles")
    assert "approvers" in str(roles)


async def test_a_reaction_is_added_and_removed(
    fake: FakeDiscord, channel: Channel, rest: Rest
) -> None:
    ada = fake.person("ada", fake.world.guilds[channel.guild_id or 0])
    typed = ada.types(channel, "hi")
    route = f"/channels/{channel.id}/messages/{typed.id}/reactions/%E2%9C%85/@me"
    assert (await rest("PUT", route))[0] == 204
    assert typed.reactions == {"✅": {fake.bot.id}}
    assert (await rest("DELETE", route))[0] == 204
    assert typed.reactions == {}
