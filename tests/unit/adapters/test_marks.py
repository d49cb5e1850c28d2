"""The urgency of an ask, and the mark of its route: in words on every surface and in every list."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import pytest

from answerback.core.ask import Ask, Reason, Status, end_ask
from answerback.core.labels import ENGLISH
from answerback.core.urgency import MarkColor, RouteMark, Urgency
from answerback.core.view import view_of
from answerback.ports.store_values import Page
from answerback.service.ask_wire import ask_json
from answerback_agents.cli.ask_output import summary_line
from answerback_discord import inbox_view as discord_inbox
from answerback_discord import render as discord
from answerback_push import push_text
from answerback_push.settings import PushRules
from answerback_slack import fallback_text
from answerback_slack import inbox_view as slack_home
from answerback_telegram import inbox_view as telegram_inbox
from answerback_web import inbox_view as web_inbox
from tests.unit.adapters.all_surfaces import SURFACES, asked

CALL: Final = {
    "name": "ask_user",
    "arguments": {"question": "Deploy?", "answer_type": "boolean"},
}
PAGE_CSS: Final = Path(web_inbox.__file__).parent / "static" / "page.css"

LISTS: Final[dict[str, Callable[[Ask], str]]] = {
    "Slack's Home tab": lambda ask: str(
        slack_home.build_home_view(
            Page((ask,) if ask.open else (), None), [] if ask.open else [ask], ENGLISH
        )
    ),
    "Slack's fallback text": lambda ask: fallback_text.fallback_text(view_of(ask), ENGLISH),
    "Discord's inbox": lambda ask: str(discord_inbox.page(Page((ask,), None), ENGLISH)),
    "Telegram's inbox": lambda ask: str(telegram_inbox.page(Page((ask,), None), ENGLISH)),
    "answerback list": lambda ask: summary_line(ask_json(ask)),
}


def marked(urgency: Urgency = Urgency.HIGH, color: MarkColor = MarkColor.RED) -> Ask:
    ask = asked(CALL)
    mark = RouteMark(word="production", color=color)
    request = ask.request.model_copy(update={"urgency": urgency, "mark": mark})
    return replace(ask, request=request)


@pytest.mark.rule("URGENCY-3", "URGENCY-4")
@pytest.mark.parametrize("shown", (SURFACES | LISTS).values(), ids=SURFACES | LISTS)
def test_every_surface_and_list_says_what_is_urgent_and_from_which_route(
    shown: Callable[[Ask], str],
) -> None:
    urgent, low = shown(marked()).casefold(), shown(marked(Urgency.LOW)).casefold()
    assert "urgent" in urgent
    assert "not urgent" not in urgent
    assert "not urgent" in low
    plain = shown(asked(CALL)).casefold()
    assert "urgent" not in re.sub('"urgency": "[a-z]+"|class="urgency"', "", plain)
    for text in (urgent, low):
        assert "production" in text
    assert "production" not in plain


@pytest.mark.rule("URGENCY-3")
def test_an_ask_that_has_ended_is_not_urgent_and_keeps_the_word_of_its_route() -> None:
    ended = end_ask(marked(), Status.WITHDRAWN, at=2.0, reason=Reason.WITHDRAWN).ask
    for shown in (SURFACES["web"], *LISTS.values()):
        text = shown(ended)
        assert "rgent" not in text
        assert "production" in text


@pytest.mark.rule("URGENCY-3")
def test_marks_stand_in_front_so_that_no_shortening_loses_them() -> None:
    ask = marked()
    request = ask.request.model_copy(update={"prompt_label": "w" * 1_000})
    line = fallback_text.fallback_text(view_of(replace(ask, request=request)), ENGLISH)
    assert line.startswith("Urgent · 🔴 production · w")


@pytest.mark.rule("URGENCY-3")
def test_a_notification_says_that_the_question_is_urgent() -> None:
    def text(ask: Ask) -> object:
        return push_text.push_message(ask, False, ENGLISH, PushRules())["text"]

    assert text(marked()) == "An urgent question from Assistant is waiting."
    assert text(marked(Urgency.LOW)) == "A question from Assistant is waiting."


@pytest.mark.rule("URGENCY-4")
def test_the_edge_of_a_discord_message_repeats_the_color_of_its_route_until_it_ends() -> None:
    def edge(ask: Ask) -> object:
        sent: Any = discord.message(view_of(ask), ENGLISH)
        return sent["components"][0]["accent_color"]

    edges = [edge(marked(color=each)) for each in MarkColor]
    assert len({*edges}) == len(MarkColor)
    assert edge(asked(CALL)) == discord.BLURPLE
    ended = end_ask(marked(), Status.WITHDRAWN, at=2.0, reason=Reason.WITHDRAWN).ask
    assert edge(ended) == discord.GREY


@pytest.mark.rule("URGENCY-4")
def test_the_page_has_a_shade_of_each_color_that_can_be_read_in_light_and_in_dark() -> None:
    rule = re.compile(r"\.mark\.(\w+) \{ color: (#\w{6}); background: (#\w{6}); \}")
    light, dark = (
        PAGE_CSS.read_text()
        .split("@media (forced-colors: active) { .mark")[0]
        .split("@media (prefers-color-scheme: dark) {\n  .mark")
    )
    for scheme in (light, f"  .mark{dark}"):
        shades = {name: (ink, paper) for name, ink, paper in rule.findall(scheme)}
        assert shades.keys() == {*MarkColor}
        for name, (ink, paper) in shades.items():
            assert contrast(ink, paper) >= 4.5, name


def contrast(one: str, other: str) -> float:
    """https://www.w3.org/TR/WCAG22/#dfn-contrast-ratio"""
    darker, lighter = sorted(_luminance(color) for color in (one, other))
    return (lighter + 0.05) / (darker + 0.05)


def _luminance(color: str) -> float:
    parts = [int(color[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in parts]
    return sum(v * share for v, share in zip(linear, (0.2126, 0.7152, 0.0722), strict=True))


@pytest.mark.rule("URGENCY-3")
def test_the_page_lists_what_is_urgent_above_all_others_and_what_is_not_below() -> None:
    asks = [
        replace(marked(each), id=f"ask_{number}")
        for number, each in enumerate((Urgency.HIGH, Urgency.NORMAL, Urgency.LOW))
    ]
    page = web_inbox.inbox_page(asks, ENGLISH, now=1.0, after=None, first=True)
    assert [(each.title, each.is_of_urgency) for each in page.groups(ENGLISH)] == [
        ("Urgent", True),
        ("Assistant", False),
        ("Not urgent", True),
    ]
