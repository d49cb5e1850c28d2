"""The fake's Web API, called by the real slack-sdk client."""

import asyncio
import sys
from collections.abc import AsyncIterator

import aiohttp
import pytest
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from tests.fakes.slack import rules
from tests.fakes.slack.schema import Json
from tests.fakes.slack.server import FakeSlack
from tests.unit.fakes.slack_blocks import actions, button, modal, section


@pytest.fixture
async def slack() -> AsyncIterator[FakeSlack]:
    async with FakeSlack(retry_delays=()) as fake:
        fake.workspace.add_channel("C1", "U1", "U2", name="deploys")
        fake.workspace.add_channel("C2", "U1", bot=False)
        fake.workspace.add_channel("G1", "U1", kind="group", bot=False)
        fake.workspace.add_channel("C3", "U1").archived = True
        fake.workspace.add_group("S1", "U1", "U2", handle="ops")
        fake.person("U1", "Ada")
        fake.person("U2", "Bo")
        yield fake


@pytest.fixture
async def client(slack: FakeSlack) -> AsyncIterator[AsyncWebClient]:
    async with aiohttp.ClientSession() as session:
        yield AsyncWebClient(
            token=slack.bot_token, base_url=slack.api_url, session=session, retry_handlers=[]
        )


async def refusal(call: object) -> Json:
    with pytest.raises(SlackApiError) as caught:
        await call  # type: ignore[misc]
    answer = caught.value.response
    return {"status": answer.status_code, "headers": answer.headers} | dict(answer.data)


async def test_a_post_is_stored_with_ids_and_listed_with_its_metadata(
    slack: FakeSlack, client: AsyncWebClient
) -> None:
    parent = await client.chat_postMessage(channel="C1", text="parent")
    meta = {"event_type": "ask", "event_payload": {"id": "ask_1"}}
    posted = await client.chat_postMessage(
        channel="C1", thread_ts=parent["ts"], text="q", blocks=[section("q")], metadata=meta
    )
    found = await client.conversations_replies(
        channel="C1", ts=parent["ts"], include_all_metadata=True
    )
    assert [m["ts"] for m in found["messages"]] == [parent["ts"], posted["ts"]]
    assert found["messages"][1]["metadata"] == meta
    assert found["messages"][1]["blocks"][0]["block_id"]
    assert found["messages"][0]["reply_count"] == 1


async def test_invalid_blocks_are_rejected_with_pointers(
    slack: FakeSlack, client: AsyncWebClient
) -> None:
    answer = await refusal(
        client.chat_postMessage(channel="C1", text="t", blocks=[actions(button("x" * 76))])
    )
    assert answer["error"] == "invalid_blocks"
    assert answer["errors"] == [
        "must be less than 76 characters [json-pointer:/blocks/0/elements/0/text/text]"
    ]
    assert slack.messages("C1") == []


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ({"channel": "C9", "text": "x"}, "channel_not_found"),
        ({"channel": "C2", "text": "x"}, "not_in_channel"),
        ({"channel": "G1", "text": "x"}, "channel_not_found"),
        ({"channel": "C3", "text": "x"}, "is_archived"),
        ({"channel": "C1", "text": ""}, "no_text"),
        ({"channel": "C1", "text": "x", "blocks": {"type": "divider"}}, "invalid_blocks_format"),
        ({"channel": "C1", "blocks": [section("x" * 2900)] * 5}, "msg_blocks_too_long"),
        ({"channel": "C1", "text": "x", "markdown_text": "y"}, "markdown_text_conflict"),
        ({"channel": "C1", "text": "x", "metadata": {"event_type": "x"}},
         "invalid_metadata_format"),
    ],
)  # fmt: skip
async def test_a_post_that_slack_would_reject_is_rejected_with_the_same_code(
    client: AsyncWebClient, arguments: Json, code: str
) -> None:
    answer = await refusal(client.api_call("chat.postMessage", json=arguments))
    assert answer["error"] == code


async def test_a_long_text_without_blocks_becomes_several_messages(
    slack: FakeSlack, client: AsyncWebClient
) -> None:
    await client.chat_postMessage(channel="C1", text="x" * 4041)
    assert [len(m.text) for m in slack.messages("C1")] == [4000, 41]
    assert slack.split == ["x" * 4041]
    await client.chat_postMessage(channel="C1", text="x" * 4040)
    assert len(slack.split) == 1


