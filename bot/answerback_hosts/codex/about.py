"""The names of Codex, and the signs by which it is recognised."""

from __future__ import annotations

from typing import Final

from answerback_base.hosts import About

ABOUT: Final = About(
    "Codex",
    programs=("codex", "codex-acp"),
    requests=(
        "item/commandExecution/requestApproval",
        "item/fileChange/requestApproval",
        "item/permissions/requestApproval",
    ),
)
