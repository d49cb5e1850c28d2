"""Being away comes in as an extension, which is off until it is switched on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from answerback_away.extension import AwayExtension
from answerback_testing.extension_contract import ExtensionContract


@pytest.mark.rule("PLUGIN-8", "PLUGIN-10")
class TestAway(ExtensionContract):
    extension = AwayExtension

    @pytest.fixture
    def tables(self) -> Mapping[str, Any]:
        return {"away": {"enabled": True}}
