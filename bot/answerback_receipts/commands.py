"""The commands about receipts."""

from __future__ import annotations

from typing import Final

from answerback_agents.cli.command import Command

RECEIPTS: Final = Command(
    "receipts",
    "Operate",
    50,
    "Manage the key that signs receipts.",
    "answerback_receipts.cli.receipts",
)
VERIFY: Final = Command(
    "verify",
    "Operate",
    60,
    "Check a receipt without a service, or the chain of receipts in the database.",
    "answerback_receipts.cli.verify",
)
