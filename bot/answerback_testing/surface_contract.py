"""The contract of surfaces: a class of tests that each surface's tests inherit.

A subclass defines a fixture ``stage`` with ``pytest_asyncio.fixture(scope="class", loop_scope="class")``, which yields
an `answerback_testing.simulated_people.Stage`, and ``unsupported``, the capabilities that the platform lacks.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import pytest
import pytest_asyncio

from answerback.ports.surface import SupportsReminders
from answerback_testing.simulated_people import Capability, SimulatedPerson, Stage
from answerback_testing.surface_batches import BatchesContract, ManyContract
from answerback_testing.surface_buttons import ButtonsContract
from answerback_testing.surface_clicks import ClicksContract
from answerback_testing.surface_commands import CommandsContract
from answerback_testing.surface_confirmations import ConfirmationsContract
from answerback_testing.surface_direct_messages import DirectMessagesContract
from answerback_testing.surface_edits import EditsContract
from answerback_testing.surface_files import FilesContract
from answerback_testing.surface_gaps import GapsContract
from answerback_testing.surface_grants import GrantsContract
from answerback_testing.surface_hand_overs import HandOversContract
from answerback_testing.surface_late_posts import LatePostsContract
from answerback_testing.surface_logs import LogsContract
from answerback_testing.surface_moves import MovesContract
from answerback_testing.surface_outages import OutagesContract
from answerback_testing.surface_payloads import PayloadsContract
from answerback_testing.surface_people import PeopleContract
from answerback_testing.surface_places import PlacesContract
from answerback_testing.surface_prefills import PrefillsContract
from answerback_testing.surface_sent_files import FileFormsContract, SentFilesContract
from answerback_testing.surface_texts import TextsContract
from answerback_testing.surface_too_late import TooLateContract
from answerback_testing.surface_typing import TypedAnswersContract, TypingContract
from answerback_testing.surface_walks import RecordContract, WalksContract


@pytest.mark.asyncio(loop_scope="class")
class SharedSurfaceContract(
    RecordContract,
    BatchesContract,
    ClicksContract,
    TypingContract,
    ConfirmationsContract,
    HandOversContract,
    DirectMessagesContract,
    MovesContract,
    PlacesContract,
    LatePostsContract,
    OutagesContract,
    GapsContract,
):
    """The tests whose result could depend on the store or on the number of services."""

    unsupported: ClassVar[Mapping[Capability, str]] = {}
    """The capabilities that the platform lacks, and why. Tests that need them are removed from the class."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        for name in dir(cls):
            if getattr(getattr(cls, name), "needs", set()) & cls.unsupported.keys():
                setattr(cls, name, None)

    @pytest_asyncio.fixture(loop_scope="class")
    async def ada(self, stage: Stage) -> SimulatedPerson:
        """A person who may answer."""
        return await stage.add_person("Ada")

    @pytest_asyncio.fixture(loop_scope="class")
    async def bob(self, stage: Stage) -> SimulatedPerson:
        """Another person; each test decides whether they may answer."""
        return await stage.add_person("Bob")


class SurfaceContract(
    SharedSurfaceContract,
    WalksContract,
    PrefillsContract,
    TypedAnswersContract,
    TextsContract,
    FilesContract,
    SentFilesContract,
    FileFormsContract,
    ButtonsContract,
    PeopleContract,
    TooLateContract,
    ManyContract,
    GrantsContract,
    EditsContract,
    CommandsContract,
    PayloadsContract,
    LogsContract,
    # Last, so that their tests are the first: each restart shows all asks again that earlier tests left open.
    OutagesContract,
    GapsContract,
):
    """The behaviour of every surface."""

    @pytest.mark.rule("PLUGIN-2")
    async def test_exactly_the_declared_capabilities_are_missing(
        self, stage: Stage, ada: SimulatedPerson
    ) -> None:
        """Leaving out the methods of a capability does not skip its tests: its absence must be declared."""
        missing = {
            each for each in Capability if not isinstance(_driver(each, stage, ada), each.value)
        }
        assert missing == set(self.unsupported)
        [surface] = stage.harness.service.surfaces.values()
        can_remind = isinstance(surface, SupportsReminders)
        assert can_remind is (Capability.REMINDERS not in self.unsupported)


def _driver(capability: Capability, stage: Stage, ada: SimulatedPerson) -> Stage | SimulatedPerson:
    return stage if Stage in capability.value.__mro__ else ada
