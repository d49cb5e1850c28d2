"""A person's actions in the fake reach a real slack-bolt app in Slack's format, in both modes."""

from collections.abc import AsyncIterator

import aiohttp
import pytest

from tests.fakes.slack.schema import Json
from tests.fakes.slack.state import ClientRefusalError
from tests.unit.fakes.slack_blocks import actions, button, entry, modal, option, plain, section
from tests.unit.fakes.slack_world import World, running

CONFIRM: Json = {
    "title": plain("End?"), "text": plain("Sure?"), "confirm": plain("End"), "deny": plain("No"),
}  # fmt: skip


@pytest.fixture(params=["socket", "http"])
async def world(request: pytest.FixtureRequest) -> AsyncIterator[World]:
    async with running(request.param) as made:
        yield made


async def test_a_click_reaches_the_app_in_slacks_format_and_can_be_answered_privately(
    world: World,
) -> None:
    ada = world.slack.person("U1")
    message = await world.ask(section("Deploy?"), actions(button("Yes", value="v1")))
    assert ada.sees(message).texts == ("Deploy?",)
    ack = await ada.click(message, "Yes")
    assert ack is not None
    assert ack.ok
    [body] = world.received
    assert body["container"] == {
        "type": "message", "message_ts": message.ts, "channel_id": "C1", "is_ephemeral": False,
    }  # fmt: skip
    assert body["message"]["blocks"] == message.blocks
    assert (body["actions"][0]["action_id"], body["actions"][0]["value"]) == ("press", "v1")
    assert body["user"]["id"] == "U1"
    async with aiohttp.ClientSession() as session:
        for status in (200, 200, 200, 200, 200, 404):
            posted = await session.post(body["response_url"], json={"text": "too late"})
            assert posted.status == status
    assert ada.private_notes("C1") == ["too late"] * 5
    assert world.slack.person("U2").private_notes("C1") == []


async def test_a_response_url_changes_the_message_and_expires_after_half_an_hour(
    world: World,
) -> None:
    ada = world.slack.person("U1")
    message = await world.ask(actions(button("Yes")))
    await ada.click(message, "Yes")
    url = world.received[0]["response_url"]
    async with aiohttp.ClientSession() as session:
        bad = {"blocks": [section("x" * 3001)], "replace_original": True}
        refused = await session.post(url, json=bad)
        assert (refused.status, await refused.json()) == (
            400, {"ok": False, "error": "invalid_blocks"},
        )  # fmt: skip
        await session.post(url, json={"text": "done", "replace_original": True})
        assert ada.sees(message).texts == ("done",)
        world.slack.clock.advance(1801)
        assert (await session.post(url, json={"text": "late"})).status == 404


async def test_a_removed_control_can_only_be_clicked_on_an_older_copy(world: World) -> None:
    ada = world.slack.person("U1")
    message = await world.ask(actions(button("Yes")))
    copy = message.snapshot()
    await world.client.chat_update(channel="C1", ts=message.ts, text="done", blocks=[])
    with pytest.raises(ClientRefusalError):
        await ada.click(message, "Yes")
    ack = await ada.click_on(copy, "Yes")
    assert ack is not None
    assert ack.ok
    assert world.received[0]["message"]["ts"] == message.ts


async def test_a_declined_confirmation_sends_nothing(world: World) -> None:
    ada = world.slack.person("U1")
    message = await world.ask(actions(button("End Turn", "end", confirm=CONFIRM)))
    dialog = ada.sees(message).control("End Turn").dialog
    assert dialog is not None
    assert (dialog.title, dialog.confirm) == ("End?", "End")
    assert await ada.click(message, "End Turn", confirm=False) is None
    assert world.received == []
    assert await ada.click(message, "End Turn") is not None
    assert len(world.received) == 1


async def test_choices_are_sent_in_the_action_and_in_the_state(world: World) -> None:
    ada = world.slack.person("U1")
    options = [option("Staging", "0"), option("Production", "1")]
    message = await world.ask(
        actions(
            {"type": "static_select", "action_id": "menu", "options": options},
            {"type": "checkboxes", "action_id": "many", "options": options,
             "initial_options": [options[0]]},
            button("Submit"),
        ),
        entry("Why"),
    )  # fmt: skip
    await ada.choose(message, "Production")
    await ada.check(message, ["Production"])
    assert await ada.fill(message, "Why", "because") is None
    with pytest.raises(ClientRefusalError):
        await ada.choose(message, "Moon")
    await ada.click(message, "Submit")
    menu, many, submit = world.received
    assert menu["actions"][0]["selected_option"]["value"] == "1"
    assert menu["state"]["values"]["controls"]["many"]["selected_options"] == [options[0]]
    assert [o["value"] for o in many["actions"][0]["selected_options"]] == ["1"]
    assert submit["state"]["values"]["controls"]["menu"]["selected_option"] == options[1]
    assert submit["state"]["values"]["Why"]["value"] == {
        "type": "plain_text_input", "value": "because",
    }  # fmt: skip


