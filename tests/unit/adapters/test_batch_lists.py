"""Lists in which permissions are decided together: valid with the oddest texts, and these are whole or not allowed."""

from __future__ import annotations

import pytest

from answerback.core.ask import Ask, Destination
from answerback.core.form import AnswerType, Form, Option, OptionKind, Question
from answerback_testing.example_asks import new_ask
from tests.unit.adapters.batch_platforms import PLATFORMS

FILLINGS = ("x", "*", "`", "<", "\U0001f469", "\u200b", "a b\n", "@here ")
SIZES = (0, 290, 310, 599, 5_000)


def _permission(
    surface: str, number: int, text: str, context: str, allowing: str = "Allow once"
) -> Ask:
    options = (
        Option(value="allow", label=allowing, kind=OptionKind.ALLOW_ONCE),
        Option(value="deny", label="Deny", kind=OptionKind.DENY),
    )
    question = Question(
        id="decision",
        text=text or "Run it",
        context=context or None,
        answer_type=AnswerType.SELECT,
        options=options,
    )
    place = Destination(surface=surface, channel="C1")
    return new_ask(f"{number:024x}", to=place, form=Form(questions=(question,)), at=1.0)


@pytest.mark.rule("BATCH-5")
@pytest.mark.parametrize("surface", PLATFORMS)
@pytest.mark.parametrize("filling", FILLINGS)
def test_a_full_page_is_valid_whatever_is_in_its_rows(surface: str, filling: str) -> None:
    on = PLATFORMS[surface].LISTED
    for size in SIZES:
        text = (filling * 150)[:150].strip()
        for context in ((filling * size)[:size], f"```sh\n{(filling * size)[:size]}\n```"):
            asks = [_permission(surface, n, text, context) for n in range(on.size)]
            for allow in (True, False):
                on.check(asks, allow)


@pytest.mark.rule("BATCH-5")
@pytest.mark.parametrize("surface", PLATFORMS)
def test_a_row_that_can_be_allowed_shows_every_line_and_no_other_does(surface: str) -> None:
    on = PLATFORMS[surface].LISTED
    whole = []
    for size in range(1, 60):
        lines = [f"word{n}" for n in range(size)]
        ask = _permission(surface, size, "Run it", f"```sh\n{' '.join(lines)}\n```")
        [row] = on.rows([ask])
        whole.append(row.shown is not None)
        shown = on.check([ask], True)
        assert all(line in shown for line in lines) or row.shown is None
        hidden = _permission(surface, size, "Run it", f"a *b* `c` {'<!-- d -->' * size}")
        [row] = on.rows([hidden])
        assert row.shown is None, "marks are left out"
    assert whole == sorted(whole, reverse=True)
    assert any(whole)
    long = _permission(surface, 1, "R" * 400, "ls")
    assert on.rows([long])[0].shown is None, "its headline is cut"


@pytest.mark.rule("BATCH-8")
@pytest.mark.parametrize("surface", PLATFORMS)
@pytest.mark.parametrize(
    ("label", "is_plain"),
    [
        ("Yes", True),
        ("Allow this time (once)", True),
        ("Yes, and run everything else without asking", False),
        ("Allow all", False),
        ("\u5141\u8bb8", False),
    ],
)
def test_an_option_that_may_do_more_is_not_chosen_in_a_list(
    surface: str, label: str, is_plain: bool
) -> None:
    [row] = PLATFORMS[surface].LISTED.rows([_permission(surface, 1, "Run it", "", label)])
    assert (row.shown is not None) is is_plain
