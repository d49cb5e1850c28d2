"""Wheels of the project's distributions, and environments that hold nothing but them and what they ask for."""

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
FOLDERS = {"answerback": "", "answerback-client": CLIENT}
"""Where the distributions of the project are described."""
NO_PACKAGES = ("pyproject.toml", "README.md", "LICENSE")
"""Files of a distribution that are installed as its metadata, if at all."""


def project(folder: str = "") -> Mapping[str, Any]:
    """The table ``project`` of a distribution."""
    text = (ROOT / folder / "pyproject.toml").read_text("utf-8")
    table: Mapping[str, Any] = tomllib.loads(text)["project"]
    return table


def build(into: Path) -> tuple[Path, Path]:
    """The wheels of the service and of the client, built offline from what git knows."""
    source = into / "source"
    for path in files():
        inside = path.relative_to(ROOT)
        if inside.parts[0] in SOURCE_FOLDERS or str(inside) in NO_PACKAGES:
            (source / inside).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, source / inside)
    subprocess.run(
        [
            *(sys.executable, "-m", "pip", "wheel", "-qq", "--no-index", "--no-deps"),
            *("--no-build-isolation", "--wheel-dir", str(into), str(source), str(source / CLIENT)),
        ],
        check=True,
        timeout=50,
    )
    (service,) = into.glob("answerback-*.whl")
    (client,) = into.glob("answerback_client-*.whl")
    return service, client


def environment(target: Path, wheels: Iterable[Path], wanted: Iterable[str]) -> Path:
    """An environment with the wheels and, out of this one, what ``wanted`` asks for; its folder of programs.

    Args:
        wanted: requirements such as ``answerback[slack]``; our own distributions are left to the wheels.
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
        timeout=50,
    )
    return target / "bin"


def closure(wanted: Iterable[str]) -> set[str]:
    """The names of the distributions that these requirements bring, themselves included."""
    found: set[tuple[str, str]] = set()
    left = [one for text in wanted for one in _asked(Requirement(text))]
    while left:
        one = left.pop()
        if one not in found:
            found.add(one)
            left += _required(*one)
    return {name for name, _ in found}


def _asked(requirement: Requirement) -> Iterator[tuple[str, str]]:
    name = re.sub(r"[-_.]+", "-", requirement.name).lower()
    yield name, ""
    yield from ((name, extra) for extra in requirement.extras)


def _required(name: str, extra: str) -> Iterator[tuple[str, str]]:
    if name in FOLDERS:  # as the checkout has it, and not as it was when it was installed here
        asked = project(FOLDERS[name])
        texts = asked["optional-dependencies"][extra] if extra else asked["dependencies"]
    else:
        texts = distribution(name).requires or ()
    for text in texts:
        requirement = Requirement(text)
        marker = requirement.marker
        if marker is None or marker.evaluate({"extra": extra}):
            yield from _asked(requirement)


def _link(held: Distribution, packages: Path) -> None:
    """Puts what a distribution installed into the folder, by links."""
    tops = {file.parts[0] for file in held.files or () if file.parts[0] != ".."}
    for top in tops - {"__pycache__"}:
        place = packages / top
        if not place.exists():
            place.symlink_to(Path(str(held.locate_file(top))))
