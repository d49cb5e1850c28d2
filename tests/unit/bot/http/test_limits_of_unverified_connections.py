"""The default limits of unverified connections."""

from __future__ import annotations

import resource
from unittest import mock

import pytest

from answerback.http.unverified_connections import (
    PUBLIC_SHARE,
    STRANGERS_SHARE,
    UnverifiedConnections,
    connection_limit,
)
from tests.limit_edges import edge

pytestmark = pytest.mark.rule("DATA-11")


@edge("PUBLIC_SHARE", "STRANGERS_SHARE")
def test_the_shares_of_the_descriptors() -> None:
    with mock.patch.object(resource, "getrlimit", return_value=(1_200, 1_200)):
        assert connection_limit(PUBLIC_SHARE) == 400
        assert connection_limit(STRANGERS_SHARE) == 300


@edge("MAX_CONNECTIONS", "VERIFY_TIMEOUT")
def test_the_default_limits_of_unverified_connections() -> None:
    with mock.patch.object(resource, "getrlimit", return_value=(65_536, 65_536)):
        assert connection_limit(PUBLIC_SHARE) == 1_000
    assert UnverifiedConnections(1).seconds == 15.0
