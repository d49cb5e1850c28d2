"""Commands that another distribution adds to the program."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.meta.project import PYTHONPATH

_MODULE = """
from answerback_agents.cli.command import Command

FOLLOW = Command("follow_up", "Follow", 10, "Say what was decided.", "follow_code")
TAKEN = Command("hook", "Follow", 20, "Take another command's name.", "follow_code")
"""
_CODE = """
def command(name: str) -> None:
    \"\"\"Say what was decided.\"\"\"
    print(f"Hello, {name}.")
"""


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """A folder in which a distribution with commands is installed."""
    (tmp_path / "follow.py").write_text(_MODULE, "utf-8")
    (tmp_path / "follow_code.py").write_text(_CODE, "utf-8")
    described = tmp_path / "follow-1.dist-info"
    described.mkdir()
    (described / "METADATA").write_text("Metadata-Version: 2.1\nName: follow\nVersion: 1\n")
    named = ("follow_up = follow:FOLLOW", "hook = follow:TAKEN", "lost = follow:NOTHING")
    lines = "\n".join(["[answerback.commands]", *named])
    (described / "entry_points.txt").write_text(f"{lines}\n")
    return tmp_path


def _run(installed: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "answerback_agents.cli.main", *arguments],
        env={
            "PATH": os.environ["PATH"],
            "PYTHONPATH": os.pathsep.join([str(installed), PYTHONPATH]),
        },
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=250,
        check=False,
    )


@pytest.mark.rule("CLI-32")
def test_a_command_of_another_distribution_is_listed_in_its_group_and_runs(installed: Path) -> None:
    listed = _run(installed, "--help").stdout
    assert re.search(r"follow-up +Say what was decided\.", listed), listed
    assert listed.index("Run by agents") < listed.index("Follow ─") < listed.index("follow-up")
    done = _run(installed, "follow-up", "Ann")
    assert (done.returncode, done.stdout) == (0, "Hello, Ann.\n"), done.stderr


@pytest.mark.rule("CLI-32")
def test_a_broken_command_says_why_and_none_takes_the_name_of_ours(installed: Path) -> None:
    broken = _run(installed, "lost")
    assert broken.returncode == 1
    assert "the plug-in 'lost' of follow cannot be used: AttributeError" in broken.stderr
    ours = _run(installed, "hook", "--help").stdout
    assert "Run by an agent's command hooks" in ours
    unknown = _run(installed, "unknown")
    assert unknown.returncode == 2
