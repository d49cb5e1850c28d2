"""Build wheels of the project's distributions, and environments that contain only them and their dependencies."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import sysconfig
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from importlib.metadata import Distribution, distribution
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement

from tests.meta.project import ROOT, SOURCE_FOLDERS, files

CLIENT = "bot/answerback_client"
FOLDERS = {
    "answerback": "",
    "answerback-agents": "bot/answerback_agents",
    "answerback-base": "bot/answerback_base",
    "answerback-client": CLIENT,
    "answerback-hosts": "bot/answerback_hosts",
    "answerback-testing": "bot/answerback_testing",
}
"""The directories that describe the project's distributions."""
NO_PACKAGES = ("pyproject.toml", "README.md", "LICENSE")
"""Files of a distribution that are installed as metadata, if at all."""
RECORDED = "recorded"
"""The folder of a host's events for tests, which is not installed."""


def project(folder: str = "") -> Mapping[str, Any]:
    """Return the ``project`` table of a distribution."""
    text = (ROOT / folder / "pyproject.toml").read_text("utf-8")
    table: Mapping[str, Any] = tomllib.loads(text)["project"]
    return table


def build(into: Path) -> dict[str, Path]:
    """Build the wheel of each distribution, offline, from the files that git knows."""
    source = into / "source"
    for path in files():
        inside = path.relative_to(ROOT)
        if inside.parts[0] in SOURCE_FOLDERS or str(inside) in NO_PACKAGES:
            (source / inside).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, source / inside)
    subprocess.run(
        [
            *(sys.executable, "-m", "pip", "wheel", "-qq", "--no-index", "--no-deps"),
            *("--no-build-isolation", "--wheel-dir", str(into)),
            *(str(source / folder) for folder in FOLDERS.values()),
        ],
        check=True,
    )
    built = {}
    for name in FOLDERS:
        (built[name],) = into.glob(f"{name.replace('-', '_')}-*.whl")
    return built


def environment(target: Path, wheels: Iterable[Path], wanted: Iterable[str]) -> Path:
    """Create an environment from the wheels and the installed packages that ``wanted`` requires, and return its `bin`.

    Args:
        wanted: requirements such as ``answerback[slack]``. Our own distributions come from the wheels.
    """
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", target], check=True)
    packages = sysconfig.get_path("purelib", vars={"base": str(target), "platbase": str(target)})
    for name in closure(wanted):
        if name not in FOLDERS:
            _link(distribution(name), Path(packages))
    python = target / "bin" / "python"
    subprocess.run(
        [
            *(sys.executable, "-m", "uv", "pip", "install", "--python", str(python), "--quiet"),
            *("--offline", "--no-cache", "--no-deps", *map(str, wheels)),
        ],
        check=True,
    )
    return target / "bin"


def closure(wanted: Iterable[str]) -> set[str]:
    """Return the names of the distributions that these requirements need, including themselves."""
    found: set[tuple[str, str]] = set()
    todo = [item for text in wanted for item in _names_and_extras(Requirement(text))]
    while todo:
        item = todo.pop()
        if item not in found:
            found.add(item)
            todo += _dependencies(*item)
    return {name for name, _ in found}


def _names_and_extras(requirement: Requirement) -> Iterator[tuple[str, str]]:
    name = re.sub(r"[-_.]+", "-", requirement.name).lower()
    yield name, ""
    yield from ((name, extra) for extra in requirement.extras)


def _dependencies(name: str, extra: str) -> Iterator[tuple[str, str]]:
    if name in FOLDERS:  # from the checkout, not from what was current when it was installed here
        table = project(FOLDERS[name])
        texts = table["optional-dependencies"][extra] if extra else table["dependencies"]
    else:
        texts = distribution(name).requires or ()
    for text in texts:
        requirement = Requirement(text)
        marker = requirement.marker
        if marker is None or marker.evaluate({"extra": extra}):
            yield from _names_and_extras(requirement)


def _link(installed: Distribution, packages: Path) -> None:
    """Link a distribution's installed files into the directory."""
    tops = {file.parts[0] for file in installed.files or () if file.parts[0] != ".."}
    for top in tops - {"__pycache__"}:
        place = packages / top
        if not place.exists():
            place.symlink_to(Path(str(installed.locate_file(top))))
