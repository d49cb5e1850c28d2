"""Private and undocumented parts of libraries that the project uses: each exists, and says what to do when it moves."""

import ast
import asyncio
import inspect
import re
from collections.abc import Iterator
from pathlib import Path

import aiohttp
import discord
import pytest
import typer.core
import yarl
from aiohttp import web
from aiohttp.test_utils import RawTestServer, TestClient, TestServer
from discord.gateway import DiscordWebSocket
from discord.http import Route

from tests.meta.project import PACKAGES, ROOT, SOURCE_FOLDERS, sources, tree

KNOWN = {
    ("bot/answerback_agents/cli/main.py", "typer._click"): (
        "typer bundles click there. When it moves, import Command, Context and HelpFormatter from its new place; "
        "`TyperGroup.mro()` names it."
    ),
    ("adapters/answerback_discord/connection.py", "client._connection"): (
        "discord.py's ConnectionState, whose `parsers` maps the names of events to functions. When it moves, look in "
        "discord/state.py for what `DiscordWebSocket.received_message` calls."
    ),
    ("adapters/answerback_slack/connection.py", "session._cancel_heartbeat"): (
        "aiohttp's ClientWebSocketResponse starts its pings again when the other side's closing frame arrives. If it "
        "no longer does, nothing has to be cancelled."
    ),
}

UNDOCUMENTED = {
    ("adapters/answerback_discord/connection.py", "Route.BASE = "): (
        "discord.py's address of the API, which no argument sets. When it moves, look for `discord.com/api` in "
        "discord/http.py."
    ),
    ("adapters/answerback_discord/connection.py", "DiscordWebSocket.DEFAULT_GATEWAY = "): (
        "The address of discord.py's first connection, which no argument sets. When it moves, look for "
        "`gateway.discord.gg` in discord/gateway.py."
    ),
    ("bot/answerback/runtime/sockets.py", "server.request_handler = "): (
        "aiohttp's protocol calls it with each request: one is refused before the application reads its headers. When "
        "it no longer does, look for `request_handler` in aiohttp/web_server.py."
    ),
}
"""The attributes that are set or replaced in libraries that do not document them, although their names are not
private."""

_OF_NAMED_TUPLES = {"_asdict", "_fields", "_replace"}
"""Public, in spite of their names: https://docs.python.org/3/library/collections.html#collections.somenamedtuple._asdict"""


def _is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__") and name not in _OF_NAMED_TUPLES


def _uses(path: Path) -> Iterator[str]:
    """Yield each private part that a file uses and does not define itself."""
    nodes = list(ast.walk(tree(path)))
    own = {node.attr for node in nodes if isinstance(node, ast.Attribute) and _is_self(node.value)}
    own |= {node.name for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}
    for node in nodes:
        if (
            isinstance(node, ast.ImportFrom)
            and node.module
            and not node.module.startswith(PACKAGES)
        ):
            names = [*node.module.split("."), *(alias.name for alias in node.names)]
            if any(map(_is_private, names)):
                yield node.module
        if isinstance(node, ast.Attribute) and _is_private(node.attr) and node.attr not in own:
            yield ast.unparse(node)


