"""Contract test of what a surface and its libraries log."""

from __future__ import annotations

import io
import logging
import sys

import pytest

from answerback.runtime import logs
from answerback_testing.simulated_people import HasCommands, HasTypedAnswers, SimulatedPerson, Stage
from answerback_testing.surface_clicks import create_viewed_ask
from answerback_testing.surface_questions import WHY

_WRITTEN = "marzipan"
_CAPTURED = "This line shows that the log is captured."
logger = logging.getLogger(__name__)


class LogsContract:
    """At no level does a log have what people write."""

    @pytest.mark.rule("CONFIG-4")
    async def test_no_log_has_what_people_write_however_much_is_logged(
        self,
        stage: Stage,
        ada: SimulatedPerson,
        monkeypatch: pytest.MonkeyPatch,
        restored_logging: None,
    ) -> None:
        """Libraries may copy the level of the root when the surface is started, so it is started again."""
        written = io.StringIO()
        monkeypatch.setattr(sys, "stderr", written)
        logs.configure_logging("debug", "json")
        await stage.restart()
        ask = await create_viewed_ask(stage, [WHY, WHY.model_copy(update={"id": "b"})], ada)
        await ada.answer(WHY, _WRITTEN)
        shown = await stage.harness.wait_until_shown(ask.id)
        await ada.look_at(shown)
        if isinstance(ada, HasTypedAnswers):
            assert await ada.type_message(f"{_WRITTEN}, too")
        if isinstance(ada, HasCommands):
            await ada.give_command(f"say {_WRITTEN}")
        await stage.restart()
        logger.debug(_CAPTURED)
        assert _CAPTURED in written.getvalue()
        assert _WRITTEN not in written.getvalue()
