"""The files that make up the project, for tests that check all of them."""

import ast
import os
import subprocess
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from answerback.runtime.plugins import installed_plugins

ROOT = Path(__file__).parents[2]
SOURCE_FOLDERS = ("bot", "adapters", "storage")
"""The directories that contain what is installed."""

PACKAGES = tuple(
    sorted(
        found.parent.name for top in SOURCE_FOLDERS for found in (ROOT / top).glob("*/__init__.py")
    )
)
"""The packages that are installed."""

PYTHONPATH = os.pathsep.join(str(ROOT / folder) for folder in ("", *SOURCE_FOLDERS))
"""The path that makes a program started by a test use this checkout."""

RECIPES = ROOT / "docs" / "recipes"
"""The programs that the pages about agents and frameworks show."""


@cache
def variable_prefixes() -> tuple[str, ...]:
    """Return the prefixes of the environment variables that configure Answerback and its surfaces."""
    customary = {name for plugin in installed_plugins() for name in plugin.variables}
    return ("ANSWERBACK_", *sorted({f"{name.partition('_')[0]}_" for name in customary}))


@cache
def files() -> Sequence[Path]:
    """Return every file that git tracks or would track, without ignored ones."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=True,
        text=True,
    )
    paths = [ROOT / name for name in listed.stdout.split("\0") if name]
    return sorted(path for path in paths if path.is_file())


def sources(*folders: str) -> list[Path]:
    """Return the Python files in these directories of the project."""
    return [
        path
        for path in files()
        if path.suffix == ".py" and path.relative_to(ROOT).parts[0] in folders
    ]


@cache
def tree(path: Path) -> ast.Module:
    """Return the syntax tree of a Python file. It must not be modified."""
    return ast.parse(path.read_text("utf-8"))


def module_name(path: Path) -> str:
    """Return the module name of a Python file of the project."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    parts = parts[1:] if parts[0] in SOURCE_FOLDERS else parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
