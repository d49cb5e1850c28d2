"""Sign-ins and account links come in as extensions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from answerback_teams.commands import PERSON
from answerback_teams.extension import AccountLinksExtension, SignInsExtension
from answerback_testing.command_contract import CommandContract
from answerback_testing.extension_contract import ExtensionContract


@pytest.mark.rule("PLUGIN-8", "PLUGIN-10")
class TestSignIns(ExtensionContract):
    extension = SignInsExtension

    @pytest.fixture
    def tables(self) -> Mapping[str, Any]:
        return {"onboarding": {"owners": ["web:ann"]}}


@pytest.mark.rule("PLUGIN-8", "PLUGIN-10")
class TestAccountLinks(ExtensionContract):
    extension = AccountLinksExtension

    @pytest.fixture
    def tables(self) -> Mapping[str, Any]:
        return {"people_link": True}


@pytest.mark.rule("CLI-32")
class TestPersonCommand(CommandContract):
    plugin = PERSON
