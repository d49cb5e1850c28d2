"""A form of one question looks like a single question: every surface shows both byte for byte the same."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import JsonValue

from answerback.core import ask as asks
from answerback.core.actions import Action, Answer, EndTurn, Reply
from answerback.core.ask import Ask, Change, Reason, Status
from answerback.core.labels import Labels
from answerback.core.view import view_of
from answerback.core.walker import Person
from answerback.dialects import registry
from answerback.service.submission_request import read_submission
from answerback_chat.control_codec import Control, Verb
from answerback_discord import form_inputs as discord_forms
from answerback_discord import modals as discord_modals
from answerback_discord import render as discord
from answerback_discord import show_in_full as discord_reading
from answerback_slack import modals as slack_modals
from answerback_slack import render as slack
from tests.unit.adapters.slack.asks import ask_of
from tests.unit.adapters.web.test_render_and_parse import shown as web_page
from tests.unit.bot.terminal_support import CTRL_C, open_terminal

pytestmark = pytest.mark.rule("WALK-8")

LABELS = Labels()
ADA = Person(surface="slack", user_id="U0ADA", name="ada")
CONTEXT = "The change drops a *column*.\n\n```diff\n- old\n+ new\n```\n" + "A long line. " * 400
MANY: list[JsonValue] = [f"region {n} of the *world*" for n in range(150)]
QUESTIONS: dict[str, tuple[dict[str, Any], JsonValue]] = {
    "boolean": ({"answer_type": "boolean", "context": CONTEXT}, True),
    "boolean with a default": ({"answer_type": "boolean", "default": False}, False),
    "text": ({"answer_type": "text", "context": "One line."}, "words\nand more"),
    "text with a default": ({"answer_type": "text", "default": "as ever"}, ""),
    "buttons": ({"answer_type": "select", "options": ["a", "b"]}, "b"),
    "menu": ({"answer_type": "select", "options": MANY, "default": MANY[70]}, MANY[3]),
    "boxes": ({"answer_type": "multi_select", "options": ["a", "b"], "default": ["b"]}, ["a"]),
    "menus": ({"answer_type": "multi_select", "options": MANY, "context": CONTEXT}, MANY[:40]),
}
ENDS: dict[str, Callable[[Ask, JsonValue], Ask]] = {
    "open": lambda ask, _: ask,
    "answered": lambda ask, value: acted(ask, Answer(value=value)),
    "cancelled": lambda ask, _: acted(ask, Reply(text="not now")),
    "turn ended": lambda ask, _: acted(ask, EndTurn()),
    "expired": lambda ask, _: asks.end_ask(ask, Status.EXPIRED, at=2, reason=Reason.EXPIRED).ask,
}


def acted(ask: Ask, action: Action) -> Ask:
    change = asks.apply_action(ask, action, at=1, by=ADA)
    assert isinstance(change, Change)
    return change.ask


def calls(kind: str) -> Iterator[dict[str, Any]]:
    """Yield the arguments of the same question, on its own and as a form of one question."""
    fields, _ = QUESTIONS[kind]
    yield {"question": "Apply it to *production*?", **fields}
    yield {"questions": [{"id": "apply", "text": "Apply it to *production*?", **fields}]}


def both(kind: str, end: str) -> tuple[Ask, Ask]:
    made = []
    for arguments, dialect in zip(calls(kind), ("single", "ask_user"), strict=True):
        detected, form, *_ = registry.parse_call("ask_user", arguments)
        assert detected == dialect
        made.append(ENDS[end](ask_of(form), QUESTIONS[kind][1]))
    single, form_of_one = made
    return single, form_of_one


def on_slack(ask: Ask) -> Any:
    view = view_of(ask)
    controls = [Control(ask.id, ask.revision, verb) for verb in Verb]
    opened = [slack_modals.build_modal(view, control, LABELS, "") for control in controls]
    return slack.render(view, LABELS), opened


def on_discord(ask: Ask) -> Any:
    view = view_of(ask)
    specs = [(verb, discord_forms.modal_spec(view, verb, LABELS)) for verb in Verb]
    modals = [
        discord_modals.modal(view, spec, verb, 0, {}, "nonce", LABELS)
        for verb, spec in specs
        if spec is not None
    ]
    full = discord_reading.page(view, Verb.SHOW_IN_FULL, 0, LABELS)
    return discord.message(view, LABELS), full, modals


def on_the_web(ask: Ask) -> Any:
    return web_page(ask).markup


SURFACES = {"slack": on_slack, "discord": on_discord, "web": on_the_web}


@pytest.mark.parametrize("surface", SURFACES)
@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("kind", QUESTIONS)
def test_a_form_of_one_question_is_shown_as_a_single_question(
    kind: str, end: str, surface: str
) -> None:
    single, form_of_one = both(kind, end)
    expected = SURFACES[surface](single)
    assert SURFACES[surface](form_of_one) == expected
    assert "Apply it to" in json.dumps(expected, default=repr)


@pytest.mark.parametrize("kind", QUESTIONS)
async def test_the_terminal_shows_a_form_of_one_question_as_a_single_question(
    kind: str, tmp_path: Path
) -> None:
    screens = []
    for arguments in calls(kind):
        async with open_terminal(tmp_path) as terminal:
            body: dict[str, JsonValue] = {"name": "ask_user", "arguments": arguments, "to": "web"}
            submitted = await terminal.service.running.service.submit(read_submission(body))
            ask = await terminal.client.get(submitted.ask.id)
            with contextlib.suppress(KeyboardInterrupt):
                await terminal.walked(ask, CTRL_C)
            action = {"action": "answer", "value": QUESTIONS[kind][1]}
            ended = await terminal.client.act(ask.id, action, actor={"user_id": "ana"})
            await terminal.walk().walk(ended)
            screens.append(terminal.screen.text.replace(ask.id, "ask"))
    assert screens[0] == screens[1]
    assert "Apply it to" in screens[0]
