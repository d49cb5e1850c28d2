"""Every label is shown somewhere: a text that nothing shows would mislead whoever overrides it."""

from __future__ import annotations

import re

import pytest

from answerback.core.labels import Labels
from tests.meta.project import ROOT

_PRODUCT = ("bot", "adapters")
_USE = re.compile(r"(?:labels|LABELS|ENGLISH|words)\.(\w+)")
_HOME = ROOT / "bot" / "answerback" / "core" / "labels.py"


@pytest.fixture(scope="module")
def used() -> frozenset[str]:
    """The names of all attributes of labels that the product reads."""
    files = [
        path
        for folder in _PRODUCT
        for path in (ROOT / folder).rglob("*")
        if path.suffix in {".py", ".html"}
        and path != _HOME
        and "testing" not in path.relative_to(ROOT).parts
    ]
    within = re.findall(r"self\.(\w+)", _HOME.read_text())
    return frozenset([name for path in files for name in _USE.findall(path.read_text())] + within)


def test_every_label_is_used(used: frozenset[str]) -> None:
    assert sorted(Labels.model_fields.keys() - used) == []
