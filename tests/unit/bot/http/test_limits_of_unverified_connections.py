"""The default limits of unverified connections."""

from __future__ import annotations

import resource
from unittest import mock

import pytest

from answerback.http.unverified_connections import (
    UnverifiedConnections,
    public_connection_limit,
    unverified_agents_limit,
)
from tests.limit_edges import edge

pytestmark = pytest.mark.rule("DATA-11")


@edge("PUBLIC_SHARE", "UNVERIFIED_AGENTS_SHARE")
def test_the_shares_of_the_descriptors() -> None:
    with mock.patch.object(resource, "getrlimit", return_value=(1_200, 1_200)):
        assert public_connection_limit() == 400
        assert unverified_agents_limit() == 600


@edge("MAX_PUBLIC_CONNECTIONS", "MAX_UNVERIFIED_AGENTS", "VERIFY_TIMEOUT")
def test_the_default_limits_of_unverified_connections() -> None:
    with mock.patch.object(resource, "getrlimit", return_value=(65_536, 65_536)):
        assert public_connection_limit() == 1_000
        assert unverified_agents_limit() == 20_000
    assert UnverifiedConnections(1).seconds == 15.0
