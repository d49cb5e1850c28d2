"""Fixtures and hooks for all tests: a clean environment, hypothesis profiles, and an event loop that must not block.

Contains nothing about the product. Fixtures for one kind of test are next to those tests.
"""

import atexit
import gc
import os
import shutil
import signal
import socket
import sys
from asyncio.selector_events import BaseSelectorEventLoop
from collections.abc import Callable, Generator, Iterator
from functools import cache
from importlib import import_module
from itertools import chain
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from blockbuster import BlockBuster
from coverage import Coverage
from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers
from hypothesis.internal.constants_ast import Constants

from answerback.runtime.plugins import installed_plugins
from answerback.runtime.stores import installed_stores
from tests import chromium as chromium_browser
from tests import matrix, postgres, quarantine
from tests.meta.project import PACKAGES, ROOT, variable_prefixes
from tests.mutants.table import MUTANTS

pytest_plugins = ["answerback_testing.pytest_plugin"]
pytest.register_assert_rewrite("tests.stores")

# Hypothesis also draws the literals of every module that a process has imported, so that what a derandomised test drew
# depended on the tests that ran in the same worker before.
providers._get_local_constants = Constants

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
_MIN_FREE_BYTES = 4 * 2**30
"""Bytes that must be free in memory for the tests' temporary directories."""


def _scrub() -> None:
    for name in [name for name in os.environ if name.startswith(variable_prefixes())]:
        del os.environ[name]


def pytest_configure(config: pytest.Config) -> None:
    """Remove the developer's own tokens before the first fixture can start a process, and make Ctrl-C work."""
    _scrub()
    # jsonschema compiles this grammar when it is imported, which takes over a second. No test checks the formats in it.
    sys.modules.setdefault("rfc3987_syntax", None)  # type: ignore[arg-type]  # None: it cannot be imported
    if hasattr(config, "workerinput"):
        # By now, all other exit handlers have run. The interpreter would take seconds to free every object.
        atexit.register(os._exit, 0)
    # A shell that starts pytest in the background makes it and its children ignore SIGINT. With Python's own handler,
    # asyncio would replace it for each fixture and test, and `signal` would describe all that is in the task each time.
    signal.signal(signal.SIGINT, _interrupt)
    if _runs_once(config):
        config.option.disable_unused_snapshots = True  # most are those of tests that are left out
    gc.set_threshold(20_000, 20, 20)  # does not rescan the objects of a thousand modules as often
    # What Hypothesis knows of Unicode is there: to compute it in a process that runs in another folder takes seconds.
    os.environ.setdefault("HYPOTHESIS_STORAGE_DIRECTORY", str(ROOT / ".hypothesis"))
    # They read the disk once, as every command does before its event loop runs.
    installed_plugins()
    installed_stores()
    if _can_use_memory():
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(_IN_MEMORY))


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def _can_use_memory() -> bool:
    """Return whether temporary directories can be in memory, where `fsync` is free: tests never kill the machine."""
    if not _IN_MEMORY.is_dir() or not os.access(_IN_MEMORY, os.W_OK):
        return False
    disk = os.statvfs(_IN_MEMORY)
    return not disk.f_flag & os.ST_NOEXEC and disk.f_bavail * disk.f_frsize > _MIN_FREE_BYTES


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect no garbage among the tests and modules, all of which stay."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Import no file of which `make test` runs nothing."""
    if collection_path.suffix == ".py" and _runs_once(config):
        return matrix.leaves_out_file(collection_path, ROOT) or None
    return None


def _runs_once(config: pytest.Config) -> bool:
    """Return whether to run what `make test` does. Of a file or folder that is named, all tests run."""
    everything = ROOT / "tests"
    return matrix.ONCE and all((ROOT / given).resolve() == everything for given in config.args)


@pytest.hookimpl(wrapper=True)
def pytest_collection_modifyitems(
    config: pytest.Config, items: list[pytest.Item]
) -> Generator[None]:
    """Leave out what `make test` does, before ``-k`` and the like choose from the rest, and sort what they leave."""
    if _runs_once(config):
        chosen = matrix.choose(items, {test for mutant in MUTANTS for test in mutant.tests})
        config.hook.pytest_deselected(items=[*{*items}.difference(chosen)])
        items[:] = chosen
        config.stash[matrix.CHOSEN] = chosen
    yield
    quarantine.allow_second_tries(items)
    _sort(items)


def _sort(items: list[pytest.Item]) -> None:
    """Start one worker with the browser tests, which start the browser once, and half of the others with long tests.

    No worker is then left alone with a long test at the end, and since long tests mostly wait, the other half keeps the
    processors busy. A long module stays together, because its tests share setup. xdist gives each worker a slice of the
    tests, and a worker that is done takes over the end of another's:
    https://pytest-xdist.readthedocs.io/en/stable/distribution.html
    """
    others = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1")) - 1
    if not others:
        return
    in_browser = [item for item in items if item.get_closest_marker("browser")]
    long: dict[pytest.Item | pytest.Module, list[pytest.Item]] = {}
    for item in items:
        takes_long = item.get_closest_marker("long") or item.get_closest_marker("early")
        if takes_long and item not in in_browser:
            module = item.getparent(pytest.Module)
            together = module is not None and module.get_closest_marker("long")
            long.setdefault(module if module and together else item, []).append(item)
    groups = list(long.values())
    half = (others + 1) // 2
    first = [in_browser, *(list(chain(*groups[worker::half])) for worker in range(half))]
    first += [[] for _ in range(others - half)]
    early = set(chain(*first))
    rest = [item for item in items if item not in early]
    ordered: list[pytest.Item] = []
    for worker, first_tests in enumerate(first):
        size = (len(items) - len(ordered)) // (len(first) - worker)
        remaining = max(0, size - len(first_tests))
        ordered += [*first_tests, *rest[:remaining]]
        del rest[:remaining]
    items[:] = [*ordered, *rest]