async def test_an_update_replaces_the_blocks_and_keeps_metadata_and_history(
    slack: FakeSlack, client: AsyncWebClient
) -> None:
    meta = {"event_type": "ask", "event_payload": {}}
    posted = await client.chat_postMessage(
        channel="C1", text="a", blocks=[actions(button("Yes"))], metadata=meta
    )
    await client.chat_update(channel="C1", ts=posted["ts"], text="done", blocks=[section("done")])
    [message] = slack.messages("C1")
    assert slack.person("U1").sees(message).buttons == []
    assert message.metadata == meta
    assert message.history[0]["text"] == "a"
    answer = await refusal(client.chat_update(channel="C1", ts=posted["ts"], text="x" * 4001))
    assert answer["error"] == "msg_too_long"
    answer = await refusal(client.chat_update(channel="U1", ts=posted["ts"], text="x"))
    assert answer["error"] == "channel_not_found"
    await client.chat_delete(channel="C1", ts=posted["ts"])
    answer = await refusal(client.chat_update(channel="C1", ts=posted["ts"], text="x"))
    assert answer["error"] == "message_not_found"


async def test_tokens_and_scopes_are_enforced(slack: FakeSlack, client: AsyncWebClient) -> None:
    slack.scopes.discard("chat:write")
    answer = await refusal(client.chat_postMessage(channel="C1", text="x"))
    assert (answer["error"], answer["needed"]) == ("missing_scope", "chat:write")
    assert "im:write" in answer["provided"]
    assert (await refusal(client.auth_test(token="xoxb-other")))["error"] == "invalid_auth"
    wrong = await refusal(client.apps_connections_open(app_token=slack.bot_token))
    assert wrong["error"] == "not_allowed_token_type"
    slack.revoked = True
    assert (await refusal(client.auth_test()))["error"] == "token_revoked"


async def test_people_groups_and_conversations_can_be_looked_up_however_arguments_are_encoded(
    slack: FakeSlack, client: AsyncWebClient
) -> None:
    opened = await client.conversations_open(users="U1")
    assert opened["channel"]["id"] == "D1"
    direct = await client.chat_postMessage(channel="U1", text="hello")
    assert direct["channel"] == "D1"
    assert (await client.users_info(user="U2"))["user"]["real_name"] == "Bo"
    assert (await client.usergroups_users_list(usergroup="S1"))["users"] == ["U1", "U2"]
    assert (await client.conversations_members(channel="C1"))["members"] == ["U0BOT", "U1", "U2"]
    assert (await client.conversations_info(channel="C2"))["channel"]["is_member"] is False
    link = await client.chat_getPermalink(channel="D1", message_ts=direct["ts"])
    assert link["permalink"].startswith("https://fake.slack.com/archives/D1/p")
    await client.reactions_add(channel="D1", timestamp=direct["ts"], name="eyes")
    again = await refusal(client.reactions_add(channel="D1", timestamp=direct["ts"], name="eyes"))
    assert again["error"] == "already_reacted"


async def test_an_ephemeral_message_is_seen_by_one_person_and_in_a_thread_only_if_it_has_replies(
    slack: FakeSlack, client: AsyncWebClient
) -> None:
    await client.chat_postEphemeral(channel="C1", user="U1", text="only you")
    assert slack.person("U1").private_notes("C1") == ["only you"]
    assert slack.person("U2").private_notes("C1") == []
    parent = await client.chat_postMessage(channel="C1", text="parent")
    ts = parent["ts"]
    await client.chat_postEphemeral(channel="C1", user="U2", text="lost", thread_ts=ts)
    await client.chat_postMessage(channel="C1", text="reply", thread_ts=ts)
    await client.chat_postEphemeral(channel="C1", user="U2", text="seen", thread_ts=ts)
    assert slack.person("U2").private_notes("C1") == ["seen"]
    await client.chat_postEphemeral(channel="C1", user="U1", text="x" * 4000)
    refused = client.chat_postEphemeral(channel="C1", user="U1", text="x" * 4001)
    assert (await refusal(refused))["error"] == "msg_too_long"


