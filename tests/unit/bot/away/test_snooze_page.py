"""A person snoozes a question on the page, which says so and undoes it; without a script, too."""

from __future__ import annotations

from pathlib import Path

import aiohttp
import pytest
from pydantic import JsonValue

from answerback.core.actions import Answer
from answerback.core.ask import Ask
from answerback.core.person import Person
from answerback.ports.surface import Actor
from answerback.runtime.app import RunningService
from answerback.service.submission_request import read_submission
from answerback_away import texts
from answerback_away.away import Away
from tests.unit.bot.away.test_saying_it import page_of, post, read
from tests.unit.bot.away.test_saying_it import up as up  # the fixture

ANN, BOB = "ann@example.com", "bob@example.com"


async def ask(up: RunningService, question: str, *responders: str) -> Ask:
    call: JsonValue = {
        "name": "ask_user",
        "arguments": {"question": question},
        "to": "ops",
        "responders": [*(responders or (ANN, BOB))],
    }
    return (await up.service.submit(read_submission(call))).ask


async def inbox_of(up: RunningService, folder: Path, name: str) -> str:
    return (await page_of(up, folder, name)).removesuffix("/away")


@pytest.mark.rule("SNOOZE-1", "SNOOZE-2")
async def test_a_row_is_snoozed_by_its_link_and_comes_back_by_undo(
    up: RunningService, tmp_path: Path
) -> None:
    first, second = await ask(up, "<b>Which port?</b>"), await ask(up, "Which gate?")
    inbox = await inbox_of(up, tmp_path, ANN)
    shown = await read(inbox)
    assert shown.title.startswith("(2) ")
    [link] = [each for each in shown.links if each.endswith(f"snooze?ask={first.id}")]
    page = await read(f"{inbox.rpartition('/')[0]}/{link.rpartition('inbox/')[2]}")
    assert "<b>Which port?</b>" in page.text
    assert [*page.buttons] == [*texts.SNOOZE_FOR, "until"]
    status, _ = await post(f"{inbox}/snooze", ask=first.id, do="4h")
    assert status == 303
    after = await read(f"{inbox}?snoozed={first.id}")
    assert "Snoozed until " in after.text
    assert texts.SNOOZED_COUNT.format(count=1) in after.text
    assert after.title.startswith("(1) ")
    assert second.id in after.markup
    assert texts.UNDO in after.buttons.values()
    assert "Which port?" in (await read(await inbox_of(up, tmp_path, BOB))).text
    assert "Which port?" in (await read(f"{inbox}/history?status=open")).text
    listed = await read(f"{inbox}/snooze")
    assert "<b>Which port?</b>" in listed.text
    assert (await post(f"{inbox}/snooze", ask=first.id, do="show_again"))[0] == 303
    assert (await read(inbox)).title.startswith("(2) ")
    assert texts.NOTHING_SNOOZED in (await read(f"{inbox}/snooze")).text
    assert "Snoozed until " not in (await read(f"{inbox}?snoozed={first.id}")).text


@pytest.mark.rule("SNOOZE-1")
async def test_another_time_is_written_and_what_cannot_be_is_said(
    up: RunningService, tmp_path: Path
) -> None:
    mine, others = await ask(up, "Which port?"), await ask(up, "Which gate?", BOB)
    inbox = await inbox_of(up, tmp_path, ANN)
    for form, problem in (
        ({"ask": mine.id, "do": "until", "until": "soon"}, texts.BAD_SNOOZE),
        ({"ask": mine.id, "do": "dance"}, texts.BAD_SNOOZE),
        ({"ask": others.id, "do": "4h"}, texts.NOT_WAITING),
        ({"do": "4h"}, texts.NOT_WAITING),
    ):
        status, text = await post(f"{inbox}/snooze", **form)
        assert status == 422
        assert problem in text
        assert "Which gate?" not in text
    missing = await read(f"{inbox}/snooze?ask={others.id}")
    assert (missing.status, "Which gate?" in missing.text) == (404, False)
    assert (await post(f"{inbox}/snooze", ask=mine.id, do="until", until="30m"))[0] == 303
    empty = await read(inbox)
    assert "Which port?" not in empty.text
    assert texts.SNOOZED_COUNT.format(count=1) in empty.text


@pytest.mark.rule("SNOOZE-2", "URGENCY-3")
async def test_the_next_question_of_a_page_is_none_that_is_snoozed(
    up: RunningService, tmp_path: Path
) -> None:
    asks = [await ask(up, f"Question {each}?") for each in "abc"]
    inbox = await inbox_of(up, tmp_path, ANN)
    await post(f"{inbox}/snooze", ask=asks[1].id, do="4h")
    opened = await read(f"{inbox}?open={asks[0].id}")
    assert "Question c?" in opened.text
    assert "Question b?" not in opened.text
    snoozed = await read(f"{inbox}?open={asks[1].id}")
    assert "Question b?" in snoozed.text, "it can still be opened and answered"


@pytest.mark.rule("SNOOZE-3")
async def test_an_open_page_is_told_at_once_when_something_leaves_the_list_or_is_back(
    up: RunningService, tmp_path: Path
) -> None:
    mine = await ask(up, "Which port?")
    person = Person(surface="web", user_id=ANN)
    away = up.extensions.running["away"]
    assert isinstance(away, Away)
    with up.service.follow("web") as following:
        await away.snoozes.snooze(person, mine, up.service.clock.now() + 3_600)
        found = [await following.next_commit()]
        await away.snoozes.show_again(person, mine)
        found.append(await following.next_commit())
    assert [each and each.id for each in found] == [mine.id, mine.id]


@pytest.mark.rule("SNOOZE-2")
async def test_the_operators_own_list_is_one_of_these(up: RunningService) -> None:
    assert up.inbox_url is not None
    call: JsonValue = {"name": "ask_user", "arguments": {"question": "Go?"}, "to": "web"}
    mine = (await up.service.submit(read_submission(call))).ask
    async with (
        aiohttp.ClientSession() as http,
        http.get(up.inbox_url, allow_redirects=False) as response,
    ):
        inbox = f"{up.api_url}/{response.headers['Location']}"
    assert (await post(f"{inbox}/snooze", ask=mine.id, do="1d"))[0] == 303
    assert texts.SNOOZED_COUNT.format(count=1) in (await read(inbox)).text
    await up.service.act(mine.id, Answer(value="yes"), Actor(Person(surface="web", user_id="x")))
    assert "Snoozed" not in (await read(inbox)).text
