"""Tests of the contracts' plug-in for pytest."""

import logging

from answerback.runtime.logs import configure_logging
from answerback_testing.pytest_plugin import restored_logging


def test_logging_is_configured_as_before_whatever_a_test_does() -> None:
    library, root = logging.getLogger("discord"), logging.getLogger()
    before = (library.level, root.level, root.handlers[:])
    with restored_logging():
        configure_logging("debug", "json")
        assert library.level == logging.WARNING
        logging.getLogger("made.meanwhile").setLevel(logging.ERROR)
    assert (library.level, root.level, root.handlers) == before
    assert logging.getLogger("made.meanwhile").level == logging.NOTSET