async def test_a_trigger_opens_one_modal_within_three_seconds(
    slack: FakeSlack, client: AsyncWebClient
) -> None:
    view = modal(section("x"))
    trigger = slack.interactivity.trigger("U1")
    await client.views_open(trigger_id=trigger, view=view)
    again = await refusal(client.views_open(trigger_id=trigger, view=view))
    assert again["error"] == "exchanged_trigger_id"
    late = slack.interactivity.trigger("U1")
    slack.clock.advance(rules.TRIGGER_SECONDS + 0.1)
    assert (await refusal(client.views_open(trigger_id=late, view=view)))["error"] == (
        "expired_trigger_id"
    )
    unknown = await refusal(client.views_open(trigger_id="1.2.3", view=view))
    assert unknown["error"] == "invalid_trigger_id"
    bad = await refusal(client.views_open(trigger_id="1.2.3", view={"type": "modal", "blocks": []}))
    assert bad["error"] == "invalid_arguments"
    assert "missing required field: title [json-pointer:/view]" in str(bad["response_metadata"])


async def test_views_enforce_hashes_stack_depth_and_external_ids(
    slack: FakeSlack, client: AsyncWebClient
) -> None:
    view = modal(section("x"), external_id="one")
    trigger = slack.interactivity.trigger
    first = (await client.views_open(trigger_id=trigger("U1"), view=view))["view"]
    twice = await refusal(client.views_open(trigger_id=trigger("U2"), view=view))
    assert twice["error"] == "duplicate_external_id"
    changed = await client.views_update(view_id=first["id"], hash=first["hash"], view=view)
    assert changed["view"]["hash"] != first["hash"]
    stale = await refusal(client.views_update(view_id=first["id"], hash=first["hash"], view=view))
    assert stale["error"] == "hash_conflict"
    plain_view = modal(section("x"))
    for _ in range(2):
        inside = trigger("U1", first["id"])
        await client.views_push(trigger_id=inside, view=plain_view)
    full = await refusal(client.views_push(trigger_id=trigger("U1", first["id"]), view=plain_view))
    assert full["error"] == "push_limit_reached"
    assert (await refusal(client.views_update(view_id="V0", view=view)))["error"] == "not_found"


async def test_planned_faults_occur_as_often_as_planned_and_are_logged(
    slack: FakeSlack, client: AsyncWebClient
) -> None:
    slack.faults.add("chat.postMessage", status=429, retry_after=7)
    slack.faults.add("chat.postMessage", error="is_archived", channel="C1")
    slack.faults.add("chat.postMessage", status=500)
    limited = await refusal(client.chat_postMessage(channel="C1", text="x"))
    assert (limited["status"], limited["headers"]["Retry-After"]) == (429, "7")
    assert (await refusal(client.chat_postMessage(channel="C1", text="x")))["error"] == (
        "is_archived"
    )
    with pytest.raises(SlackApiError):
        await client.chat_postMessage(channel="C1", text="x")
    assert (await client.chat_postMessage(channel="C1", text="x"))["ok"]
    assert slack.count("chat.postMessage") == 4
    assert [c.fault for c in slack.calls] == [
        "429 before", "is_archived before", "500 before", None
    ]  # fmt: skip


@pytest.mark.parametrize(("when", "stored"), [("before", 0), ("after", 1)])
async def test_a_dropped_connection_loses_the_call_or_only_its_response(
    slack: FakeSlack, client: AsyncWebClient, when: str, stored: int
) -> None:
    slack.faults.add("chat.postMessage", drop=True, when=when)
    with pytest.raises(aiohttp.ClientError):
        await client.chat_postMessage(channel="C1", text="x")
    assert len(slack.messages("C1")) == stored


async def test_a_hanging_call_completes_once_released(
    slack: FakeSlack, client: AsyncWebClient
) -> None:
    fault = slack.faults.add("chat.postMessage", hang=True)
    call = asyncio.ensure_future(client.chat_postMessage(channel="C1", text="x"))
    await slack.until(lambda: fault.hits)
    assert not call.done()
    assert slack.messages("C1") == []
    fault.release()
    assert (await call)["ok"]
    assert slack.count("chat.postMessage") == 1


