"""The contracts' pytest plug-in; put ``pytest_plugins = ["answerback.testing.pytest_plugin"]`` in a ``conftest.py``."""

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
    """Register the marker with which the contracts' tests name the rules they prove."""
    config.addinivalue_line("markers", "rule(*ids): the rules of the specification it proves")
