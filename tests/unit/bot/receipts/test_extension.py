"""Receipts come in as an extension."""

from __future__ import annotations

import pytest

from answerback_receipts.commands import RECEIPTS, VERIFY
from answerback_receipts.extension import ReceiptsExtension
from answerback_testing.command_contract import CommandContract
from answerback_testing.extension_contract import ExtensionContract


@pytest.mark.rule("PLUGIN-8", "PLUGIN-10")
class TestReceipts(ExtensionContract):
    extension = ReceiptsExtension


@pytest.mark.rule("CLI-32")
class TestReceiptsCommand(CommandContract):
    plugin = RECEIPTS


@pytest.mark.rule("CLI-32")
class TestVerifyCommand(CommandContract):
    plugin = VERIFY
