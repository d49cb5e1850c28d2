"""Packages of third parties: installed beside ours, and their own tests run there."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from tests.meta.project import PYTHONPATH


def install(example: Path, folder: Path) -> str:
    """Install a package in a new folder; return the path on which Python finds it and ours."""
    source, target = shutil.copytree(example, folder / "source"), folder / "site"
    options = ["-qq", "--no-index", "--no-deps", "--no-build-isolation", "--target", str(target)]
    command = [sys.executable, "-m", "pip", "install", *options, str(source)]
    subprocess.run(command, check=True, timeout=250)
    return os.pathsep.join((str(target), PYTHONPATH))


def run_tests(example: Path, folder: Path, path: str, *options: str, **variables: str) -> str:
    """Run a package's own tests, without other pytest plug-ins than its author has; return what they print."""
    tests = shutil.copytree(example / "tests", folder / "tests")
    shutil.copy(example / "pyproject.toml", folder)
    environment = {
        "PYTHONPATH": path,
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        "TMPDIR": str(folder),  # perhaps in memory
        **variables,
    }
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", *options, str(tests)],
        cwd=folder,
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
        text=True,
        timeout=280,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout
