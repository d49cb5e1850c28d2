"""Notifications come in as an extension."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from answerback_push.extension import PushExtension
from answerback_testing.extension_contract import ExtensionContract


@pytest.mark.rule("PLUGIN-8", "PLUGIN-10")
class TestPush(ExtensionContract):
    extension = PushExtension

    @pytest.fixture
    def tables(self) -> Mapping[str, Any]:
        return {"web": {"push": True}}
