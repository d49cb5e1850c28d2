"""Contexts, asides and tables that are longer than a message has room for."""

from __future__ import annotations

from dataclasses import replace

import pytest

from answerback.core.asides import Aside
from answerback.core.labels import Labels
from answerback.core.markdown import Code, Heading, List, Rule, Table, Verbatim
from answerback.core.view import view_of
from answerback.core.walker import Person
from answerback.presentation.context_blocks import context_blocks
from answerback.presentation.context_layout import fit_asides, fit_text
from answerback_testing.example_asks import new_ask

LABELS = Labels()
ANN = Person(surface="chat", user_id="ann", name="Ann")
TABLE = "| name | size |\n|---|---|\n" + "\n".join(f"| row {n} | {n} |" for n in range(8))


def test_of_asides_the_newest_are_kept() -> None:
    asides = tuple(
        Aside(question_id="apply", text=f"{n}: {'why ' * 40}", at=float(n), by=ANN)
        for n in range(3)
    )
    view = view_of(replace(new_ask(), asides=asides))
    fitted = fit_asides(view, LABELS, 300)
    shown = "".join(each.text for each in fitted.blocks if isinstance(each, Verbatim))
    assert "2: why" in shown
    assert "0: why" not in shown
    assert not fitted.whole


def test_code_is_cut_at_a_line_and_says_how_many_there_are() -> None:
    fitted = fit_text("```\n" + "\n".join(["a line of code"] * 9) + "\n```", 60)
    [code] = fitted.blocks
    assert isinstance(code, Code)
    assert code.text.split("\n") == [*["a line of code"] * 4, "…"]
    assert (fitted.whole, fitted.more_label(LABELS)) == (False, "Show all 9 lines")


@pytest.mark.parametrize(("budget", "rows"), [(1_000, 9), (80, 4), (20, None)])
def test_a_table_loses_rows_and_is_text_where_no_row_fits(budget: int, rows: int | None) -> None:
    fitted = fit_text(TABLE, budget)
    [block] = fitted.blocks
    assert fitted.whole == (rows == 9)
    if rows is None:
        assert isinstance(block, Verbatim)
        assert block.text.endswith("…")
    else:
        assert isinstance(block, Table)
        assert len(block.rows) == rows


def test_long_blanks_are_shown_in_every_kind_of_block() -> None:
    gap = " " * 60
    source = f"# a`{gap}`b\n\n---\n\n- c`{gap}`d"
    heading, rule, items = context_blocks(source, "markdown")
    assert isinstance(heading, Heading)
    assert isinstance(items, List)
    assert rule == Rule()
    assert "[60 spaces]" in "".join(span.text for span in heading.spans)
    assert context_blocks(f"e{gap}f", "text") == (Verbatim("e[60 spaces]f"),)
