"""The client in an interpreter of its own, where only it and its dependencies need to be installed.

`.ci/versions lowest` runs this with the lowest versions of the dependencies that the client allows, in the interpreter
that ``ANSWERBACK_CLIENT_PYTHON`` names.
"""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

import pytest

from tests.acceptance.process import QUIET, serving
from tests.meta.project import ROOT
from tests.unit.bot.outbox_support import SECRET

pytestmark = pytest.mark.acceptance

PYTHON = os.environ.get("ANSWERBACK_CLIENT_PYTHON", sys.executable)
_PROGRAM = """
import asyncio, datetime, json, sys

import answerback_client as client
from standardwebhooks import Webhook

url, key, secret = sys.argv[1:]
GO = {"question": "Deploy?", "answer_type": "boolean"}


async def ask():
    async with client.AsyncClient(url) as agent, client.AsyncClient(url, key) as person:
        asking = asyncio.create_task(agent.ask("ask_user", GO, to="web", key="call-1"))
        first = await agent.submit("ask_user", GO, to="web", key="call-1")
        await person.act(first.id, {"action": "answer", "value": True}, revision=first.revision)
        answered = await asking
        print(answered.id == first.id, answered.status, answered.tool_result.structured)
        try:
            await person.act(first.id, {"action": "back"})
        except client.EndedError:
            print("ended")
        try:
            await agent.submit("ask_user", {"question": ""})
        except client.InvalidCallError:
            print("invalid")
        return answered


answered = asyncio.run(ask())
with client.Client(url) as agent:
    print(agent.withdraw(agent.submit("ask_user", GO, to="web").id).status)
body = json.dumps({"type": "ask.answered", "timestamp": "", "data": answered.json})
now = datetime.datetime.now(datetime.timezone.utc)
headers = {
    "webhook-id": "msg_1",
    "webhook-timestamp": str(int(now.timestamp())),
    "webhook-signature": Webhook(secret).sign("msg_1", now, body),
}
print(client.verify_webhook(body, headers, secret).ask.status)
try:
    client.verify_webhook(body + " ", headers, secret)
except client.WebhookError:
    print("forged")
"""


async def test_the_client_needs_nothing_but_its_own_dependencies(tmp_path: Path) -> None:
    async with serving(tmp_path, QUIET) as (_, url):
        (key,) = tmp_path.glob("*.key")
        client = await asyncio.create_subprocess_exec(
            *(PYTHON, "-c", _PROGRAM, url, key.read_text("utf-8").strip(), SECRET),
            env={**os.environ, "PYTHONPATH": str(ROOT / "bot")},
            stdout=asyncio.subprocess.PIPE,
        )
        out, _ = await client.communicate()
    assert out.decode().splitlines() == [
        "True answered {'answer_type': 'boolean', 'answer': True}",
        *("ended", "invalid", "withdrawn", "answered", "forged"),
    ]
