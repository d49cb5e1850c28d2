"""Line chat keeps the contract of every surface, and so does one that can do less."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from desk import LineStage, NotifiedLinePerson, SimulatedLinePerson
from linechat.surface import LineChat

from answerback.core.form import AnswerType, Form, Question
from answerback.core.labels import Labels
from answerback.testing.simulated_people import Capability, SimulatedPerson
from answerback.testing.surface_contract import SurfaceContract
from answerback.testing.surface_walks import assert_sees

POSTGRES = os.environ.get("LINECHAT_POSTGRES")
"""The ``storage.url`` of an empty database."""
UNSUPPORTED = {
    Capability.MODALS: "A line is all there is to write.",
    Capability.TYPED_ANSWERS: "Every line says what it is for.",
    Capability.MENTIONS: "Names in a text reach nobody.",
    Capability.DELETION: "What was sent stays sent.",
    Capability.RATE_LIMITS: "The chat is a server of its own.",
}


class SilentChat(LineChat):
    """Shows asks and takes actions, and no more."""

    remind = None  # type: ignore[assignment] # not one of `answerback.ports.surface.SupportsReminders`

    async def _note(self, writer: asyncio.StreamWriter, words: str) -> None:
        """Nobody is told anything alone."""


@pytest_asyncio.fixture(scope="class", loop_scope="class")
async def stage(request: pytest.FixtureRequest) -> AsyncIterator[LineStage]:
    """A chat that all cases of a class share."""
    chat, desk = request.cls.chat, request.cls.desk
    url, replicas = getattr(request, "param", (None, 1))
    async with LineStage(lambda: chat("127.0.0.1", 0, Labels()), desk, url, replicas) as made:
        yield made
        await made.leave()


class TestLineChat(SurfaceContract):
    chat, desk = LineChat, NotifiedLinePerson
    unsupported = UNSUPPORTED

    async def test_a_context_is_shown_as_it_is_written(
        self, stage: LineStage, ada: SimulatedPerson
    ) -> None:
        question = Question(
            id="path", text="Which?", answer_type=AnswerType.TEXT, context=r"\(x\), *y*"
        )
        form = Form(questions=(question,))
        ask = await stage.harness.create_ask(form, stage.place, (ada.user_id,))
        await assert_sees(ada, ask)
        assert r"\(x\), *y*" in await ada.read_all_text()


@pytest.mark.skipif(not POSTGRES, reason="LINECHAT_POSTGRES names no PostgreSQL database")
@pytest.mark.parametrize("stage", [(POSTGRES, 1), (POSTGRES, 2)], indirect=True, scope="class")
class TestLineChatOnPostgres(SurfaceContract):
    """One service, and two that share a database."""

    chat, desk = LineChat, NotifiedLinePerson
    unsupported = UNSUPPORTED


class TestSilentChat(SurfaceContract):
    chat, desk = SilentChat, SimulatedLinePerson
    unsupported = UNSUPPORTED | {
        Capability.PRIVATE_NOTES: "Everybody in the channel reads the same.",
        Capability.REMINDERS: "It says nothing unasked.",
    }
