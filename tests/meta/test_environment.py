"""Guarantees of the test suite itself: a clean environment, no unnoticed blocking call, no connection left open."""

import asyncio
import gc
import os
import socket
import time
import warnings
from pathlib import Path

import pytest
from blockbuster import BlockingError

import answerback
from tests.meta.project import variable_prefixes
from tests.service_support import WAIT


def test_no_variable_of_ours_reaches_a_test() -> None:
    assert "SLACK_" in variable_prefixes()
    assert [name for name in os.environ if name.startswith(variable_prefixes())] == []


async def test_a_blocking_call_from_our_packages_on_the_loop_raises() -> None:
    # What one of our modules would run: compiled under a path inside the package.
    inside = Path(str(answerback.__file__)).with_name("imagined.py")
    blocking = compile("time.sleep(0)", str(inside), "exec")
    with pytest.raises(BlockingError):
        exec(blocking, {"time": time})


async def test_a_connection_that_a_server_accepts_while_it_is_closed_is_closed() -> None:
    loop = asyncio.get_running_loop()
    with warnings.catch_warnings(record=True) as warnings_caught:
        warnings.simplefilter("always", ResourceWarning)
        server = await asyncio.start_server(lambda _reader, _writer: None, "127.0.0.1", 0)
        with socket.create_connection(server.sockets[0].getsockname()) as client:
            client.setblocking(False)
            for _ in range(2):  # the connection is accepted, and its task is about to start
                await asyncio.sleep(0)
            server.close()
            await asyncio.sleep(0)
            gc.collect()
            async with asyncio.timeout(WAIT):
                assert await loop.sock_recv(client, 1) == b""
    assert [str(warning.message) for warning in warnings_caught] == []
