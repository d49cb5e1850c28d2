"""constraints.txt pins everything that pyproject.toml asks for, by hash, and nothing by address."""

import re
from importlib.metadata import distributions
from itertools import chain

import pytest

from tests.meta.installing import CLIENT, FOLDERS, project
from tests.meta.project import ROOT

_PIN = re.compile(
    r"^([a-z0-9._-]+)==(\S+?)(?: ;.*?)? \\\n((?:    --hash=sha256:[0-9a-f]{64}.*\n)+)", re.M
)


@pytest.fixture(scope="module")
def text() -> str:
    return (ROOT / "constraints.txt").read_text("utf-8")


def _plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def test_every_line_is_a_pin_with_hashes(text: str) -> None:
    assert _PIN.sub("", text) == ""
    assert text.count("--hash") > text.count("==")


def test_what_the_project_asks_for_is_pinned(text: str) -> None:
    extras = project()["optional-dependencies"].values()
    asked = [*project()["dependencies"], *chain.from_iterable(extras)]
    asked += project(CLIENT)["dependencies"]
    names = {_plain(re.split(r"[\[<>=!~; ]", line)[0]) for line in asked}
    pinned = {_plain(pin[1]) for pin in _PIN.finditer(text)}
    assert names - FOLDERS.keys() | {"pip", "setuptools"} <= pinned
    assert FOLDERS.keys().isdisjoint(pinned), "these come from the checkout"


def test_what_is_installed_here_is_what_is_pinned(text: str) -> None:
    pinned: dict[str, set[str]] = {}
    for pin in _PIN.finditer(text):
        pinned.setdefault(_plain(pin[1]), set()).add(pin[2])
    differing = {
        name: dist.version
        for dist in distributions()
        if dist.version not in pinned.get(name := _plain(dist.name), {dist.version})
    }
    assert differing == {}, "make venv brings what is pinned; make lock pins anew"
