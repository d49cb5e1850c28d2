"""Telegram's changes to messages, chats and calls, and their effects on asks."""

from __future__ import annotations

import asyncio
import copy
import json
from pathlib import Path
from typing import Any

import pytest

from answerback.core.ask import Ask, Status
from answerback.core.errors import InvalidCallError, LeaseLostError, StoreError
from answerback.core.labels import Labels
from answerback.ports.surface import Shown
from answerback_base.backoff import Backoff
from answerback_chat import retry
from answerback_telegram import html_text
from answerback_telegram.limits import ANONYMOUS_ADMINISTRATOR
from answerback_telegram.parse import message_id
from answerback_telegram.plugin import TelegramPlugin, TelegramSettings
from tests.fakes.telegram.server import FakeTelegram
from tests.fakes.telegram.world import Chat, Message, User
from tests.unit.adapters.telegram.rig import Rig, rig

GO: dict[str, Any] = {"id": "go", "text": "Go?", "answer_type": "boolean"}
LABELS = Labels()


def live(chat: Chat, ask: Ask) -> Message:
    """Return an ask's live message."""
    number = message_id((ask.placement.message or {}).get("id"))
    assert number is not None
    return chat.messages[number]


def retry_quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let what failed be tried again without long pauses."""
    monkeypatch.setattr(retry, "Backoff", lambda *_, **__: Backoff(0.001, 0.001))


async def press(at: Rig, user: User, message: Message, label: str) -> str:
    """Press a button; return the note that the person sees."""
    [data] = [b["callback_data"] for b in message.buttons if b["text"] == label]
    return await send_click(at, user, message, data)


async def send_click(at: Rig, user: User, message: Message, data: str) -> str:
    """Send a click; return the note that the person sees."""
    number = await at.telegram.click(user, message, data)
    await at.telegram.until(lambda: number in at.telegram.answers)
    return str(at.telegram.answers[number].get("text", ""))


@pytest.mark.rule("TELEGRAM-6", "TELEGRAM-4")
async def test_a_click_during_a_limit_is_answered_and_confirmed_once_it_is_committed(
    tmp_path: Path,
) -> None:
    async with rig(tmp_path) as at:
        ask = await at.submit([GO])
        at.telegram.rate_limit_next = 1_000
        assert await press(at, at.ann, live(at.group, ask), "Yes") == ""
        stored = await at.store.asks.get(ask.id)
        assert stored is not None
        assert stored.status is Status.ANSWERED
        await at.telegram.until(lambda: not at.telegram.updates)
        at.telegram.rate_limit_next = 0


@pytest.mark.rule("TELEGRAM-6")
async def test_what_came_in_while_the_service_was_down_counts_after_the_start(
    tmp_path: Path,
) -> None:
    async with FakeTelegram() as telegram:
        group, ann = telegram.add_group(), telegram.add_user("Ann")
        group.members[ann.id] = "member"
        async with rig(tmp_path, telegram=telegram, group=group, ann=ann) as at:
            ask = await at.submit([GO])
        number = await telegram.click(
            ann, live(group, ask), live(group, ask).buttons[0]["callback_data"]
        )
        async with rig(tmp_path, telegram=telegram, group=group, ann=ann) as at:
            await telegram.until(lambda: number in telegram.answers)
            assert (await at.shown(ask)).status is Status.ANSWERED


@pytest.mark.rule("TELEGRAM-8")
async def test_a_second_copy_goes_at_its_first_click(tmp_path: Path) -> None:
    async with rig(tmp_path) as at:
        at.telegram.lose_next_answer = "sendMessage"
        ask = await at.submit([GO, {**GO, "id": "again"}])
        while not (ask.placement.message or {}).get("id"):
            await asyncio.sleep(0.02)
            ask = await at.shown(ask)
        first, second = at.group.messages.values()
        assert live(at.group, ask) is second
        await press(at, at.ann, first, "Yes")
        await at.telegram.until(lambda: first.id not in at.group.messages)
        ask = await at.shown(ask)
        assert (ask.revision, len(at.group.messages)) == (2, 1)


@pytest.mark.rule("TELEGRAM-8")
async def test_a_click_shows_which_message_a_crash_has_forgotten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with FakeTelegram() as telegram:
        group, ann = telegram.add_group(), telegram.add_user("Ann")
        group.members[ann.id] = "member"
        where: dict[str, Any] = {"telegram": telegram, "group": group, "ann": ann}
        async with rig(tmp_path, **where) as at:
            save = at.store.asks.save_shown

            async def crash(ask_id: str, shown: Shown, of: Ask | None = None) -> Ask | None:
                if "id" in shown.message:
                    await asyncio.Event().wait()
                return await save(ask_id, shown, of)

            monkeypatch.setattr(at.store.asks, "save_shown", crash)
            submitted = asyncio.create_task(at.submit([GO]))
            await telegram.until(lambda: group.messages)
            submitted.cancel()
        [message] = group.messages.values()
        number = await telegram.click(ann, message, message.buttons[0]["callback_data"])
        async with rig(tmp_path, **where) as at:
            await telegram.until(lambda: number in telegram.answers)
            [ask] = (await at.store.asks.page(limit=9)).rows
            await telegram.until(lambda: not any(each.buttons for each in group.messages.values()))
            ask = await at.shown(ask)
            assert ask.status is Status.ANSWERED
            assert [*group.messages.values()] == [live(group, ask)]


@pytest.mark.rule("TELEGRAM-11")
@pytest.mark.parametrize("how", ["never started", "blocked", "removed"])
async def test_an_ask_fails_where_nobody_can_be_reached(tmp_path: Path, how: str) -> None:
    async with rig(tmp_path) as at:
        at.ann.started, at.ann.blocked = how != "never started", how == "blocked"
        if how == "removed":
            at.group.members[at.telegram.bot.id] = "kicked"
            ask = await at.submit([GO])
        else:
            ask = await at.submit([GO], to=f"telegram:@{at.ann.id}")
        assert ask.status is Status.FAILED
        assert ask.outcome is not None
        advice = {
            "never started": "press Start",
            "blocked": "blocked the bot",
            "removed": "add it again",
        }
        assert advice[how] in str(ask.outcome.message)


@pytest.mark.rule("TELEGRAM-11")
async def test_an_ask_fails_as_soon_as_the_bot_is_removed(tmp_path: Path) -> None:
    async with rig(tmp_path) as at:
        ask = await at.submit([GO])
        await membership(at, "kicked")
        assert (await at.shown(ask)).status is Status.FAILED


async def membership(at: Rig, status: str) -> None:
    """Change whether the bot is in the group; return once the service knows."""
    number = await at.telegram.change_membership(at.group, status)
    await at.telegram.until(lambda: at.telegram.is_handled(number))


@pytest.mark.rule("TELEGRAM-11")
async def test_a_bot_that_is_added_again_asks_again_and_shows_how_asks_ended_meanwhile(
    tmp_path: Path,
) -> None:
    async with rig(tmp_path) as at:
        answered, ask = await at.submit([GO]), await at.submit([GO])
        await press(at, at.ann, live(at.group, answered), "Yes")
        await at.shown(answered)
        await membership(at, "kicked")
        assert (await at.shown(ask)).status is Status.FAILED
        assert live(at.group, ask).buttons
        assert (await at.submit([GO])).status is Status.FAILED
        before = live(at.group, answered).version
        await membership(at, "member")
        await at.telegram.until(lambda: not live(at.group, ask).buttons)
        assert live(at.group, answered).version == before
        again = await at.submit([GO])
        assert await press(at, at.ann, live(at.group, again), "Yes") == ""
        assert (await at.shown(again)).status is Status.ANSWERED


async def test_with_privacy_mode_people_answer_by_buttons_and_replies(tmp_path: Path) -> None:
    async with rig(tmp_path) as at:
        at.telegram.reads_all = False
        ask = await at.submit([GO, {**GO, "id": "again"}])
        at.telegram.pass_time()
        await at.telegram.person_sends(at.ann, at.group, "@answerback_bot yes")
        said = await at.telegram.person_sends(at.ann, at.group, "yes", live(at.group, ask).id)
        await at.telegram.until(lambda: said.reactions)
        ask = await at.shown(ask)
        assert ask.revision == 2
        assert await press(at, at.ann, live(at.group, ask), "Yes") == ""
        assert (await at.shown(ask)).status is Status.ANSWERED


@pytest.mark.rule("TELEGRAM-5")
async def test_a_request_comes_however_long_the_chat_is_limited(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    retry_quickly(monkeypatch)
    async with rig(tmp_path) as at:
        ask = await at.submit([GO])
        limit = json.dumps({"ok": False, "parameters": {"retry_after": 0.01}})
        at.telegram.odd_answers["sendMessage"] = [(429, limit)] * 5
        assert await press(at, at.ann, live(at.group, ask), LABELS.reply) == ""
        await at.telegram.until(lambda: len(at.group.messages) == 2)


@pytest.mark.rule("TELEGRAM-9")
async def test_anyone_needs_a_private_group(tmp_path: Path) -> None:
    async with rig(tmp_path) as at:
        asked = await at.submit([GO], responders="anyone")
        named = await at.submit([GO])
        assert asked.status is Status.OPEN
        at.group.username = "everybody"
        failed = await at.submit([GO], responders="anyone")
        assert await press(at, at.telegram.add_user("Eve"), live(at.group, asked), "Yes")
        for each in (failed, await at.shown(asked)):
            assert each.status is Status.FAILED
            assert each.outcome is not None
            assert "public group" in str(each.outcome.message)
        assert await press(at, at.ann, live(at.group, named), "Yes") == ""
        assert (await at.shown(named)).status is Status.ANSWERED


@pytest.mark.rule("TELEGRAM-9")
@pytest.mark.parametrize("who", ["anonymous", "channel", "bot"])
async def test_whoever_writes_as_a_group_is_nobody(tmp_path: Path, who: str) -> None:
    async with rig(tmp_path) as at:
        writer = copy.copy(at.ann)
        if who == "anonymous":
            writer.id = int(ANONYMOUS_ADMINISTRATOR)
        writer.is_bot = who == "bot"
        extra: dict[str, Any] = {"sender_chat": at.group.json()} if who == "channel" else {}
        ask = await at.submit([GO], responders="anyone")
        at.telegram.pass_time()
        shown = live(at.group, ask)
        await at.telegram.person_sends(writer, at.group, "yes", shown.id, **extra)
        await at.telegram.until(lambda: not at.telegram.updates)
        assert (await at.shown(ask)).revision == 1


@pytest.mark.rule("TELEGRAM-3")
@pytest.mark.parametrize("text", ["@@bob", "/@bob", "a/@bob", "@bob@ann", "@**bob**", "/*stop*"])
async def test_no_name_becomes_live(tmp_path: Path, text: str) -> None:
    async with rig(tmp_path) as at:
        ask = await at.submit([{**GO, "text": text, "context": f"Now {text} there"}])
        assert at.telegram.pings == [()]
        assert text.replace("*", "") in live(at.group, ask).text


def test_an_address_stays_in_one_piece() -> None:
    assert html_text.escape("https://example.com/a/b") == "https://example.com/a/b"


async def test_what_follows_a_click_ends_if_the_database_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async with rig(tmp_path) as at:
        ask = await at.submit([GO])

        async def fail(*_: object, **__: object) -> None:
            raise LeaseLostError("telegram updates")

        monkeypatch.setattr(at.service, "save_draft", fail)
        await press(at, at.ann, live(at.group, ask), LABELS.reply)
        await at.surface.stop()
        [failed] = [r for r in caplog.records if "What follows a click" in r.message]
        assert failed.levelname == "WARNING"


@pytest.mark.rule("TELEGRAM-7")
async def test_an_update_by_http_that_could_not_be_stored_is_sent_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    retry_quickly(monkeypatch)
    async with rig(tmp_path, "http") as at:
        ask = await at.submit([{"id": "why", "text": "Why?", "answer_type": "text"}])
        apply, failures = at.service.apply, [StoreError("the disk is full")] * 5

        async def failing(*args: Any, **kwargs: Any) -> Any:
            if failures:
                raise failures.pop()
            return await apply(*args, **kwargs)

        monkeypatch.setattr(at.service, "apply", failing)
        at.telegram.pass_time()
        shown = live(at.group, ask)
        said = await at.telegram.person_sends(at.ann, at.group, "because", shown.id)
        await at.telegram.until(lambda: said.reactions)
        assert (await at.shown(ask)).status is Status.ANSWERED


@pytest.mark.rule("TELEGRAM-4")
@pytest.mark.parametrize(
    "data",
    [
        *("", "x", "ab1:ask_0:1:back", "ab1:ask_0:1:full:x.y"),
        *(f"ab1:ask_0:1:{verb}:5" for verb in ("choose", "edit", "note", "use")),
    ],
)
async def test_forged_data_is_answered_and_changes_nothing(tmp_path: Path, data: str) -> None:
    async with rig(tmp_path) as at:
        ask = await at.submit([GO])
        forged = data.replace("ask_0:1", f"{ask.id}:1") if data.endswith(":5") else data
        assert await send_click(at, at.ann, live(at.group, ask), forged)
        assert (await at.shown(ask)).revision == 1


@pytest.mark.rule("TELEGRAM-12")
async def test_the_inbox_comes_to_the_persons_own_chat(tmp_path: Path) -> None:
    async with rig(tmp_path) as at:
        await at.submit([GO])
        own = at.telegram.chats[at.ann.id]
        await at.telegram.person_sends(at.ann, at.group, "/inbox")
        await at.telegram.until(lambda: own.messages)
        [inbox] = own.messages.values()
        assert "Go?" in inbox.text
        await press(at, at.ann, inbox, LABELS.refresh)
        at.ann.started = False
        said = await at.telegram.person_sends(at.ann, at.group, "/inbox@answerback_bot")
        await at.telegram.until(
            lambda: any(m.reply_to == said.id for m in at.group.messages.values())
        )
        assert at.telegram.commands[0]["command"] == "inbox"


@pytest.mark.rule("TELEGRAM-1")
async def test_a_topic_is_a_place_of_its_own(tmp_path: Path) -> None:
    async with rig(tmp_path) as at:
        at.group.topics.add(45)
        ask = await at.submit([GO], to=f"telegram:{at.group.id}/45")
        assert live(at.group, ask).thread == 45
        assert await press(at, at.ann, live(at.group, ask), "No") == ""
        assert (await at.shown(ask)).status is Status.ANSWERED
        assert len(at.group.messages) == 1
        general = await at.submit([GO], to=f"telegram:{at.group.id}/1")
        assert live(at.group, general).thread is None
        at.telegram.pass_time()
        said = await at.telegram.person_sends(at.ann, at.group, f"@{at.telegram.bot.username} yes")
        await at.telegram.until(lambda: said.reactions)
        assert (await at.shown(general)).status is Status.ANSWERED
        gone = await at.submit([GO], to=f"telegram:{at.group.id}/46")
        assert gone.status is Status.FAILED


@pytest.mark.parametrize("to", ["telegram:ops", "telegram:@ann", "telegram:-5/x"])
async def test_a_destination_is_named_by_numbers(tmp_path: Path, to: str) -> None:
    async with rig(tmp_path) as at:
        with pytest.raises(InvalidCallError) as refused:
            await at.submit([GO], to=to)
        [problem] = refused.value.problems
        assert "is not the id of" in problem.message


def test_the_settings_say_how_updates_come() -> None:
    settings = TelegramSettings.model_validate({"bot_token": "1:a", "webhook": True})
    assert (settings.connection(), settings.http_actions_setting()) == ("HTTP", "telegram.webhook")
    assert TelegramSettings.model_validate({"bot_token": "1:a"}).connection() == "long polling"
    assert not TelegramSettings.model_validate({"webhook": True}).configured()
    assert TelegramPlugin().manifest() is None
