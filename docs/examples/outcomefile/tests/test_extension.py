"""The file of outcomes meets the contract of extensions."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from outcomefile.extension import OutcomeFileExtension

from answerback_testing.extension_contract import ExtensionContract


class TestOutcomeFile(ExtensionContract):
    extension = OutcomeFileExtension

    @pytest.fixture
    def tables(self, tmp_path: Path) -> Mapping[str, Any]:
        return {"outcomefile": {"path": str(tmp_path / "outcomes.jsonl")}}
