"""The constraints pin everything that pyproject.toml requires, by hash, and nothing by URL."""

import re
import tomllib
from importlib.metadata import distributions
from itertools import chain

import pytest

from tests.meta.project import ROOT
from tests.meta.wheels import CLIENT, FOLDERS, closure, project

_PIN = re.compile(
    r"^([a-z0-9._-]+)==(\S+?)(?: ;.*?)? \\\n((?:    --hash=sha256:[0-9a-f]{64}.*\n)+)", re.M
)


RUNS = ROOT / "manifests" / "constraints.txt"
DEVELOPS = ROOT / ".ci" / "constraints.txt"


@pytest.fixture(scope="module")
def text() -> str:
    return RUNS.read_text("utf-8") + DEVELOPS.read_text("utf-8")


def _normalise(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def test_every_line_is_a_pin_with_hashes(text: str) -> None:
    assert _PIN.sub("", text) == ""
    assert text.count("--hash") > text.count("==")


def test_all_requirements_are_pinned(text: str) -> None:
    extras = project()["optional-dependencies"].values()
    requirements = [*project()["dependencies"], *chain.from_iterable(extras)]
    requirements += project(CLIENT)["dependencies"]
    groups = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["dependency-groups"]
    requirements += chain.from_iterable(groups.values())
    names = {_normalise(re.split(r"[\[<>=!~; ]", line)[0]) for line in requirements}
    pinned = {_normalise(pin[1]) for pin in _PIN.finditer(text)}
    assert names - FOLDERS.keys() | {"pip", "setuptools"} <= pinned
    assert FOLDERS.keys().isdisjoint(pinned), (
        "the project's own distributions come from the checkout"
    )


def test_what_runs_is_pinned_without_what_develops() -> None:
    pinned = {_normalise(pin[1]) for pin in _PIN.finditer(RUNS.read_text("utf-8"))}
    needed = {_normalise(name) for name in closure(["answerback[all]", "answerback-client"])}
    assert needed - FOLDERS.keys() <= pinned
    assert pinned.isdisjoint({"pytest", "ruff", "mypy", "mkdocs", "pip-audit"})


def test_installed_versions_match_the_pins(text: str) -> None:
    pinned: dict[str, set[str]] = {}
    for pin in _PIN.finditer(text):
        pinned.setdefault(_normalise(pin[1]), set()).add(pin[2])
    differing = {
        name: dist.version
        for dist in distributions()
        if dist.version not in pinned.get(name := _normalise(dist.name), {dist.version})
    }
    assert differing == {}, (
        "run `make venv` to install the pinned versions, or `make lock` to pin new ones"
    )