def _is_self(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id in {"self", "cls"}


def test_every_private_part_of_a_library_is_known() -> None:
    used = {
        (str(path.relative_to(ROOT)), use)
        for path in sources(*SOURCE_FOLDERS)
        for use in _uses(path)
    }
    assert used == set(KNOWN), (
        "use a public interface, or say here what to do when the private one moves"
    )


def test_everything_undocumented_that_is_listed_is_used() -> None:
    unused = [
        (file, use) for file, use in UNDOCUMENTED if use not in (ROOT / file).read_text("utf-8")
    ]
    assert unused == []


def test_discord_py_still_calls_the_address_of_its_routes(monkeypatch: pytest.MonkeyPatch) -> None:
    advice = UNDOCUMENTED["adapters/answerback_discord/connection.py", "Route.BASE = "]
    monkeypatch.setattr(Route, "BASE", "http://127.0.0.1:1/api")
    assert Route("GET", "/gateway").url == "http://127.0.0.1:1/api/gateway", advice


def test_discord_py_still_connects_to_its_default_gateway() -> None:
    advice = UNDOCUMENTED[
        "adapters/answerback_discord/connection.py", "DiscordWebSocket.DEFAULT_GATEWAY = "
    ]
    connect = inspect.unwrap(DiscordWebSocket.from_client)
    assert "DEFAULT_GATEWAY" in connect.__code__.co_names, advice
    assert isinstance(DiscordWebSocket.DEFAULT_GATEWAY, yarl.URL), advice


async def test_aiohttp_still_calls_what_is_replaced_in_its_server() -> None:
    async def built_with(_request: web.BaseRequest) -> web.Response:
        return web.Response(text="built with")

    async def replaced(_request: web.BaseRequest) -> web.Response:
        return web.Response(text="replaced")

    async with RawTestServer(built_with) as raw, aiohttp.ClientSession() as http:
        assert raw.runner is not None
        server = raw.runner.server
        assert isinstance(server, web.Server)
        server.request_handler = replaced
        async with http.get(raw.make_url("/")) as response:
            assert await response.text() == "replaced", UNDOCUMENTED[
                "bot/answerback/runtime/sockets.py", "server.request_handler = "
            ]


@pytest.mark.parametrize("name", ["Command", "Context", "HelpFormatter"])
def test_typer_still_bundles_click(name: str) -> None:
    advice = KNOWN["bot/answerback_agents/cli/main.py", "typer._click"]
    import typer._click as bundled

    assert hasattr(bundled, name), advice
    assert bundled.Command in typer.core.TyperGroup.mro(), advice


async def test_discord_py_still_dispatches_events_by_its_parsers() -> None:
    advice = KNOWN["adapters/answerback_discord/connection.py", "client._connection"]
    client = discord.Client(intents=discord.Intents.none())
    parsers = client._connection.parsers
    assert {"READY", "RESUMED", "MESSAGE_CREATE"} <= parsers.keys(), advice
    assert client.ws is None


async def test_aiohttp_still_pings_after_a_connection_was_closed() -> None:
    advice = KNOWN["adapters/answerback_slack/connection.py", "session._cancel_heartbeat"]

    async def serve(request: web.Request) -> web.WebSocketResponse:
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        await socket.receive()
        return socket

    app = web.Application()
    app.router.add_get("/", serve)
    async with TestClient(TestServer(app)) as client:
        session = await client.ws_connect("/", heartbeat=60.0)
        await session.close()
        await asyncio.sleep(0)
        assert session._heartbeat_cb is not None, advice
        session._cancel_heartbeat()
        assert session._heartbeat_cb is None


MOST_PATCHES = 117
"""Places in tests that replace a private name, a clock or a time: pass an argument instead. This number only falls."""
_TIMES = re.compile(
    r"(?!_?MAX_)[A-Z_]*(SECONDS|TIMEOUT|PAUSE|PATIENCE|GRACE|LEASE|RENEWAL|HANDOVER|INTERVAL|WAIT|WITHIN|HEARTBEAT|JITTER|POLL)"
    r"[A-Z_]*|Backoff|now|time|monotonic|sleep"
)


def _patches(path: Path) -> Iterator[int]:
    """Yield the line of each place that replaces such a name, by `setattr`, `patch.object` or an assignment."""
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Assign | ast.Call) and any(
            _is_private(name) or _TIMES.fullmatch(name) for name in _replaced(node)
        ):
            yield node.lineno


def _replaced(node: ast.Assign | ast.Call) -> Iterator[str]:
    """Yield the names that a statement may replace in a module, a class or an object."""
    if isinstance(node, ast.Assign):
        attributes = (each.attr for each in node.targets if isinstance(each, ast.Attribute))
        yield from filter(str.isupper, attributes)
    elif isinstance(node.func, ast.Attribute) and node.func.attr in {"setattr", "object"}:
        for each in node.args[:2]:
            if isinstance(each, ast.Constant) and isinstance(each.value, str):
                yield each.value.rpartition(".")[2]


def test_few_tests_replace_private_names_and_times() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{line}" for path in sources("tests") for line in _patches(path)
    ]
    assert len(found) <= MOST_PATCHES, found


def test_times_that_tests_replace_are_found_however_they_do_it(tmp_path: Path) -> None:
    file = tmp_path / "patches.py"
    patches = [
        'patch.setattr(module, "CALL_SECONDS", 1)',
        'patch.setattr(service.clock, "now", clock)',
        'patch.setattr("package.module.Backoff", Held)',
        "module._GRACE = 1",
        "module.GRACE = 1",
        'patch.setattr(module, "MAX_NAMES", 1)',
        "self.now = 1",
    ]
    file.write_text("\n".join(patches))
    assert sorted(_patches(file)) == [1, 2, 3, 4, 5]