async def test_an_external_select_queries_the_app_while_a_person_types(world: World) -> None:
    ada = world.slack.person("U1")
    world.answer = {"options": [option("Berlin", "7")]}
    menu = {"type": "external_select", "action_id": "find", "min_query_length": 1}
    message = await world.ask(actions(menu))
    assert await ada.search(message, "ber") == ["Berlin"]
    world.answer = {}
    await ada.choose(message, "Berlin")
    assert world.received[0]["value"] == "ber"
    assert world.received[1]["actions"][0]["selected_option"]["value"] == "7"


async def test_a_modal_is_filled_in_rejected_corrected_and_closed(world: World) -> None:
    ada = world.slack.person("U1")
    message = await world.ask(actions(button("Answer")))
    await ada.click(message, "Answer")
    view = modal(entry("Reason", min_length=2), entry("Age", "number_input", optional=True,
                 is_decimal_allowed=False, min_value="1"), notify_on_close=True)  # fmt: skip
    await world.client.views_open(trigger_id=world.received[0]["trigger_id"], view=view)
    shown = await ada.sees_modal()
    assert [c.label for c in ada.sees(shown).controls] == ["Reason", "Age"]
    for wrong in ({}, {"Reason": "x"}, {"Reason": "fine", "Age": "0"}, {"Age": "many"}):
        with pytest.raises(ClientRefusalError):
            await ada.submit(dict(wrong))
    assert len(world.received) == 1
    world.answer = {"response_action": "errors", "errors": {"Reason": "Too dull."}}
    await ada.submit({"Reason": "dull", "Age": "3"})
    assert shown.errors == {"Reason": "Too dull."}
    world.answer = {}
    await ada.submit({"Reason": "better"})
    assert ada.modal is None
    values = world.received[2]["view"]["state"]["values"]
    assert values["Reason"]["value"]["value"] == "better"
    assert values["Age"]["value"]["value"] == "3"


async def test_a_response_action_that_slack_would_reject_leaves_the_modal_open_with_a_notice(
    world: World,
) -> None:
    ada = world.slack.person("U1")
    await world.client.views_open(
        trigger_id=world.slack.interactivity.trigger("U1"), view=modal(entry("Reason"))
    )
    world.answer = {"response_action": "errors", "errors": {"elsewhere": "?"}}
    ack = await ada.submit({"Reason": "x"})
    assert not ack.ok
    assert ada.notices == ["We had some trouble connecting. Try again?"]
    assert ada.modal is not None
    world.answer = {"response_action": "update", "view": modal(entry("Reason"), section("again"))}
    assert (await ada.submit()).ok
    assert ada.sees(ada.modal).texts == ("Title", "again")
    assert ada.modal.values["Reason"]["value"]["value"] == "x"
    assert await ada.close_modal() is None


async def test_closing_a_modal_is_reported_if_the_view_requests_it(world: World) -> None:
    ada = world.slack.person("U1")
    view = modal(section("x"), notify_on_close=True)
    for clear in (True, False):
        trigger = world.slack.interactivity.trigger("U1")
        await world.client.views_open(trigger_id=trigger, view=view)
        await (ada.close_modal() if clear else ada.cancel_modal())
    assert [(b["type"], b["is_cleared"]) for b in world.received] == [
        ("view_closed", True), ("view_closed", False),
    ]  # fmt: skip


async def test_typed_messages_arrive_escaped_with_their_thread_and_mention(world: World) -> None:
    ada = world.slack.person("U1")
    parent = await world.ask(section("Name?"))
    await ada.type_in_thread(parent, "a <b> & c")
    await world.slack.until(lambda: len(world.received) == 1)
    await ada.type_dm("direct")
    await world.slack.until(lambda: len(world.received) == 2)
    await ada.mention_bot("C1", "hello")
    await world.slack.until(lambda: len(world.received) == 4)
    thread, direct, *mention = world.received
    assert (thread["text"], thread["thread_ts"]) == ("a &lt;b&gt; &amp; c", parent.ts)
    assert thread["parent_user_id"] == "U0BOT"
    assert (direct["channel"], direct["channel_type"]) == ("D1", "im")
    assert {event["type"] for event in mention} == {"message", "app_mention"}
    assert mention[0]["text"] == "<@U0BOT> hello"


async def test_edits_and_deletions_arrive_as_subtypes_and_other_channels_stay_silent(
    world: World,
) -> None:
    world.slack.workspace.add_channel("C2", "U1", bot=False)
    ada = world.slack.person("U1")
    await ada.post("C2", "not for the bot")
    message = await ada.post("C1", "fist")
    await ada.edit(message, "first")
    await ada.delete(message)
    await world.slack.queue.settle()
    assert sorted(str(event.get("subtype")) for event in world.received) == [
        "None", "message_changed", "message_deleted",
    ]  # fmt: skip
