"""Receipts of ended asks, the keys that check them, and approvals that open one door once."""

from __future__ import annotations

from aiohttp import web
from pydantic import JsonValue
from typing_extensions import TypedDict

from answerback.api.operation import Call, ask_response, json_response
from answerback.core.ask import Ask
from answerback.core.errors import Problem, ProblemError
from answerback.core.secrecy import keeps_secret
from answerback.ports.receipt_key import PublicKey
from answerback.service.receipts import consume as consume_once
from answerback.service.receipts import receipt_body


class KeysBody(TypedDict):
    """The keys that check receipts, as a JSON Web Key Set; the last one is in use."""

    keys: list[dict[str, JsonValue]]


async def receipt(call: Call) -> web.Response:
    """``GET /v1/asks/{id}/receipt``."""
    ask = await call.ask()
    if ask.open:
        message = "The ask is open. Its receipt is made when it ends."
        raise _problem(409, "Not ended", "open", message)
    if call.is_from_agent and keeps_secret(ask):
        message = "Only people may read it: the answers were not confirmed."
        raise _problem(404, "No receipt", "no_receipt", message)
    stored = await call.api.store.receipts.get(ask.id)
    if stored is None:
        message = "This ask has no receipt: none was made when it ended."
        raise _problem(404, "No receipt", "no_receipt", message)
    return json_response(receipt_body(stored, ask))


async def consume(call: Call) -> web.Response:
    """``POST /v1/asks/{id}/consume``."""
    ask = await call.ask()
    change = consume_once(call.api.store, ask.id, call.service.clock.now())
    done = await call.api.run_to_completion(change)
    if isinstance(done, Ask):
        return ask_response(call, call.mark_seen_by_agent(done))
    raise ProblemError(409, "Not consumed", done[0].message, done)


async def keys(call: Call) -> web.Response:
    """``GET /.well-known/answerback-receipts.json``."""
    found = await call.api.store.receipts.public_keys()
    body: KeysBody = {"keys": [PublicKey(x).jwk() for x in found]}
    return json_response(body, headers={"Cache-Control": "public, max-age=300"})


def _problem(status: int, title: str, code: str, message: str) -> ProblemError:
    return ProblemError(status, title, message, [Problem(pointer="", code=code, message=message)])
