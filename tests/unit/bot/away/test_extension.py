"""Being away comes in as an extension, which is off until it is switched on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from answerback.runtime.app import RunningService
from answerback.runtime.extensions import configured_for
from answerback_away.extension import AwayExtension, AwaySettings
from answerback_testing.extension_contract import ExtensionContract
from tests.service_support import settings_with


@pytest.mark.rule("PLUGIN-8", "PLUGIN-10")
class TestAway(ExtensionContract):
    extension = AwayExtension

    @pytest.mark.parametrize(("known", "fine"), [({"UTC"}, True), (set(), False)])
    async def test_doctor_says_whether_the_machine_knows_time_zones(
        self, monkeypatch: pytest.MonkeyPatch, known: set[str], fine: bool
    ) -> None:
        monkeypatch.setattr("zoneinfo.available_timezones", lambda: known)
        configured = configured_for(settings_with(away=AwaySettings(enabled=True)), AwayExtension())
        [finding] = [each async for each in AwayExtension().findings(configured)]
        assert (finding.wrong is None) is fine
        assert finding.is_ok, "it is only a risk"
        switched_off = configured_for(settings_with(), AwayExtension())
        assert [each async for each in AwayExtension().findings(switched_off)] == []

    @pytest.mark.parametrize("enabled", [True, False])
    async def test_what_doctor_lists_is_what_people_can_type(
        self, up: RunningService, enabled: bool
    ) -> None:
        """Doctor checks that a chat has the slash command where an extension has commands."""
        settings = settings_with(away=AwaySettings(enabled=enabled))
        listed = AwayExtension().listed_commands(configured_for(settings, AwayExtension()))
        typed = [(each.name, each.about) for each in self.running(up).commands()]
        assert [(each.name, each.about) for each in listed] == (typed if enabled else [])

    @pytest.fixture
    def tables(self) -> Mapping[str, Any]:
        return {"away": {"enabled": True}}
