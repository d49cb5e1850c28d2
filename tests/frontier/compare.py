"""Fetches packages with npm and pip, and finds in each the names that its definitions have."""

from __future__ import annotations

import re
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

Json = dict[str, Any]

_COMMENTS: Final = re.compile(
    r'""".*?"""|/\*.*?\*/|//[^\n]*|#[^\n]*|"(?:description|title)": "(?:[^"\\]|\\.)*"', re.S
)
_NAME: Final = re.compile(r"[A-Za-z_$][\w$-]*")
_PATIENCE: Final = 600
_PLATFORMS: Final = [
    word for libc in ("2_17", "2_28", "2_34") for word in ("--platform", f"manylinux_{libc}_x86_64")
]


class Release(NamedTuple):
    """A package as it was fetched."""

    version: str
    file: Path
    printed: Path | None = None
    """A folder with the definitions that its program has printed."""

    def read(self, name: str) -> str | None:
        """The text of a file in it, or of one that was printed; None if it has none of that name."""
        if self.printed is not None:
            printed = next(iter(self.printed.rglob(name)), None)
            return None if printed is None else printed.read_text()
        if self.file.suffix == ".whl":
            with zipfile.ZipFile(self.file) as wheel:
                return wheel.read(name).decode() if name in wheel.namelist() else None
        with tarfile.open(self.file) as archive:
            members = [each for each in archive.getnames() if each.partition("/")[2] == name]
            found = archive.extractfile(members[0]) if members else None
            return None if found is None else found.read().decode()


def fetch(source: Mapping[str, Any], folder: Path) -> Release | None:
    """Fetch the newest release into an empty folder; None if it cannot be had here."""
    folder.mkdir(parents=True)
    if (name := source.get("npm")) is not None:
        # Asked for by its number: without one, npm takes a release that suits the Node of this machine.
        viewed = _run("npm", "view", name, "version")
        viewed = f"{viewed}-{source['build']}" if "build" in source else viewed
        command = [
            "npm",
            "pack",
            "--ignore-scripts",
            "--pack-destination",
            str(folder),
            f"{name}@{viewed}",
        ]
    else:
        # Of any Python and system: only the text of the package is read.
        command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary", ":all:"]
        command += ["--python-version", "3.13", *_PLATFORMS, "--dest", str(folder), source["pypi"]]
    _run(*command)
    files = [*folder.iterdir()]
    if not files:
        return None
    version = _version(files[0].name.replace(f"-{source.get('build')}.", "."))
    printed = print_definitions(files[0], source["prints"]) if "prints" in source else None
    return Release(version, files[0], printed)


def print_definitions(package: Path, command: Sequence[str]) -> Path:
    """Let the program in a package print its definitions into a folder; it starts with an empty home."""
    home = package.parent / "home"
    home.mkdir()
    # Python's own tarfile can leave out dangerous members only since 3.11.4; tar always does.
    subprocess.run(["tar", "-xzf", package, "-C", home], check=True, timeout=_PATIENCE)
    program = next(path for path in home.rglob(command[0]) if path.is_file())
    printed = home / "printed"
    subprocess.run(
        [program, *command[1:], printed],
        check=False,
        timeout=_PATIENCE,
        capture_output=True,
        env={"HOME": str(home), "PATH": "/usr/bin:/bin"},
    )
    return printed


def _run(*command: str) -> str:
    done = subprocess.run(command, check=False, timeout=_PATIENCE, capture_output=True, text=True)
    return done.stdout.strip()


def _version(name: str) -> str:
    found = re.search(r"-(\d[\w.]*?(?:-[a-z][\w.]*)?)(?:\.tgz|\.tar\.gz|-(?:py|cp).*\.whl)$", name)
    return name if found is None else found[1]


def read_names(text: str | None, expression: str) -> list[str] | None:
    """The names in a definition, without its comments and descriptions; None if there is no such definition."""
    found = None if text is None else re.search(expression, text, re.S)
    return None if found is None else sorted(set(_NAME.findall(_COMMENTS.sub(" ", found[0]))))


def definitions(source: Mapping[str, Any], release: Release) -> dict[str, list[str] | None]:
    """The names in each of a source's definitions."""
    return {
        name: read_names(release.read(where[0]), where[1])
        for name, where in source.items()
        if isinstance(where, list) and name != "prints"
    }


def differences(host: str, recorded: Json, found: Json) -> Iterator[str]:
    """Yield the changes of a host, a line each."""
    if recorded.get("version") != found["version"]:
        yield f"{host}: {recorded.get('version', 'new here')} → {found['version']}"
    before = recorded.get("definitions", {})
    for name, names in found["definitions"].items():
        if names is None:
            yield f"{host}: {name} is not where it was; look for it, and correct sources.toml"
            continue
        known = before.get(name) or []
        for sign, some in (("+", set(names) - set(known)), ("-", set(known) - set(names))):
            if some:
                yield f"{host}: {name} {sign} {', '.join(sorted(some))}"
