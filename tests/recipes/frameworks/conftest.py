"""The recipes for frameworks and their checks: large installations, tested by `make test-agents`."""

from __future__ import annotations

import subprocess

import pytest

from tests.meta.project import ROOT


@pytest.fixture(scope="session")
def frameworks() -> None:
    """Check the frameworks that cannot share our environment, which ``make test-agents`` has installed."""
    subprocess.run([ROOT / ".ci" / "recipes", "frameworks"], check=True, timeout=250)
