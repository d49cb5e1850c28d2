"""What every surface has to do: a class of tests that each surface's own tests inherit.

An heir has a fixture ``stage``, made with ``pytest_asyncio.fixture(scope="class", loop_scope="class")``, which gives an
`answerback.testing.simulated_people.Stage`; and ``unsupported``, which says what the platform does not have.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import pytest
import pytest_asyncio

from answerback.ports.surface import SupportsReminders
from answerback.testing.simulated_people import (
    CAPABILITY_PROTOCOLS,
    Capability,
    SimulatedPerson,
    Stage,
)
from answerback.testing.surface_clicks import ClicksContract, TypingContract
from answerback.testing.surface_outages import OutagesContract
from answerback.testing.surface_people import PeopleContract
from answerback.testing.surface_texts import TextsContract
from answerback.testing.surface_walks import RecordContract, WalksContract


@pytest.mark.asyncio(loop_scope="class")
class SharedSurfaceContract(RecordContract, ClicksContract, TypingContract, OutagesContract):
    """What people do at a surface, where the store behind it or the number of services could make a difference."""

    unsupported: ClassVar[Mapping[Capability, str]] = {}
    """What the platform does not have, and why. The cases that need it do not exist in this class."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        for name in dir(cls):
            if getattr(getattr(cls, name), "needs", None) in cls.unsupported:
                setattr(cls, name, None)

    @pytest_asyncio.fixture(loop_scope="class")
    async def ada(self, stage: Stage) -> SimulatedPerson:
        """Somebody who may answer."""
        return await stage.add_person("Ada")

    @pytest_asyncio.fixture(loop_scope="class")
    async def bob(self, stage: Stage) -> SimulatedPerson:
        """Somebody else; whether they may answer is each case's to say."""
        return await stage.add_person("Bob")


class SurfaceContract(SharedSurfaceContract, WalksContract, TextsContract, PeopleContract):
    """The behaviour of every surface."""

    @pytest.mark.rule("PLUGIN-2")
    @pytest.mark.parametrize("capability", Capability)
    async def test_it_lacks_what_it_says_and_nothing_else(
        self, stage: Stage, ada: SimulatedPerson, capability: Capability
    ) -> None:
        """A desk without the methods of a capability is not a way around its cases: the lack must be declared."""
        brings = stage if capability is Capability.RATE_LIMITS else ada
        assert isinstance(brings, CAPABILITY_PROTOCOLS[capability]) is (
            capability not in self.unsupported
        )
        if capability is Capability.REMINDERS:
            [surface] = stage.harness.service.surfaces.values()
            assert isinstance(surface, SupportsReminders) is (capability not in self.unsupported)
