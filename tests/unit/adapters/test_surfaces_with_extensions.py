"""Each surface shows and ends asks with all extensions, with each one, and with none."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from typing import Final
from unittest.mock import patch

import pytest
import pytest_asyncio

from answerback.core.form import Form
from answerback.ports.installed_extensions import installed_extensions
from answerback.runtime.app import run_service
from answerback.runtime.config import settings_type
from answerback.service.service import Service
from answerback_receipts.stored_receipts import StoredReceipts
from answerback_testing.chosen_extensions import only_extensions
from answerback_testing.simulated_people import SimulatedPerson, Stage
from answerback_testing.surface_questions import GO, WHY
from answerback_testing.surface_walks import RecordContract
from tests.extension_tables import tables_for
from tests.surface_setups import Setup
from tests.unit.adapters.discord import stage as discord
from tests.unit.adapters.slack import stage as slack
from tests.unit.adapters.telegram import stage as telegram
from tests.unit.adapters.web import simulated_people as web

_STAGES: Final[dict[str, Callable[[Setup], AbstractAsyncContextManager[Stage]]]] = {
    "slack": lambda setup: slack.run_stage(setup, "http"),
    "discord": lambda setup: discord.run_stage(setup, "http"),
    "telegram": lambda setup: telegram.run_stage(setup, "http"),
    "web": web.run_stage,
}
_ALL: Final = sorted(installed_extensions().usable)
_SETS: Final = [_ALL, *([name] for name in _ALL), []]
_SECRET: Final = "the new password is hunter2"


@pytest_asyncio.fixture(scope="class", loop_scope="class")
async def stage(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Stage]:
    """A platform, and a service that stores what these extensions add to each change."""
    surface, names = request.param
    folder = tmp_path_factory.mktemp(surface)
    own = {"server": {"port": 0}, "storage": {"url": f"sqlite:///{folder}/other.db"}}
    tables = own | tables_for(names)
    with only_extensions(names):
        # They run in a service of their own: what they store with a change depends on that change alone.
        async with run_service(settings_type().model_validate(tables)) as up:
            assert sorted(up.extensions.running) == sorted(names)
            defaults = Service.__init__.__kwdefaults__
            with patch.dict(defaults, extensions=up.extensions.storing()):
                async with _STAGES[surface](Setup(folder / "answerback.db")) as made:
                    yield made


@pytest.mark.rule("PLUGIN-10")
@pytest.mark.asyncio(loop_scope="class")
@pytest.mark.parametrize(
    "stage",
    [(surface, names) for surface in _STAGES for names in _SETS],
    indirect=True,
    scope="class",
    ids=lambda each: f"{each[0]}:{'+'.join(each[1]) or 'none'}",
)
class TestWithExtensions:
    """Cases that every surface passes."""

    @pytest_asyncio.fixture(loop_scope="class")
    async def ada(self, stage: Stage) -> SimulatedPerson:
        """A person who may answer."""
        return await stage.add_person("Ada")

    async def test_its_message_is_the_record_at_the_end(
        self, stage: Stage, ada: SimulatedPerson
    ) -> None:
        await RecordContract().test_when_an_ask_ends_its_message_is_the_record(stage, ada)

    async def test_what_was_erased_is_shown_no_more(
        self, stage: Stage, ada: SimulatedPerson, request: pytest.FixtureRequest
    ) -> None:
        form = Form(questions=(GO, WHY))
        ask = await stage.harness.create_ask(form, stage.place, (ada.user_id,))
        await ada.look_at(ask)
        await ada.answer(GO, True)
        await ada.look_at(await stage.harness.wait_until_shown(ask.id))
        await ada.answer(WHY, _SECRET)
        await ada.look_at(await stage.harness.wait_until_shown(ask.id))
        assert _SECRET in await ada.read_all_text()
        _, names = request.node.callspec.params["stage"]
        receipt = await StoredReceipts(stage.harness.store.rows).get(ask.id)
        assert (receipt is not None) is ("receipts" in names), "what extensions add is stored"
        await stage.harness.service.erase(ask.id)
        erased = await stage.harness.wait_until_shown(ask.id)
        assert erased.erased_at is not None
        await ada.look_at(erased)
        assert _SECRET not in await ada.read_all_text()
