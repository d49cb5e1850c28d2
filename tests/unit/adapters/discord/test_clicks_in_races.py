"""Simultaneous clicks, double clicks, outdated messages and people who may not answer.

At most one transition happens, and everybody else is count privately.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from answerback.core.ask import Ask
from answerback.core.labels import Labels
from tests.unit.adapters.discord.rig import MODES, Mode, Rig, rig

QUESTIONS: list[dict[str, Any]] = [
    {"id": "env", "text": "Which one?", "answer_type": "select", "options": ["staging", "prod"]},
    {"id": "why", "text": "Why that?", "answer_type": "text"},
]
MANY: list[dict[str, Any]] = [
    {
        "id": "pick",
        "text": "Pick some",
        "answer_type": "multi_select",
        "options": [f"number {n}" for n in range(60)],
    },
]


@pytest.fixture(params=MODES)
async def up(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Rig]:
    mode: Mode = request.param
    async with rig(tmp_path, mode) as made:
        yield made


async def post_ask(up: Rig, questions: list[dict[str, Any]], **fields: Any) -> Ask:
    return await up.shown(await up.submit(questions, **fields))


async def note_after(up: Rig, count: int) -> str:
    """Ann's newest note, once she has more than ``count`` notes."""
    await up.ann.until(lambda: len(up.ann.notes()) > count)
    return up.ann.notes()[0].text


@pytest.mark.rule("SURFACE-9")
async def test_a_person_who_may_not_answer_is_told_privately_before_a_modal_opens(up: Rig) -> None:
    eve = up.discord.person("eve", up.guild)
    ask = await post_ask(up, QUESTIONS)
    for label in ("staging", "Reply", "End Turn"):
        done = await eve.click(label)
        assert done.answered
        assert eve.modal is None
        assert "may answer here" in eve.notes()[0].text
        assert f"<@{up.ann.id}>" in eve.notes()[0].text
    assert up.discord.pings == []
    assert (await up.shown(ask)).revision == ask.revision


@pytest.mark.rule("SURFACE-10")
async def test_text_submitted_too_late_in_a_modal_is_given_back(up: Rig) -> None:
    bob = up.discord.person("bob", up.guild)
    ask = await post_ask(up, QUESTIONS, responders="anyone")
    await up.ann.click("Reply")
    up.ann.fill("Your message to the assistant", "a long *story*")
    await bob.click("prod")
    done = await up.ann.submit()
    assert done.answered
    note = up.ann.notes()[0].text
    assert f"<@{bob.id}> was faster" in note
    assert r"a long \*story\*" in note
    assert (await up.shown(ask)).open


@pytest.mark.rule("DISCORD-8")
async def test_only_members_of_a_responding_role_may_answer(up: Rig) -> None:
    admins = up.discord.add_role(up.guild, "admins")
    guest = up.discord.person("guest", up.guild)
    admin = up.discord.person("admin", up.guild, roles=(admins,))
    ask = await post_ask(up, QUESTIONS, responders=[f"@{admins.id}"])
    assert (await guest.click("prod")).answered
    assert f"<@&{admins.id}>" in guest.notes()[0].text
    assert (await admin.click("prod")).answered
    assert (await up.shown(ask)).revision == ask.revision + 1


async def test_a_search_without_results_says_so(up: Rig) -> None:
    await post_ask(up, MANY)
    await up.ann.click("Search…")
    up.ann.fill("Search…", "nowhere")
    assert (await up.ann.submit()).answered
    assert "Nothing matches" in up.ann.notes()[0].text


async def test_a_search_with_more_results_than_a_menu_holds_says_so(up: Rig) -> None:
    await post_ask(up, MANY)
    for expected, count in (("number", 60), ("number 5", 15)):
        await up.ann.click("Search…")
        up.ann.fill("Search…", expected)
        assert (await up.ann.submit()).answered
        seen = up.ann.notes()[0]
        assert (Labels().found.format(count=count, text=expected, shown=25) in seen.text) is (
            count > 25
        )
        assert len(seen.selects[0].options) == min(count, 25)


async def test_a_shortened_selection_is_shown_in_full_on_request(up: Rig) -> None:
    options = [f"option number {n} {'x' * 30}" for n in range(60)]
    await post_ask(up, [MANY[0] | {"options": options}])
    await up.ann.choose(None, options[:25])
    assert options[24] not in up.ann.latest(up.channel).text
    await up.ann.click("Show in full")
    shown = " ".join(up.ann.notes()[0].text.partition("☑ ")[2].split())
    assert shown.startswith(" · ".join(options[:25]))