def pytest_collection_finish() -> None:
    """Exempt what lives as long as the session, all modules and tests, from garbage collection."""
    gc.freeze()


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish() -> None:
    """Save this process's coverage data: a worker that is slow to exit is killed before coverage does so itself."""
    if (coverage := Coverage.current()) is not None:
        coverage.save()


@pytest.fixture(autouse=True)
def clean_environment(restored_logging: None) -> Iterator[None]:
    """Keep variables of ours and logging configuration from leaking into a test or out of it."""
    _scrub()
    yield
    _scrub()


@pytest.fixture(scope="session", autouse=True)
def nothing_of_ours_blocks_the_loop() -> Iterator[None]:
    """Fail a test in which our code makes a blocking call (a query, a sleep) on the event loop."""
    # The contract tests are on the stack of everything that runs in them, including fakes.
    excluded = "answerback_testing"
    calls = BlockBuster(list(PACKAGES), excluded_modules=[excluded])
    ours = tuple(import_module(name).__path__[0] for name in PACKAGES)
    tests_of_ours = import_module(excluded).__path__[0]

    @cache
    def is_ours(file: str) -> bool:
        return file.startswith(ours) and not file.startswith(tests_of_ours)

    def nobody_of_ours(*_: object, **__: object) -> bool:
        """Return True if no function on the stack is ours: BlockBuster's own search takes thirty times as long."""
        frame: FrameType | None = sys._getframe()
        while frame is not None:
            if is_ours(frame.f_code.co_filename):
                return False
            frame = frame.f_back
        return True

    def either(first: Callable[..., bool]) -> Callable[..., bool]:
        return lambda *given, **named: first(*given, **named) or nobody_of_ours()

    for function in calls.functions.values():
        function.can_block_predicate = either(function.can_block_predicate)
    # When measuring, coverage takes its own lock the first time our code enters a file.
    calls.functions["threading.Lock.acquire"].can_block_in("coverage/collector.py", "lock_data")
    # The loop has ended, and waits for its threads.
    calls.functions["threading.Lock.acquire"].can_block_in("asyncio/runners.py", "close")
    # It looks whether small files beside the database have changed.
    calls.functions["os.stat"].can_block_in("answerback/runtime/file_watch.py", "fingerprint")
    calls.activate()
    yield
    calls.deactivate()


@pytest.fixture(scope="session", autouse=True)
def what_a_closed_server_accepted_is_closed() -> Iterator[None]:
    """Close the connections that CPython forgets: those accepted at the moment when their server is closed.

    Nobody has such a connection yet, so the garbage collector closes it, with a warning that fails whichever test is
    running: https://github.com/python/cpython/issues/109564
    """
    make = BaseSelectorEventLoop._make_socket_transport  # type: ignore[attr-defined]

    def make_socket(
        loop: Any, sock: socket.socket, *args: Any, server: Any = None, **more: Any
    ) -> Any:
        if server is not None and not server.is_serving():
            sock.close()
            raise ConnectionAbortedError
        return make(loop, sock, *args, server=server, **more)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(BaseSelectorEventLoop, "_make_socket_transport", make_socket)
        yield


@pytest.fixture(scope="session")
def data() -> Path:
    """The directory of files that tests read and never write."""
    return Path(__file__).parent / "data"


@pytest.fixture(scope="session")
def chromium() -> str:
    """The path of Debian's Chromium, which `.ci/system-packages` installs. Tests that need it skip if it is missing."""
    found = chromium_browser.find_chromium()
    if found is None and os.environ.get("CI"):
        pytest.fail("Chromium is missing: run .ci/system-packages, which installs it")
    if found is None:
        pytest.skip(
            "Chromium is not installed: browser tests need it (apt-get install chromium-headless-shell)"
        )
    return found


@pytest.fixture(scope="session")
def node_modules() -> Path:
    """The folder of the JavaScript libraries that `.ci/recipes` installs. Tests that need it skip without Node.js."""
    folder = ROOT / ".venv" / "node" / "node_modules"
    if shutil.which("node") is None or not folder.is_dir():
        (pytest.fail if os.environ.get("CI") else pytest.skip)(
            "Node.js 20 or npm is missing, or was when .venv was created: install both, and run .ci/recipes"
        )
    return folder


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[postgres.Server]:
    """A PostgreSQL server for this session.

    `.ci/system-packages` installs it; tests that need it skip if it is missing.
    """
    if postgres.binaries() is None:
        (pytest.fail if os.environ.get("CI") else pytest.skip)(
            "PostgreSQL is missing: run .ci/system-packages, which installs it"
        )
    with postgres.server() as server:
        yield server


@pytest.fixture
def database(postgres_server: postgres.Server) -> Iterator[str]:
    """The URL of an empty PostgreSQL database for this test alone."""
    from answerback_postgres import connections  # few tests need it

    with postgres_server.borrow_database() as name, pytest.MonkeyPatch.context() as patch:
        # A busy machine may take longer than would be acceptable for a dedicated server.
        patched = {**connections._DEFAULTS, "connect_timeout": 30}
        patch.setattr(connections, "_DEFAULTS", patched)
        yield postgres_server.url(name)
