"""Blocks that change a machine, or need one that tests have not: pasted, with commands that only record their names.

What they would do is tested elsewhere: tests/acceptance/test_deploying.py installs, and `test_blocks` checks the
options of our own commands and the files that are named.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Final

import pytest

from tests.documentation.blocks import blocks
from tests.meta.project import ROOT

_PAGES: Final = (
    "README.md",
    "docs/contributing.md",
    "docs/deploy.md",
    "docs/operations.md",
    "docs/surfaces.md",
    "docs/web.md",
)
_RECORDED: Final = (
    *("answerback", "uvx", "pip", "git", "make", "python", "claude", "deploy.sh"),
    *("podman", "docker", "kubectl", "nc"),
    *("useradd", "install", "systemctl", "runuser"),
    *("createuser", "createdb", "sqlite3"),
)


@pytest.mark.parametrize("page", _PAGES)
def test_every_command_of_the_page_is_one_that_a_machine_has(page: str, tmp_path: Path) -> None:
    recorder, folder = tmp_path / "bin", tmp_path / "checkout"
    for where in (recorder, folder / "manifests", folder / "answerback", folder / ".venv" / "bin"):
        where.mkdir(parents=True)
    shutil.copytree(ROOT / "manifests" / "compose", folder / "manifests" / "compose")
    for name in _RECORDED:
        (recorder / name).write_text('#!/bin/sh\necho "$(basename "$0") $*" >> "$RECORD"\n')
        (recorder / name).chmod(0o755)
    for place in (folder / "manifests" / "install", folder / ".venv" / "bin" / "python"):
        place.symlink_to(recorder / "install")
    (folder / "deploy.sh").symlink_to(recorder / "deploy.sh")
    record = tmp_path / "record"
    pasted = [block.text for block in blocks(page) if block.language == "sh"]
    done = subprocess.run(
        ["bash", "-c", "set -euo pipefail\n" + "\n".join(f"(\n{text})" for text in pasted)],
        cwd=folder,
        env={"PATH": f"{recorder}:{os.environ['PATH']}", "RECORD": str(record)},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert len(record.read_text().splitlines()) >= len(pasted)
