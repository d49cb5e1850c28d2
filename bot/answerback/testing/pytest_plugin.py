"""The contracts' pytest plug-in; in a ``conftest.py``: ``pytest_plugins = ["answerback.testing.pytest_plugin"]``."""

from __future__ import annotations

import pytest

for _module in (
    "store_asks",
    "store_lists",
    "store_upkeep",
    "surface_clicks",
    "surface_contract",
    "surface_outages",
    "surface_texts",
    "surface_walks",
):
    pytest.register_assert_rewrite(f"answerback.testing.{_module}")


def pytest_configure(config: pytest.Config) -> None:
    """Makes known the mark by which the contracts' tests name the rules that they prove."""
    config.addinivalue_line("markers", "rule(*ids): the rules of the specification it proves")
