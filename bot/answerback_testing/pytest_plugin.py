"""The contracts' pytest plug-in; put ``pytest_plugins = ["answerback_testing.pytest_plugin"]`` in a ``conftest.py``."""

from __future__ import annotations

import pkgutil
from pathlib import Path

import pytest

for _module in pkgutil.iter_modules([str(Path(__file__).parent)]):
    if _module.name != Path(__file__).stem:  # pytest has imported this one
        pytest.register_assert_rewrite(f"answerback_testing.{_module.name}")


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker with which the contracts' tests name the rules they prove."""
    config.addinivalue_line("markers", "rule(*ids): the rules of the specification it proves")
