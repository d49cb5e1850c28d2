"""The message about a migration says by itself what happens after Yes: all of it is shown above the buttons."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.adapters.discord.migration import CONTEXT, DIFF, QUESTION, TABLE
from tests.unit.adapters.discord.rig import MODES, Mode, rig
from tests.unit.adapters.discord.sight import remove_escapes, strip_layout


@pytest.mark.rule("TEXT-5", "TEXT-6")
@pytest.mark.parametrize("mode", MODES)
async def test_a_migration_of_thirty_lines_with_a_table_is_shown_in_full_above_its_question(
    tmp_path: Path, mode: Mode
) -> None:
    async with rig(tmp_path, mode) as up:
        await up.shown(await up.submit([QUESTION]))
        seen = up.ann.latest(up.channel)
        assert len(DIFF.splitlines()) == 30
        shown = strip_layout(remove_escapes(seen.text))
        for line in DIFF.splitlines():
            assert strip_layout(line) in shown
        for cell in TABLE:
            assert strip_layout(cell) in shown
        assert "```diff\n" in seen.text, "coloured as a diff"
        assert shown.index(strip_layout(DIFF.splitlines()[-1])) < shown.index(
            strip_layout(QUESTION["text"])
        )
        # Nothing is cut: the last button has the marks that the rendering leaves out.
        assert seen.labels == ["Yes", "No", "Reply", "End Turn", "Show in full"]
        assert "…" not in seen.text
        assert "Yes" in CONTEXT
