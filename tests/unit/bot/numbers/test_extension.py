"""Numbers come in as an extension."""

from __future__ import annotations

import pytest

from answerback_numbers.commands import STATS
from answerback_numbers.extension import NumbersExtension
from answerback_testing.command_contract import CommandContract
from answerback_testing.extension_contract import ExtensionContract


@pytest.mark.rule("PLUGIN-8", "PLUGIN-10")
class TestNumbers(ExtensionContract):
    extension = NumbersExtension


@pytest.mark.rule("CLI-32")
class TestStatsCommand(CommandContract):
    plugin = STATS
