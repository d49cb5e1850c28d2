"""Which permissions can be allowed in a list: those whose row says everything, as it was written."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from answerback.core.asides import Aside
from answerback.core.ask import Ask
from answerback.core.form import AnswerType, Form, Option, OptionKind, Question
from answerback.dialects.approvals.tool_use import describe
from answerback.presentation.batch_rows import fits_in_row, whole_prompt
from answerback_base.headline_text import SHORTENED, fit
from answerback_testing.example_asks import new_ask

ALLOW = Option(value="allow", label="Allow once", kind=OptionKind.ALLOW_ONCE)
DENY = Option(value="deny", label="Deny", kind=OptionKind.DENY)
LONG = "read_" + "a" * 100 + "_THEN_DELETE_ALL_" + "b" * 100 + "_file"
CUT = fit(f"Use {LONG}")


def permission(text: str = "Run ls", context: str | None = None, *allowing: Option) -> Ask:
    """Return an open permission."""
    question = Question(
        id="decision",
        text=text,
        context=context,
        answer_type=AnswerType.SELECT,
        options=(*(allowing or (ALLOW,)), DENY),
    )
    return new_ask("0" * 24, form=Form(questions=(question,)), at=1.0)


@pytest.mark.rule("SURFACE-21")
@pytest.mark.parametrize(
    ("headline", "context", "fits"),
    [
        ("Run ls", "", True),
        ("Run ls", "```\nls\n```", True),
        (CUT, "", False),
        (CUT, "```\nx: 1\n```", False),
        (CUT, f"```\nUse {LONG}\n```", True),
        (CUT, f"```\nUse {LONG[:100]}\n```", False),
        (CUT, f"```\nUse {LONG[-100:]}\n```", False),
        (fit(f"Use {LONG} … on srv"), f"```\n{LONG}\n```", False),
        (fit(f"Run echo{'  xyz' * 100}"), f"```\necho{'  xyz' * 100}\n```", True),
        (f"Use x{SHORTENED}", "```\nx\n```", False),
    ],
)
def test_what_a_headline_leaves_out_has_to_stand_in_the_context(
    headline: str, context: str, fits: bool
) -> None:
    assert fits_in_row(headline, context, "markdown") is fits
    assert (whole_prompt(permission(headline, context or None)) is not None) is fits


@pytest.mark.rule("SURFACE-21")
@given(st.text(st.sampled_from('ab …\u200b\u202e"'), min_size=151, max_size=400))
def test_a_text_that_looks_like_a_cut_says_nothing(text: str) -> None:
    shown = fit(f"x{text}y")
    assert fits_in_row(shown, "```\nx: 1\n```", "markdown") is not shown.endswith(SHORTENED)


@pytest.mark.rule("SURFACE-21")
@pytest.mark.parametrize(
    ("context", "fits"),
    [
        ("x" * 600, True),
        ("x" * 601, False),
        ("\U0001f469" * 301, False),
        ("\u200b" * 100, False),
        ("\n".join("x" * 12), True),
        ("\n".join("x" * 13), False),
        ("\r".join("x" * 13), False),
        ("\u2028".join("x" * 13), False),
    ],
)
def test_a_context_that_is_long_as_it_is_shown_does_not_fit(context: str, fits: bool) -> None:
    assert fits_in_row("Run it", context, "text") is fits


@pytest.mark.rule("BATCH-4", "TEXT-6")
@pytest.mark.parametrize(
    "context",
    [
        r"Delete C:\new\*.* and nothing else",
        "**a**",
        "- a",
        "# a",
        "a `b`",
        "[a](http://b.example)",
    ],
)
def test_a_context_whose_marks_are_rendered_away_does_not_fit(context: str) -> None:
    assert not fits_in_row("Approve this plan?", context, "markdown")
    assert fits_in_row("Approve this plan?", context, "text")


@pytest.mark.rule("BATCH-4")
@pytest.mark.parametrize("path", ["/srv/a_b.py", "a`*b*`.py", " a "])
def test_a_change_under_its_path_fits(path: str) -> None:
    use = describe("Edit", {"file_path": path, "old_string": "a", "new_string": "b"}, {})
    assert fits_in_row(use.headline, use.context or "", "markdown")


@pytest.mark.rule("BATCH-4")
def test_what_stands_beside_the_context_keeps_a_permission_out() -> None:
    assert whole_prompt(permission()) is not None
    odd: list[dict[str, Any]] = [{"description": "d"}, {"preview": "p"}]
    for more in odd:
        assert whole_prompt(permission("Run ls", None, ALLOW.model_copy(update=more))) is None
    other = ALLOW.model_copy(update={"value": "allow_2"})
    assert whole_prompt(permission("Run ls", None, ALLOW, other)) is None, "which of the two?"
    asked = replace(permission(), asides=(Aside(question_id="decision", text="It is due.", at=2),))
    assert whole_prompt(asked) is None
