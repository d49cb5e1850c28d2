"""The contracts' pytest plug-in; put ``pytest_plugins = ["answerback_testing.pytest_plugin"]`` in a ``conftest.py``."""

from __future__ import annotations

import logging
import pkgutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

for _module in pkgutil.iter_modules([str(Path(__file__).parent)]):
    if _module.name != Path(__file__).stem:  # pytest has imported this one
        pytest.register_assert_rewrite(f"answerback_testing.{_module.name}")


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker with which the contracts' tests name the rules they prove."""
    config.addinivalue_line("markers", "rule(*ids): the rules of the specification it proves")


@pytest.fixture(name="restored_logging")
def _restored_logging() -> Iterator[None]:
    """Restore logging after a test that configures it: a level that stays set hides what later tests look for."""
    with restored_logging():
        yield


@contextmanager
def restored_logging() -> Iterator[None]:
    """Give the root logger its handlers back afterwards, and every logger its level."""
    handlers = logging.root.handlers[:]
    levels = {each: each.level for each in _loggers()}
    try:
        yield
    finally:
        logging.root.handlers[:] = handlers
        for each in _loggers():
            if each.level != (level := levels.get(each, logging.NOTSET)):
                each.setLevel(level)


def _loggers() -> list[logging.Logger]:
    known = logging.root.manager.loggerDict.values()
    return [logging.root, *(each for each in known if isinstance(each, logging.Logger))]
