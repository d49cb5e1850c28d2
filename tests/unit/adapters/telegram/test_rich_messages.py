"""With `rich_messages`, an ask's message is a rich message: long, with tables, and with nothing live in it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from answerback.core.ask import Status
from answerback.core.labels import Labels
from answerback.core.view import view_of
from answerback_telegram import render
from answerback_telegram.rich_messages import RICH
from tests.fakes.telegram.rich_rules import parse_rich
from tests.unit.adapters import all_surfaces
from tests.unit.adapters.telegram.rig import rig
from tests.unit.adapters.telegram.test_places_and_faults import GO, live, press

pytestmark = pytest.mark.rule("TELEGRAM-3", "TELEGRAM-15")
LABELS = Labels()
TABLE = "| file | lines |\n|:---|---:|\n| `a.py` | 12 |\n| @ann /start | **3** |"


def asked(context: str) -> dict[str, Any]:
    """A question with a context in Markdown."""
    return {**GO, "context": context}


async def test_a_long_context_stands_whole_in_the_message(tmp_path: Path) -> None:
    context = "\n\n".join(f"Step {n}: " + "migrate the table of orders " * 8 for n in range(30))
    assert 7_000 < len(context) < 8_000
    async with rig(tmp_path, rich_messages=True) as at:
        ask = await at.submit([asked(context)])
        message = live(at.group, ask)
        assert "Step 29" in message.text
        assert LABELS.details not in [each["text"] for each in message.buttons]
        await press(at, at.ann, message, "Yes")
        assert (await at.shown(ask)).status is Status.ANSWERED
        assert "Go?" in live(at.group, ask).text
    sent = {method for method, _, _ in at.telegram.log}
    assert {"sendRichMessage", "editMessageText"} <= sent
    assert "sendMessage" not in sent


async def test_a_table_is_a_table_and_nothing_in_it_becomes_live(tmp_path: Path) -> None:
    async with rig(tmp_path, rich_messages=True) as at:
        await at.submit([asked(f"Changed:\n\n{TABLE}")])
        [body] = at.telegram.calls("sendRichMessage")
        assert at.telegram.pings == [()]
    html = body["rich_message"]["html"]
    assert '<th align="right">lines</th>' in html
    assert '<td align="left"><code>a.py</code></td><td align="right">12</td>' in html


async def test_a_server_that_does_not_know_rich_messages_gets_plain_ones(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with rig(tmp_path, rich_messages=True) as at:
        at.telegram.knows_rich_messages = False
        first, second = await at.submit([asked(TABLE)]), await at.submit([GO])
        for ask in (first, second):
            await press(at, at.ann, live(at.group, ask), "Yes")
            assert (await at.shown(ask)).status is Status.ANSWERED
    assert [each[2] for each in at.telegram.log if each[0] == "sendRichMessage"] == [404]
    assert "too old" in caplog.text


@pytest.mark.rule("TELEGRAM-11")
async def test_a_token_that_is_refused_says_nothing_about_rich_messages(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with rig(tmp_path, rich_messages=True) as at:
        at.telegram.token_refused_at = "sendRichMessage"
        await at.submit([GO])
    assert "the bot token is not valid" in caplog.text
    assert "sendMessage" not in [method for method, _, _ in at.telegram.log]
    assert "too old" not in caplog.text


async def test_a_message_of_before_is_edited_by_a_server_that_has_lost_rich_messages(
    tmp_path: Path,
) -> None:
    async with rig(tmp_path, rich_messages=True) as at:
        ask = await at.submit([GO])
        at.telegram.knows_rich_messages = False
        await press(at, at.ann, live(at.group, ask), "Yes")
        assert (await at.shown(ask)).status is Status.ANSWERED
        assert live(at.group, ask).buttons == [] or "Yes" not in live(at.group, ask).text


@given(st.text(max_size=300))
def test_any_text_is_accepted_and_shown_with_its_blanks(context: str) -> None:
    view = view_of(
        all_surfaces.asked({"name": "ask_user", "arguments": {"questions": [asked(context)]}})
    )
    fields = render.message(view, LABELS, form=RICH)
    parse_rich(fields["rich_message"])


def test_blanks_at_the_start_of_a_line_and_in_a_row_are_kept() -> None:
    fields = RICH.compose(["if x:\n    y  =  1", "<code>a\n  b</code>"], [])
    assert parse_rich(fields["rich_message"]).text == "if x:\n    y  =  1\n\na\n  b"


@pytest.mark.parametrize(
    "why",
    ["RICH_MESSAGE_TOO_LONG", "MESSAGE_TOO_LONG", "ENTITIES_TOO_LONG", "ENTITY_BOUNDS_INVALID"],
)
async def test_a_rich_message_that_telegram_refuses_is_a_plain_one_with_all_its_buttons(
    tmp_path: Path, why: str
) -> None:
    refused = json.dumps({"ok": False, "error_code": 400, "description": f"Bad Request: {why}"})
    async with rig(tmp_path, rich_messages=True) as at:
        at.telegram.odd_answers["sendRichMessage"] = [(400, refused)]
        ask = await at.submit([GO, {**GO, "id": "again"}])
        at.telegram.odd_answers["editMessageText"] = [(400, refused)]
        for _ in range(2):
            await press(at, at.ann, live(at.group, ask), "Yes")
            await at.shown(ask)
        assert (await at.shown(ask)).status is Status.ANSWERED
        second = await at.submit([GO])
        assert at.telegram.calls("sendRichMessage")
        assert live(at.group, second).text
