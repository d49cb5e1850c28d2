"""Real agents, installed from npm, each in a home of its own: what they need beside the scripted model."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.meta.project import PYTHONPATH, ROOT
from tests.recipes.conftest import Served, person, served

__all__ = ["person", "served"]

BINARIES = ROOT / ".venv" / "agents" / "node_modules" / ".bin"
PATIENCE = 50.0
"""Seconds for one run of an agent."""


@dataclass
class Home:
    """A home with nothing in it but what a test puts there."""

    folder: Path
    service: Served

    @property
    def project(self) -> Path:
        """Where the agent works."""
        return self.folder / "project"

    async def run(self, *command: str, **environment: str) -> str:
        """What a program prints; it has to end well."""
        process = await asyncio.create_subprocess_exec(
            *command,
            cwd=self.project,
            env={**self._environment(), **environment},
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        try:
            async with asyncio.timeout(PATIENCE):
                out, _ = await process.communicate()
        finally:
            if process.returncode is None:
                process.kill()
        assert process.returncode == 0, out.decode()
        return out.decode()

    async def connect(self, agent: str) -> None:
        """``answerback connect``, as a person would."""
        command = [sys.executable, "-m", "answerback.cli.main", "connect", agent, "--yes"]
        words = ["--url", self.service.url, "--token-env", "ANSWERBACK_TOKEN"]
        await self.run(*command, *words)

    def _environment(self) -> Mapping[str, str]:
        return {
            "HOME": str(self.folder),
            "PATH": f"{BINARIES}:{Path(sys.executable).parent}:{os.environ['PATH']}",
            "PYTHONPATH": PYTHONPATH,
            "ANSWERBACK_TOKEN": self.service.token,
        }


@pytest.fixture
def home(tmp_path: Path, served: Served) -> Home:
    """An empty home with an empty project."""
    (tmp_path / "project").mkdir()
    return Home(tmp_path, served)
