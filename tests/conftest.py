"""What every test shares: a clean environment, hypothesis profiles, and a loop that must not block.

Owns nothing about the product; fixtures of one kind of test live beside those tests.
"""

import atexit
import gc
import logging
import os
import signal
import socket
from asyncio.selector_events import BaseSelectorEventLoop
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
from blockbuster import BlockBuster
from coverage import Coverage
from hypothesis import HealthCheck, settings

from answerback.runtime.plugins import installed_plugins
from tests import chromium as chromium_browser
from tests import postgres
from tests.meta.project import PACKAGES

pytest_plugins = ["answerback.testing.pytest_plugin"]

OURS = ("ANSWERBACK_", "SLACK_", "DISCORD_")
"""Prefixes of the environment variables that configure Answerback."""

settings.register_profile(
    "ci",
    deadline=None,
    derandomize=True,
    max_examples=50,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile(
    "thorough",
    deadline=None,
    max_examples=2_000,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


_IN_MEMORY = Path("/dev/shm")
_ROOM = 4 * 2**30
"""Bytes that must be free in memory for the folders of tests."""


def _scrub() -> None:
    for name in [name for name in os.environ if name.startswith(OURS)]:
        del os.environ[name]


def pytest_configure(config: pytest.Config) -> None:
    """Forget the developer's own tokens before the first fixture can start a process; have Ctrl-C mean something."""
    _scrub()
    if hasattr(config, "workerinput"):
        # Whatever else runs at the exit has run by then. The interpreter would then take seconds to free every object.
        atexit.register(os._exit, 0)
    # A shell that starts us in the background has us, and whom we start, ignore it.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    gc.set_threshold(
        20_000, 20, 20
    )  # what a thousand modules import is not looked through again and again
    installed_plugins()  # reads the disk once, as every command does before its event loop runs
    if _in_memory():
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(_IN_MEMORY))


def _in_memory() -> bool:
    """Whether the folders of tests can be in memory, where `fsync` costs nothing: tests kill processes, no machine."""
    if not _IN_MEMORY.is_dir() or not os.access(_IN_MEMORY, os.W_OK):
        return False
    disk = os.statvfs(_IN_MEMORY)
    return not disk.f_flag & os.ST_NOEXEC and disk.f_bavail * disk.f_frsize > _ROOM


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Have one worker begin with the tests in a browser, which it starts once, and half of the others with long ones.

    None is left alone with a long one at the end; and as those mostly wait, the other half keeps the processors busy.
    A module that is long stays together: what its tests share is made once. xdist gives each worker a slice of the
    tests, and who is done takes over the end of somebody else's:
    https://pytest-xdist.readthedocs.io/en/stable/distribution.html
    """
    others = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1")) - 1
    if not others:
        return
    shown = [item for item in items if item.get_closest_marker("browser")]
    long: dict[pytest.Item | pytest.Module, list[pytest.Item]] = {}
    for item in items:
        if item.get_closest_marker("long"):
            module = item.getparent(pytest.Module)
            together = module is not None and module.get_closest_marker("long")
            long.setdefault(module if module and together else item, []).append(item)
    groups = list(long.values())
    half = (others + 1) // 2
    first = [shown, *(list(chain(*groups[worker::half])) for worker in range(half))]
    first += [[] for _ in range(others - half)]
    early = set(chain(*first))
    rest = [item for item in items if item not in early]
    ordered: list[pytest.Item] = []
    for worker, begun in enumerate(first):
        size = (len(items) - len(ordered)) // (len(first) - worker)
        left = max(0, size - len(begun))
        ordered += [*begun, *rest[:left]]
        del rest[:left]
    items[:] = [*ordered, *rest]


def pytest_collection_finish() -> None:
    """Spares the garbage collector what lives as long as the session: all modules, and all tests."""
    gc.freeze()


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish() -> None:
    """Saves what coverage measured here: a worker that takes long to exit is killed before it does that itself."""
    if (measured := Coverage.current()) is not None:
        measured.save()


@pytest.fixture(autouse=True)
def clean_environment() -> Iterator[None]:
    """No test sees a variable of ours that it did not set, and none leaves one, or its logging, to the next."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    _scrub()
    yield
    _scrub()
    root.handlers[:] = handlers
    root.setLevel(level)


@pytest.fixture(scope="session", autouse=True)
def nothing_of_ours_blocks_the_loop() -> Iterator[None]:
    """Fail a test in which our code makes a blocking call (a query, a sleep) on the event loop."""
    # The tests of the contracts are on the stack of all that runs in them, fakes too.
    calls = BlockBuster(list(PACKAGES), excluded_modules=["answerback.testing"])
    # Where coverage measures, it takes a lock of its own when our code comes to a new file.
    calls.functions["threading.Lock.acquire"].can_block_in("coverage/collector.py", "lock_data")
    calls.activate()
    yield
    calls.deactivate()


@pytest.fixture(scope="session", autouse=True)
def what_a_closed_server_accepted_is_closed() -> Iterator[None]:
    """Close the connections that CPython forgets: those accepted in the moment in which their server is closed.

    Nobody has such a connection yet, so the garbage collector closes it, with a warning that fails the test that runs
    by then: https://github.com/python/cpython/issues/109564
    """
    make = BaseSelectorEventLoop._make_socket_transport  # type: ignore[attr-defined]

    def made(loop: Any, sock: socket.socket, *args: Any, server: Any = None, **more: Any) -> Any:
        if server is not None and not server.is_serving():
            sock.close()
            raise ConnectionAbortedError
        return make(loop, sock, *args, server=server, **more)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(BaseSelectorEventLoop, "_make_socket_transport", made)
        yield


@pytest.fixture(scope="session")
def data() -> Path:
    """The folder of files that tests read and never write."""
    return Path(__file__).parent / "data"


@pytest.fixture(scope="session")
def chromium() -> str:
    """Path of Debian's Chromium, which `.ci/system-packages` installs; a test without it skips."""
    found = chromium_browser.find_chromium()
    if found is None and os.environ.get("CI"):
        pytest.fail("Chromium is missing: run .ci/system-packages, which installs it")
    if found is None:
        pytest.skip(
            "Chromium is not installed: browser tests need it (apt-get install chromium-headless-shell)"
        )
    return found


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[postgres.Server]:
    """A PostgreSQL server of this session's own, which `.ci/system-packages` installs; a test without it skips."""
    if postgres.binaries() is None:
        (pytest.fail if os.environ.get("CI") else pytest.skip)(
            "PostgreSQL is missing: run .ci/system-packages, which installs it"
        )
    with postgres.server() as server:
        yield server


@pytest.fixture
def database(postgres_server: postgres.Server) -> Iterator[str]:
    """The address of a PostgreSQL database without rows, for this test alone."""
    from answerback_storage.postgres import connections  # few tests need it

    with postgres_server.borrow_database() as name, pytest.MonkeyPatch.context() as patch:
        # A busy machine may need longer than what is long for a server on a machine of its own.
        patched = {**connections._DEFAULTS, "connect_timeout": 30}
        patch.setattr(connections, "_DEFAULTS", patched)
        yield postgres_server.url(name)
