"""Discord's events about deletions, locks and permissions take effect at once, without anybody clicking first."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from answerback.core.actions import Answer
from answerback.core.ask import Ask
from answerback.core.errors import StoreError
from answerback.core.walker import Person
from answerback.ports.surface import Actor
from answerback_base.backoff import Backoff
from answerback_chat import retry
from tests.fakes.discord.world import Can, Channel, Message
from tests.service_support import WAIT
from tests.unit.adapters.discord.rig import Rig

TWO: list[dict[str, Any]] = [
    {"id": "go", "text": "Go on?", "answer_type": "boolean"},
    {"id": "why", "text": "Why so?", "answer_type": "text"},
]
POST, EDIT = "POST /channels/*/messages", "PATCH /channels/*/messages/*"


async def submit_ask(up: Rig, **fields: Any) -> Ask:
    return await up.shown(await up.submit(TWO, **fields))


async def wait_for_status(up: Rig, ask: Ask, status: str) -> Ask:
    """Return the ask once it has ended with this status; nobody acts meanwhile."""
    with up.service.follow(ask.id) as follower:
        async with asyncio.timeout(WAIT):
            stored = await up.store.asks.get(ask.id)
            while stored is None or stored.status != status:
                stored = await follower.next_commit()
    return stored


async def expect_failure(up: Rig, ask: Ask, *arguments: str) -> None:
    ended = await wait_for_status(up, ask, "failed")
    message = (ended.outcome and ended.outcome.message) or ""
    assert all(word in message for word in (*arguments, "Do not retry")), message


async def quiet(up: Rig) -> None:
    """Return once everything that has arrived over the gateway is handled."""
    marker = await submit_ask(up)
    assert (await up.ann.click("Yes", on=live_message(up, marker))).answered
    await asyncio.gather(*up.surface._background._tasks)
    await up.message_sync.wait_until_idle()


def live_message(up: Rig, ask: Ask) -> Message:
    message = ask.placement.message or {}
    channel = up.discord.world.channel(int(str(message["channel"])))
    return channel.messages[int(str(message["id"]))]


def live_messages(up: Rig) -> list[Message]:
    """The messages of the app, wherever they are."""
    posted = [m for each in up.discord.world.channels.values() for m in each.messages.values()]
    return [m for m in posted if m.author_id == up.discord.bot.id and not m.deleted]


async def wait_for_repost(up: Rig, place: Channel, old: list[Message]) -> list[Message]:
    def standing() -> list[Message]:
        mine = [m for m in place.messages.values() if m.author_id == up.discord.bot.id]
        return [message for message in mine if not message.deleted and message not in old]

    await up.ann.until(lambda: len(standing()) == len(old))
    await up.message_sync.wait_until_idle()
    assert len(standing()) == len(old)
    return standing()


async def act(up: Rig, ask: Ask) -> None:
    ann = Actor(Person(surface="discord", user_id=str(up.ann.id), name="Ann"))
    await up.service.act(ask.id, Answer(value=True), ann)


# --- deleted ------------------------------------------------------------------------------------


@pytest.mark.rule("PLACE-1")
@pytest.mark.parametrize("where", ["no thread", "thread", "forum", "directly"])
async def test_a_deleted_prompt_is_posted_again_at_once(up: Rig, where: str) -> None:
    fields: dict[str, Any] = {}
    if where == "thread":
        thread = up.discord.add_thread(up.channel)
        fields = {"to": f"discord:{up.channel.id}/{thread.id}"}
    elif where == "forum":
        fields = {"to": f"discord:{up.discord.add_forum(up.guild).id}"}
    elif where == "directly":
        fields = {"to": f"discord:@{up.ann.id}", "responders": None}
    elif where == "no thread":
        up.discord.deny(up.channel, Can.CREATE_PUBLIC_THREADS)
    ask = await submit_ask(up, **fields)
    old = live_message(up, ask)
    place = up.discord.world.channel(old.channel_id)
    up.discord.delete(old)
    if where == "forum":
        await up.ann.until(lambda: [each for each in up.ann.visible() if each.labels])
        place = up.discord.world.channel(up.ann.latest().message.channel_id)
        await up.message_sync.wait_until_idle()
    else:
        await wait_for_repost(up, place, [old])
    assert (await up.ann.click("Yes", channel=place)).answered
    assert len((await up.shown(ask)).walk.answers) == 1


async def test_prompts_deleted_in_bulk_are_all_posted_again(up: Rig) -> None:
    asks = [await submit_ask(up) for _ in range(3)]
    old = [live_message(up, ask) for ask in asks]
    up.discord.delete_all(up.channel, old)
    assert len(await wait_for_repost(up, up.channel, old)) == 3


@pytest.mark.rule("PLACE-1")
async def test_deleting_other_messages_or_a_record_has_no_effect(up: Rig) -> None:
    ask = await submit_ask(up)
    chatter = up.ann.types(up.channel, "oops")
    await up.service.withdraw(ask.id)
    await up.shown(ask)
    for message in (chatter, live_message(up, ask)):
        up.discord.delete(message)
    await quiet(up)
    assert up.discord.faults.count(POST) == 2, "the ask, and the one that was waited with"


@pytest.mark.rule("PLACE-2")
async def test_a_deleted_channel_fails_all_its_asks_and_no_others(up: Rig) -> None:
    thread = up.discord.add_thread(up.channel)
    here = [await submit_ask(up), await submit_ask(up, to=f"discord:{up.channel.id}/{thread.id}")]
    elsewhere = await submit_ask(up, to=f"discord:{up.discord.add_channel(up.guild, 'other').id}")
    up.discord.faults.server_error(f"GET /channels/{up.channel.id}")
    up.discord.remove_channel(up.channel)
    for ask in here:
        await expect_failure(up, ask, "does not exist")
    assert (await up.shown(elsewhere)).open


@pytest.mark.parametrize("forum", [False, True])
async def test_a_deleted_thread_fails_the_asks_in_it(up: Rig, forum: bool) -> None:
    if forum:
        place = up.discord.add_forum(up.guild)
        ask = await submit_ask(up, to=f"discord:{place.id}")
        thread = up.discord.world.channel(live_message(up, ask).channel_id)
    else:
        thread = up.discord.add_thread(up.channel)
        ask = await submit_ask(up, to=f"discord:{up.channel.id}/{thread.id}")
    up.discord.remove_channel(thread)
    await expect_failure(up, ask, "does not exist")


async def test_an_ask_survives_the_deletion_of_its_own_thread(up: Rig) -> None:
    ask = await submit_ask(up)
    thread = up.discord.world.channel(int(str((ask.placement.message or {})["thread"])))
    up.discord.remove_channel(thread)
    await quiet(up)
    await up.surface.remind(ask, 0)
    assert "still waiting" in up.ann.latest(up.channel).text
    assert (await up.ann.click("Yes", on=live_message(up, ask))).answered
    assert len((await up.shown(ask)).walk.answers) == 1


async def test_a_hidden_channel_fails_no_ask(up: Rig) -> None:
    ask = await submit_ask(up)
    up.discord.faults.code(f"GET /channels/{up.channel.id}", 50001)
    body = {"id": str(up.channel.id), "type": 0, "guild_id": str(up.guild.id)}
    up.discord.gateway.dispatch("CHANNEL_DELETE", body, 1, up.guild.id)
    await up.discord.faults.called(f"GET /channels/{up.channel.id}", 2)
    up.discord.gateway.dispatch("CHANNEL_DELETE", body, 1, up.guild.id)
    await up.discord.faults.called(f"GET /channels/{up.channel.id}", 3)
    await quiet(up)
    assert (await up.shown(ask)).open


async def test_removing_the_app_from_a_server_fails_its_asks_but_an_outage_does_not(
    up: Rig,
) -> None:
    other = up.discord.add_guild("Beta")
    ask = await submit_ask(up)
    elsewhere = await submit_ask(up, to=f"discord:{up.discord.add_channel(other).id}")
    up.discord.outage(up.guild)
    await quiet(up)
    assert (await up.shown(ask)).open
    up.discord.remove_guild(up.guild)
    await expect_failure(up, ask, "removed from the server")
    assert (await up.shown(elsewhere)).open


@pytest.mark.rule("PLACE-6")
async def test_deleting_a_role_fails_asks_that_nobody_else_may_answer(up: Rig) -> None:
    first, second = (up.discord.add_role(up.guild, name) for name in ("ops", "dev"))
    ops, dev = f"@{first.id}", f"@{second.id}"
    alone = await submit_ask(up, responders=[ops])
    both = await submit_ask(up, responders=[ops, dev])
    ann = await submit_ask(up, responders=[ops, str(up.ann.id)])
    other = await submit_ask(up, responders=[dev])
    directly = await submit_ask(up, to=f"discord:@{up.ann.id}", responders=[ops, dev])
    up.discord.remove_role(up.guild, first)
    await expect_failure(up, alone, "roles that may answer were deleted")
    await quiet(up)
    assert [(await up.shown(ask)).open for ask in (both, ann, other, directly)] == [True] * 4
    up.discord.remove_role(up.guild, second)
    await expect_failure(up, both, "roles that may answer were deleted")
    await expect_failure(up, other, "roles that may answer were deleted")
    assert [(await up.shown(ask)).open for ask in (ann, directly)] == [True] * 2


# --- shown again --------------------------------------------------------------------------------


async def make_stale(up: Rig, ask: Ask) -> None:
    """Change an ask while Discord does not let us edit its message."""
    edits = up.discord.faults.count(EDIT)
    up.discord.faults.code(EDIT, 50001)
    await act(up, ask)
    await up.discord.faults.called(EDIT, edits + 1)
    await up.message_sync.wait_until_idle()
    assert "Go on?" in up.ann.sees(live_message(up, ask)).text


@pytest.mark.parametrize("expected", ["channel", "role", "our own roles"])
async def test_granting_permissions_updates_prompts_at_once(up: Rig, expected: str) -> None:
    ask = await submit_ask(up)
    bob = up.discord.person("bob", up.guild)
    await make_stale(up, ask)
    edits = up.discord.faults.count(EDIT)
    up.discord.application.guild_members = True
    up.discord.assign(up.guild, bob.user, set())
    elsewhere = up.discord.add_guild("Beta")
    up.discord.grant(up.discord.add_role(elsewhere, "theirs"), 0)
    up.discord.allow(up.discord.add_channel(up.guild, "other"), Can.VIEW_CHANNEL)
    await quiet(up)
    assert up.discord.faults.count(EDIT) == edits
    role = up.guild.roles[next(iter(up.guild.members[up.discord.bot.id]))]
    if expected == "channel":
        up.discord.allow(up.channel, Can.VIEW_CHANNEL)
    elif expected == "role":
        up.discord.grant(role, role.permissions)
    else:
        up.discord.assign(up.guild, up.discord.bot, {role.id})
    await up.ann.until(lambda: "Why so?" in up.ann.sees(live_message(up, ask)).text)


async def test_unlocking_a_thread_updates_its_asks_at_once(
    up: Rig, caplog: pytest.LogCaptureFixture
) -> None:
    thread = up.discord.add_thread(up.channel)
    ask = await submit_ask(up, to=f"discord:{up.channel.id}/{thread.id}")
    up.discord.set_thread(thread, archived=True, locked=True)
    edits = up.discord.faults.count(EDIT)
    await act(up, ask)
    await up.discord.faults.called(EDIT, edits + 1)
    await quiet(up)
    assert "a moderator has to unlock it" in caplog.text
    assert "Go on?" in up.ann.sees(live_message(up, ask)).text
    up.discord.set_thread(thread, archived=False, locked=False)
    await up.ann.until(lambda: "Why so?" in up.ann.sees(live_message(up, ask)).text)


async def test_events_about_others_or_of_an_unknown_shape_change_nothing(
    up: Rig, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    ask = await submit_ask(up)
    bob = {"user": {"id": str(up.discord.person("bob", up.guild).id)}, "roles": []}
    events: list[tuple[str, dict[str, Any]]] = [
        ("CHANNEL_DELETE", {"id": 5}),
        ("MESSAGE_DELETE", {"id": "175928847299117063", "channel_id": str(up.channel.id)}),
        ("GUILD_MEMBER_UPDATE", {"guild_id": str(up.guild.id), **bob}),
    ]
    for name, data in events:
        up.discord.gateway.dispatch(name, data, 0, up.guild.id)
    await quiet(up)
    assert "An event of an unknown shape was ignored: [('id',)]" in caplog.text
    assert (await up.shown(ask)).open
    assert up.discord.faults.count(EDIT) == 0


async def test_an_event_that_cannot_be_handled_is_logged_and_the_next_one_is_handled(
    up: Rig, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    ask = await submit_ask(up)

    async def broken(*_: object) -> None:
        raise StoreError("the disk is full")

    with monkeypatch.context() as for_now:
        for_now.setattr(retry, "_LONGEST_PAUSE", 0.01)
        for_now.setattr(up.store.messages, "find_by_message", broken)
        up.discord.delete(up.ann.types(up.channel, "oops"))
        await quiet(up)
    assert "the disk is full" in caplog.text
    old = live_message(up, ask)
    up.discord.delete(old)
    await wait_for_repost(up, up.channel, [old])


async def test_an_ask_for_roles_that_do_not_exist_is_not_posted(up: Rig) -> None:
    ask = await up.submit(TWO, responders=["@123456789012345678"])
    await expect_failure(up, ask, "the server has no role 123456789012345678")
    assert up.ann.visible(up.channel) == []


async def test_an_ask_is_posted_even_if_its_roles_cannot_be_looked_up(up: Rig) -> None:
    up.discord.faults.server_error(f"GET /guilds/{up.guild.id}/roles", times=9)
    ask = await up.shown(await up.submit(TWO, responders=["@123456789012345678"]))
    assert ask.open


@pytest.mark.rule("PLACE-1")
@pytest.mark.parametrize("where", ["channel", "thread", "forum", "directly"])
async def test_a_message_that_is_deleted_before_its_post_is_recorded_is_posted_again(
    up: Rig, where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked_up = asyncio.Event()
    pause = Backoff.wait

    async def wait(backoff: Backoff, at_least: float) -> None:
        looked_up.set()
        await pause(backoff, at_least)

    monkeypatch.setattr(Backoff, "wait", wait)
    to = {"channel": f"{up.channel.id}", "directly": f"@{up.ann.id}"}
    if where == "thread":
        to[where] = f"{up.channel.id}/{up.discord.add_thread(up.channel).id}"
    elif where == "forum":
        to[where] = str(up.discord.add_forum(up.guild).id)
    posting = "POST /channels/*/threads" if where == "forum" else POST
    hanging = up.discord.faults.hang(posting, after=True)
    ask = await up.submit(TWO, to=f"discord:{to[where]}")
    await up.ann.until(lambda: live_messages(up))
    [gone] = live_messages(up)
    up.discord.delete(gone)
    await asyncio.wait_for(looked_up.wait(), WAIT)
    hanging.release()
    await up.ann.until(lambda: live_messages(up))
    [again] = live_messages(up)
    assert again.id != gone.id
    assert (await up.shown(ask)).open


@pytest.mark.rule("PLACE-1")
async def test_once_the_app_is_back_in_a_server_what_waited_there_is_shown(up: Rig) -> None:
    ask = await submit_ask(up)
    roles = up.guild.members.pop(up.discord.bot.id)
    await act(up, ask)
    await up.message_sync.wait_until_idle()
    stored = await up.store.asks.get(ask.id)
    assert stored is not None
    assert stored.placement.shown_revision < stored.revision
    up.guild.members[up.discord.bot.id] = roles
    up.discord.gateway.guild_added(up.guild)
    await up.discord.faults.called(EDIT, 2)
    stored = await up.shown(ask)
    assert stored.placement.shown_revision == stored.revision
