"""A button's data comes from a client, which may send any: nothing goes or changes that its message does not have."""

from __future__ import annotations

from pathlib import Path

import pytest

from answerback.core.labels import Labels
from answerback_chat.control_codec import NO_ASK
from tests.unit.adapters.telegram.rig import rig
from tests.unit.adapters.telegram.test_places_and_faults import GO, live, press, send_click

pytestmark = pytest.mark.rule("TELEGRAM-4", "TELEGRAM-13")
LABELS = Labels()


@pytest.mark.parametrize(
    "control",
    [
        *("full:close", "preview:close", "reply:close", "end_turn:no", "full:0", "other:empty"),
        *("inbox", "tick", "allow:00000000", "deny:00000000", "command:say.x", "run:say.x"),
    ],
)
@pytest.mark.parametrize("who", ["responder", "stranger"])
async def test_no_live_message_goes_by_forged_data(tmp_path: Path, control: str, who: str) -> None:
    async with rig(tmp_path) as at:
        ask, other = await at.submit([GO]), await at.submit([{**GO, "id": "other"}])
        user = at.ann if who == "responder" else at.telegram.add_user("Eve")
        shown, text = live(at.group, ask), live(at.group, ask).text
        for about in (ask.id, other.id, NO_ASK, "ask_1"):
            for revision in (1, 7):
                await send_click(at, user, shown, f"ab1:{about}:{revision}:{control}")
        await send_click(at, user, shown, f"ab1:{NO_ASK}:0:inbox")
        await press(at, at.ann, live(at.group, other), "Yes")
        await at.telegram.until(lambda: not at.telegram.updates)
        await at.shown(other)
        assert live(at.group, ask).text == text
        assert (await at.shown(ask)).revision == 1


async def test_forged_data_of_another_ask_removes_no_request(tmp_path: Path) -> None:
    async with rig(tmp_path) as at:
        ask, other = await at.submit([GO]), await at.submit([GO])
        await press(at, at.ann, live(at.group, ask), LABELS.reply)
        await at.telegram.until(lambda: any(m.reply_to for m in at.group.messages.values()))
        [request] = [m for m in at.group.messages.values() if m.reply_to]
        eve = at.telegram.add_user("Eve")
        for data in (
            f"{other.id}:1:reply:close",
            f"{ask.id}:1:full:close",
            f"{ask.id}:1:reply:close",
        ):
            await send_click(at, eve, request, f"ab1:{data}")
        await send_click(at, at.ann, request, f"ab1:{other.id}:1:reply:close")
        assert request.id in at.group.messages
        await press(at, at.ann, request, LABELS.cancel)
        await at.telegram.until(lambda: request.id not in at.group.messages)


async def test_forged_data_shows_no_ask_of_another_chat(tmp_path: Path) -> None:
    async with rig(tmp_path) as at:
        secret = await at.submit([{**GO, "text": "The secret?"}], to=f"telegram:@{at.ann.id}")
        ask = await at.submit([GO])
        eve = at.telegram.add_user("Eve")
        note = await send_click(at, eve, live(at.group, ask), f"ab1:{secret.id}:1:full:0")
        assert note == LABELS.not_found
        assert len(at.group.messages) == 1


@pytest.mark.rule("SURFACE-24")
@pytest.mark.parametrize("where", ["own chat", "another group"])
async def test_a_press_counts_only_in_the_chat_of_the_ask(tmp_path: Path, where: str) -> None:
    async with rig(tmp_path) as at:
        ask = await at.submit([GO], responders="anyone")
        eve = at.telegram.add_user("Eve")
        to = f"@{eve.id}" if where == "own chat" else at.telegram.add_group("others").id
        chat = at.telegram.chats[eve.id] if where == "own chat" else at.telegram.chats[int(str(to))]
        other = await at.submit([GO], to=f"telegram:{to}", responders="anyone")
        for data in ("answer:true", "end_turn:yes", "answer:0"):
            forged = f"ab1:{ask.id}:{ask.revision}:{data}"
            assert await send_click(at, eve, live(chat, other), forged) == LABELS.not_found
        assert (await at.shown(ask)).revision == ask.revision
        await press(at, at.ann, live(at.group, ask), LABELS.yes)
        assert (await at.shown(ask)).walk.answers[0].value is True


@pytest.mark.rule("SURFACE-24", "BATCH-5")
async def test_a_forged_tick_in_an_inbox_decides_nothing_that_is_not_listed(tmp_path: Path) -> None:
    async with rig(tmp_path) as at:
        arguments = {"tool_name": "Bash", "tool_input": {"command": "make"}}
        call = {"name": "PermissionRequest", "dialect": "approval", "arguments": arguments}
        ask = await at.submit([], **call, responders="anyone")
        eve = at.telegram.add_user("Eve")
        mine = await at.submit([], **call, responders=[str(eve.id)])
        own = at.telegram.chats[eve.id]
        await at.telegram.person_sends(eve, own, "/inbox")
        await at.telegram.until(lambda: len(own.messages) == 2)
        inbox = [*own.messages.values()][-1]
        listed = [b["callback_data"] for b in inbox.buttons if b["callback_data"].endswith(":tick")]
        assert listed == [f"ab1:{mine.id}:{mine.revision}:tick"]
        await send_click(at, eve, inbox, f"ab1:{ask.id}:{ask.revision}:tick")
        version = inbox.version
        await send_click(at, eve, inbox, listed[0])
        await at.telegram.until(lambda: inbox.version > version)
        [allow] = [b for b in inbox.buttons if b["text"].startswith(LABELS.allow_once)]
        version = inbox.version
        await send_click(at, eve, inbox, allow["callback_data"])
        await at.telegram.until(lambda: inbox.version > version)
        assert not (await at.shown(mine)).open
        assert (await at.shown(ask)).open
