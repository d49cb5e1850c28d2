"""Private parts of libraries that the project uses: each is known, exists, and says what to do when it moves."""

import ast
import asyncio
from collections.abc import Iterator
from pathlib import Path

import discord
import pytest
import typer.core
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer

from tests.meta.project import PACKAGES, ROOT, SOURCE_FOLDERS, sources, tree

KNOWN = {
    ("bot/answerback/cli/main.py", "typer._click"): (
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

_OF_NAMED_TUPLES = {"_asdict", "_replace"}
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


@pytest.mark.parametrize("name", ["Command", "Context", "HelpFormatter"])
def test_typer_still_bundles_click(name: str) -> None:
    advice = KNOWN["bot/answerback/cli/main.py", "typer._click"]
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


MOST_PATCHES = 65
"""Places in tests that replace a private name: pass an argument instead. This number only falls."""


def test_few_tests_replace_private_names() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in sources("tests")
        for node in ast.walk(tree(path))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in {"setattr", "object"}
        and any(
            _is_private(argument.value.rpartition(".")[2])
            for argument in node.args[:2]
            if isinstance(argument, ast.Constant) and isinstance(argument.value, str)
        )
    ]
    assert len(found) <= MOST_PATCHES, found
