"""Measure one store, each part in a process of its own: nothing that ran there before may change a number."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, Final

import uvloop

from tests.meta.project import PYTHONPATH, variable_prefixes

PARTS: Final = ("journeys", "memory", "modules")
_NOBODY: Final = "http://127.0.0.1:9"
_LONGEST: Final = 240.0
"""Seconds that a part may take on a machine with much else to do."""


def measured(part: str, url: str | None, *arguments: str) -> dict[str, Any]:
    """Return the numbers of one of `PARTS`, the ``way`` of a click, or the ``calls`` of a journey by function.

    Args:
        url: of an empty database, by default an SQLite file.
    """
    with tempfile.TemporaryDirectory() as folder:
        storage = url or f"sqlite:///{folder}/answerback.db"
        command = ["-m", "tests.budgets.measure", part, folder, storage, *arguments]
        environment = _environment(folder)
        if part == "modules":
            command = [str(Path(__file__).with_name("modules_until_ready.py"))]
            environment |= _both_chats(storage)
        done = subprocess.run(
            [sys.executable, *command],
            cwd=folder,
            env=environment,
            stdout=subprocess.PIPE,
            timeout=_LONGEST,
            check=True,
        )
    found = json.loads(done.stdout)
    return {"until ready": found} if part == "modules" else dict(found)


def _environment(folder: str) -> dict[str, str]:
    unwanted = ("COVERAGE_", "PYTHON", *variable_prefixes())
    kept = {name: value for name, value in os.environ.items() if not name.startswith(unwanted)}
    return kept | {"PYTHONPATH": PYTHONPATH, "PYTHONHASHSEED": "0", "HOME": folder}


def _both_chats(storage: str) -> dict[str, str]:
    """Return the configuration of a service with both chats by HTTP, which cannot be reached."""
    return {
        "ANSWERBACK_LOG__LEVEL": "error",
        "ANSWERBACK_SERVER__PORT": "0",
        "ANSWERBACK_PUBLIC__PORT": "0",
        "ANSWERBACK_STORAGE__URL": storage,
        "ANSWERBACK_SLACK__API_URL": f"{_NOBODY}/api/",
        "ANSWERBACK_DISCORD__API_URL": _NOBODY,
        "ANSWERBACK_DISCORD__GATEWAY": "false",
        "ANSWERBACK_DISCORD__PUBLIC_KEY": "0" * 64,
        "SLACK_BOT_TOKEN": "xoxb-1",
        "SLACK_SIGNING_SECRET": "secret",
        "DISCORD_BOT_TOKEN": "a.bot.token",
    }


if __name__ == "__main__":
    from tests.budgets import journeys, memory

    measuring: dict[str, Callable[..., Coroutine[Any, Any, object]]] = {
        "journeys": journeys.measure,
        "memory": memory.measure,
        "way": journeys.way,
        "calls": journeys.calls,
    }
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        part, folder, *rest = sys.argv[1:]
        json.dump(runner.run(measuring[part](Path(folder), *rest)), sys.stdout)
