"""Why a connection failed, as people read it: the service and its client say the same."""

from __future__ import annotations

import socket
from collections.abc import Callable

import aiohttp
import pytest

from answerback_base import connection_errors
from answerback_client import errors


@pytest.mark.parametrize("reason_of", [connection_errors.reason_of, errors.reason_of])
@pytest.mark.parametrize(
    ("error", "text"),
    [
        (TimeoutError(), "the request timed out"),
        (ConnectionRefusedError(111, "Connect call failed"), "Connection refused"),
        (socket.gaierror(-2, "Name or service not known"), "Name or service not known"),
        (aiohttp.ServerDisconnectedError(), "Server disconnected"),
    ],
)
def test_connection_failures_are_explained(
    reason_of: Callable[[BaseException], str], error: Exception, text: str
) -> None:
    assert reason_of(error) == text


@pytest.mark.parametrize(
    ("status", "expected"), [(200, False), (404, False), (429, True), (499, False), (500, True)]
)
def test_overload_and_the_servers_own_failures_are_temporary(status: int, expected: bool) -> None:
    assert connection_errors.is_temporary(status) is expected
