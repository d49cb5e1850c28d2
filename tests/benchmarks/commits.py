"""The product at another commit: its files, unpacked from git, and the environment in which Python imports them."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from tests.meta.project import ROOT, SOURCE_FOLDERS

NOW: Final = "now"
"""The name of the working tree among the contestants."""


@contextmanager
def checked_out(commit: str | None) -> Iterator[Mapping[str, Mapping[str, str]]]:
    """Yield the environments of the working tree and, unless it is None, of a commit, by their names."""
    found: dict[str, Mapping[str, str]] = {}
    with TemporaryDirectory() as name:
        if commit is not None:
            found[commit] = _unpack(commit, Path(name))
        yield {**found, NOW: {}}


def _unpack(commit: str, folder: Path) -> Mapping[str, str]:
    packed = subprocess.run(
        ["git", "archive", "--format=tar", commit, "--", *SOURCE_FOLDERS],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )
    subprocess.run(["tar", "-x", "-C", folder], input=packed.stdout, check=True)
    return {"PYTHONPATH": os.pathsep.join(str(folder / each) for each in SOURCE_FOLDERS)}
