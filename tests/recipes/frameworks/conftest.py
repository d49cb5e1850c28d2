"""The recipes for frameworks and what checks them: large installations, which `make test-agents` drives."""

from __future__ import annotations

import subprocess

import pytest

from tests.meta.project import ROOT


@pytest.fixture(scope="session")
def frameworks() -> None:
    """The frameworks that cannot share our environment: made already by ``make test-agents``, checked here."""
    subprocess.run([ROOT / ".ci" / "recipes", "frameworks"], check=True, timeout=250)
