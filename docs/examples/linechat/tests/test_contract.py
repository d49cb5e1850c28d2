"""Line chat passes the contract of surfaces, and so does a variant with fewer features."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from linechat.surface import LineChat
from pydantic import JsonValue
from simulated_people import LineStage, NotifiedLinePerson, SimulatedLinePerson

from answerback.core.form import AnswerType, Form, Question
from answerback.core.labels import Labels
from answerback.ports.surface import Asks
from answerback_testing.simulated_people import Capability, SimulatedPerson
from answerback_testing.surface_contract import SharedSurfaceContract, SurfaceContract
from answerback_testing.surface_walks import assert_sees

POSTGRES = os.environ.get("LINECHAT_POSTGRES")
"""The ``storage.url`` of an empty database."""
UNSUPPORTED = {
    Capability.FILE_FORMS: "It has no forms.",
    Capability.SENT_FILES: "A line is all that people can send.",
    Capability.COMMANDS: "Every line is about an ask.",
    Capability.GRANTS: "It has no form in which a person says what to allow again.",
    Capability.EDITS: "It has no form in which a person changes a call: it says where there is one.",
    Capability.BUTTONS: "People only type lines: one line answers.",
    Capability.BATCHES: "There is no list of what waits.",
    Capability.MODALS: "People only type lines.",
    Capability.TYPED_ANSWERS: "Every line states its purpose.",
    Capability.MENTIONS: "Names in a text notify nobody.",
    Capability.DELETION: "Sent lines cannot be deleted.",
    Capability.PAYLOADS: "There are no signed payloads.",
    Capability.GROUPS: "Nobody is in a group.",
    Capability.LATE_EDITS: "Lines are sent, and never edited.",
    Capability.LATE_POSTS: "The chat is its own server.",
    Capability.OWN_HISTORY: "The chat is its own server.",
    Capability.SECOND_MESSAGES: "The chat is its own server.",
    Capability.TOKENS: "There is no token.",
    Capability.KILLS: "Nothing is acknowledged before it is decided.",
    Capability.REMOVAL: "The chat is its own server.",
    Capability.DIRECT_MESSAGES: "Everyone reads every line.",
    Capability.PLACES: "There is one room.",
    Capability.UNNOTICED_CHANGES: "Sent lines stay as they are, and so does the channel.",
    Capability.RATE_LIMITS: "The chat is its own server.",
}


class SilentChat(LineChat):
    """Shows asks and accepts actions, and nothing else."""

    remind = None  # type: ignore[assignment] # not one of `answerback.ports.surface.SupportsReminders`

    async def _note(self, writer: asyncio.StreamWriter, text: str) -> None:
        """Send no private notes."""


@pytest_asyncio.fixture(scope="class", loop_scope="class")
async def stage(request: pytest.FixtureRequest) -> AsyncIterator[LineStage]:
    """A chat that all tests of a class share."""
    chat, person = request.cls.chat, request.cls.person
    url, replicas = getattr(request, "param", (None, 1))

    def make(asks: Asks) -> LineChat:
        built: LineChat = chat(asks, "127.0.0.1", 0, Labels())
        return built

    async with LineStage(make, person, url, replicas) as stage:
        yield stage
        await stage.disconnect()


class TestLineChat(SurfaceContract):
    chat, person = LineChat, NotifiedLinePerson
    unsupported = UNSUPPORTED

    async def test_a_context_is_shown_verbatim(
        self, stage: LineStage, ada: SimulatedPerson
    ) -> None:
        question = Question(
            id="path", text="Which?", answer_type=AnswerType.TEXT, context=r"\(x\), *y*"
        )
        form = Form(questions=(question,))
        ask = await stage.harness.create_ask(form, stage.place, (ada.user_id,))
        await assert_sees(ada, ask)
        assert r"\(x\), *y*" in await ada.read_all_text()

    @pytest.mark.parametrize("default", [{}, {"default": ["main"]}])
    async def test_only_without_a_default_the_shape_of_a_json_answer_is_shown(
        self, stage: LineStage, ada: SimulatedPerson, default: dict[str, JsonValue]
    ) -> None:
        schema: JsonValue = {"type": "array", "items": {"type": "string"}, **default}
        question = Question(
            id="tags", text="Which?", answer_type=AnswerType.SCHEMA, json_schema=schema
        )
        form = Form(questions=(question,))
        ask = await stage.harness.create_ask(form, stage.place, (ada.user_id,))
        await assert_sees(ada, ask)
        assert ('shape: [""]' in await ada.read_all_text()) is (not default)
        assert await ada.read_prefill(question) == default.get("default")

    async def test_it_says_where_a_call_can_be_changed(
        self, stage: LineStage, ada: SimulatedPerson
    ) -> None:
        await self.ask_editable(stage, ada)
        assert Labels().edit_elsewhere in await ada.read_all_text()


@pytest.mark.skipif(not POSTGRES, reason="LINECHAT_POSTGRES names no PostgreSQL database")
@pytest.mark.parametrize("stage", [(POSTGRES, 2)], indirect=True, scope="class")
class TestLineChatOnPostgres(SharedSurfaceContract):
    """Two services that share a database, in the tests that this could affect."""

    chat, person = LineChat, NotifiedLinePerson
    unsupported = UNSUPPORTED


class TestSilentChat(SurfaceContract):
    chat, person = SilentChat, SimulatedLinePerson
    unsupported = UNSUPPORTED | {
        Capability.PRIVATE_NOTES: "Everyone in the channel sees the same lines.",
        Capability.REMINDERS: "It has no reminders.",
    }