async def test_real_rate_limits_reject_the_first_call_over_the_limit() -> None:
    async with FakeSlack(real_limits=True, retry_delays=()) as slack:
        slack.workspace.add_channel("C1")
        slack.workspace.add_channel("C2")
        client = AsyncWebClient(token=slack.bot_token, base_url=slack.api_url)
        for _ in range(5):
            await client.chat_postMessage(channel="C1", text="x")
        limited = await refusal(client.chat_postMessage(channel="C1", text="x"))
        assert limited["error"] == "ratelimited"
        assert int(limited["headers"]["Retry-After"]) >= 1
        assert (await client.chat_postMessage(channel="C2", text="x"))["ok"]
        slack.clock.advance(2)
        assert (await client.chat_postMessage(channel="C1", text="x"))["ok"]


async def test_the_page_shows_threads_with_real_buttons_and_escapes_their_text(
    slack: FakeSlack, client: AsyncWebClient
) -> None:
    blocks = [section("*Deploy* &lt;b&gt; now?"), actions(button("Yes", style="primary"))]
    posted = await client.chat_postMessage(channel="C1", text="t", blocks=blocks)
    async with aiohttp.ClientSession() as session:
        async with session.get(f"{slack.url}t/C1/{posted['ts']}") as response:
            html = await response.text()
        async with session.get(f"{slack.url}c/C9") as response:
            assert response.status == 404
    assert "<b>Deploy</b> &lt;b&gt; now?" in html
    assert '<button class="primary">Yes</button>' in html


async def test_mrkdwn_is_parsed_as_the_client_shows_it(
    slack: FakeSlack, client: AsyncWebClient
) -> None:
    text = "&gt; *bold* <https://evil.example|good.example> <!here> <@U1>\n2*3*4 `a &amp; b` :eyes:"
    await client.chat_postMessage(channel="C1", text="t", blocks=[section(text)])
    sight = slack.person("U1").sees(slack.messages("C1")[0])
    assert sight.text == "bold good.example @here @U1\n2*3*4 a & b 👀"
    assert sight.mentions == ["here", "U1"]
    assert sight.links == [("good.example", "https://evil.example")]
    await client.chat_postMessage(channel="C1", text="t", blocks=[section("see @channel")])
    assert slack.person("U1").sees(slack.messages("C1")[1]).mentions == ["channel"]


APP = """
import asyncio, sys
from slack_bolt.adapter.socket_mode.async_handler import AsyncSocketModeHandler
from slack_bolt.async_app import AsyncApp
from slack_sdk.web.async_client import AsyncWebClient

async def main(api_url, token, app_token):
    client = AsyncWebClient(token=token, base_url=api_url)
    app = AsyncApp(client=client, process_before_response=True)

    @app.event("message")
    async def on_message(event):
        if event.get("text") == "die":
            await asyncio.sleep(60)
        await client.reactions_add(channel=event["channel"], timestamp=event["ts"], name="eyes")

    await AsyncSocketModeHandler(app, app_token).start_async()

asyncio.run(main(*sys.argv[1:]))
"""


async def test_the_fake_keeps_its_state_when_an_app_in_another_process_is_killed(
    slack: FakeSlack,
) -> None:
    async def start() -> asyncio.subprocess.Process:
        opened = slack.socket.opened
        arguments = (slack.api_url, slack.bot_token, slack.app_token)
        process = await asyncio.create_subprocess_exec(sys.executable, "-c", APP, *arguments)
        await slack.socket.reconnected(opened)
        return process

    ada = slack.person("U1")
    first = await start()
    seen = await ada.post("C1", "hello")
    await slack.until(lambda: seen.reactions)
    lost = await ada.post("C1", "die")
    await slack.until(
        lambda: [e for e in slack.socket.wire if e["payload"]["event"]["ts"] == lost.ts]
    )
    first.kill()
    await first.wait()
    await slack.socket.connected(0)
    lost.text = "die no more"
    slack.queue.events[-1].envelope["event"]["text"] = "again"
    second = await start()
    await slack.until(lambda: lost.reactions)
    retried = slack.socket.wire[-1]
    second.kill()
    await second.wait()
    assert (retried["retry_attempt"], retried["payload"]["event"]["ts"]) == (1, lost.ts)
