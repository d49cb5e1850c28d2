"""A connection that is cut while a click is being stored: the click counts, and all waiters learn of it."""

from __future__ import annotations

import asyncio
import json
import sqlite3
import time
from pathlib import Path

import pytest
from aiohttp import web

from answerback.core.ask import Ask, Status
from answerback.core.intents import Intent
from answerback.http.unverified_connections import UnverifiedConnections
from answerback.ports.claims import Fence
from answerback.ports.surface import Acted, Actor, Rejected
from answerback.runtime.sockets import bind_socket, serve_app, socket_url
from answerback_chat.control_codec import Control, Verb
from answerback_discord.http_endpoint import PATH
from tests.service_support import WAIT
from tests.unit.adapters.discord.rig import Rig, rig

ONE = [{"id": "go", "text": "Go on?", "answer_type": "boolean"}]


def signed(up: Rig, ask: Ask) -> bytes:
    """Yes, clicked by Ann, as a whole HTTP request."""
    control = Control(ask.id, ask.revision, Verb.ANSWER, "true").encode()
    body = {
        "id": "77",
        "type": 3,
        "token": "t",
        "application_id": str(up.discord.application.id),
        "guild_id": str(up.guild.id),
        "member": {"user": {"id": str(up.ann.id), "username": "ann"}, "roles": []},
        "message": {"id": (ask.placement.message or {})["id"], "flags": 1 << 15},
        "data": {"custom_id": control, "component_type": 2, "id": 1},
    }
    raw, stamp = json.dumps(body).encode(), str(int(time.time()))
    signature = up.discord.application.signing_key.sign(stamp.encode() + raw).signature.hex()
    head = (
        f"POST {PATH} HTTP/1.1\r\nHost: x\r\nContent-Length: {len(raw)}\r\n"
        f"X-Signature-Ed25519: {signature}\r\nX-Signature-Timestamp: {stamp}\r\n\r\n"
    )
    return head.encode() + raw


async def test_all_waiters_learn_of_a_click_whose_connection_is_cut_during_the_commit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with rig(tmp_path, "http", gateway=False) as up, asyncio.timeout(WAIT):
        came, cut, acting = asyncio.Event(), asyncio.Event(), up.service.apply

        async def apply(intent: Intent, actor: Actor, *, fence: Fence | None) -> Acted | Rejected:
            came.set()
            try:
                return await acting(intent, actor, fence=fence)
            except asyncio.CancelledError:
                cut.set()
                raise

        monkeypatch.setattr(up.service, "apply", apply)
        app = web.Application()
        app.add_routes(up.surface.routes)
        bound = await bind_socket("127.0.0.1", 0, "public")
        runner = await serve_app(app, [bound], UnverifiedConnections(10))
        ask = await up.shown(await up.submit(ONE))
        waiting = asyncio.create_task(up.service.wait(ask.id, 60))
        other = sqlite3.connect(tmp_path / "answerback.db", isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        port = int(socket_url(bound).rpartition(":")[2])
        _, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(signed(up, ask))
        await came.wait()
        writer.close()
        await cut.wait()
        other.execute("ROLLBACK")
        other.close()
        result = await waiting
        assert result is not None
        assert result.status is Status.ANSWERED
        await up.message_sync.wait_until_idle()
        stored = await up.store.asks.get(ask.id)
        assert stored is not None
        assert stored.placement.shown_revision == stored.revision
        await runner.cleanup()
