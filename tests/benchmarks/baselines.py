"""The least that could do the same: servers that each run as a process, and print their address first.

``bolt`` verifies, dispatches and acknowledges a click in Slack, and stores nothing. ``row`` commits one row durably for
each request, and responds with as much as the service. ``long-poll`` waits for an event, and has one that sets it.
"""

from __future__ import annotations

import asyncio
import sqlite3
import sys
from collections import Counter
from collections.abc import Awaitable, Callable
from itertools import count
from pathlib import Path
from typing import Final

import uvloop
from aiohttp import web
from slack_bolt.adapter.aiohttp import to_aiohttp_response, to_bolt_request
from slack_bolt.app.async_app import AsyncApp
from slack_bolt.authorization import AuthorizeResult

from answerback_slack.manifest import EVENTS_PATH
from tests.benchmarks.slack_clicks import SECRET
from tests.fakes.slack.workspace import TEAM


def bolt(app: web.Application, _folder: Path) -> None:
    """Bare bolt: one listener that only acknowledges, before the response."""

    async def authorize() -> AuthorizeResult:
        return AuthorizeResult(enterprise_id=None, team_id=TEAM, bot_token="xoxb-1", bot_id="B0")

    bare = AsyncApp(signing_secret=SECRET, authorize=authorize, process_before_response=True)

    @bare.action({"type": "block_actions", "action_id": "answer.true"})
    async def listener(ack: Callable[[], Awaitable[object]]) -> None:
        await ack()

    async def handle(request: web.Request) -> web.StreamResponse:
        return await to_aiohttp_response(await bare.async_dispatch(await to_bolt_request(request)))

    app.router.add_post(EVENTS_PATH, handle)


_CREATED: Final = 2_000
"""Bytes of the service's response to a submission of one question."""
_ANSWERED: Final = 1_000
"""Bytes of its response to the answer."""


def row(app: web.Application, folder: Path) -> None:
    """Commit one row with ``synchronous = FULL``, and return its id; or its body, and commit that it was read."""
    db = sqlite3.connect(folder / "rows.db", isolation_level=None)
    for statement in (
        "PRAGMA journal_mode = WAL",
        "PRAGMA synchronous = FULL",
        "CREATE TABLE rows (seq INTEGER PRIMARY KEY, is_read INTEGER NOT NULL, body BLOB NOT NULL)",
    ):
        db.execute(statement)

    async def write(request: web.Request, size: int) -> web.Response:
        body = await request.read()
        await request.json()
        seq = db.execute("INSERT INTO rows (is_read, body) VALUES (0, ?)", (body,)).lastrowid
        return web.json_response({"id": str(seq), "rest": " " * size}, status=201)

    async def create(request: web.Request) -> web.Response:
        return await write(request, _CREATED)

    async def answer(request: web.Request) -> web.Response:
        return await write(request, _ANSWERED)

    async def read(request: web.Request) -> web.Response:
        statement = "UPDATE rows SET is_read = 1 WHERE seq = ? RETURNING body"
        [(body,)] = db.execute(statement, (request.match_info["id"],)).fetchall()
        return web.Response(body=body, content_type="application/json")

    app.router.add_post("/v1/asks", create)
    app.router.add_post("/v1/asks/{id}/actions", answer)
    app.router.add_get("/v1/asks/{id}", read)


def long_poll(app: web.Application, _folder: Path) -> None:
    """Wait for an event, which a request sets."""
    waiting: dict[str, asyncio.Event] = {}
    waiters: Counter[str] = Counter()
    numbers = count()

    async def wait(request: web.Request) -> web.Response:
        name = request.match_info["id"]
        waiters[name] += 1
        try:
            await waiting.setdefault(name, asyncio.Event()).wait()
        finally:
            waiters[name] -= 1
            if not waiters[name]:
                del waiting[name]
        return web.json_response({"status": "answered"})

    async def release(request: web.Request) -> web.Response:
        await request.json()
        waiting[request.match_info["id"]].set()
        return web.json_response({})

    async def submit(request: web.Request) -> web.Response:
        await request.json()
        return web.json_response({"id": f"{next(numbers):024}"}, status=201)

    async def metrics(_: web.Request) -> web.Response:
        return web.Response(text=f"answerback_waiters {waiters.total()}")

    app.router.add_post("/v1/asks", submit)
    app.router.add_post("/v1/asks/{id}/actions", release)
    app.router.add_get("/v1/asks/{id}", wait)
    app.router.add_get("/metrics", metrics)


KINDS: Final = {"bolt": bolt, "row": row, "long-poll": long_poll}


async def main(kind: str, folder: str) -> None:
    """Serve until killed."""
    app = web.Application()
    KINDS[kind](app, Path(folder))
    runner = web.AppRunner(app, access_log=None, handler_cancellation=True)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0, backlog=1024).start()
    sys.stdout.write(f"listening on http://127.0.0.1:{runner.addresses[0][1]}\n")
    sys.stdout.flush()
    await asyncio.Event().wait()


if __name__ == "__main__":
    # As `answerback serve` does; aiohttp's own default loop takes bolt about a tenth longer.
    uvloop.run(main(*sys.argv[1:]))
