"""A proof that this program is the service, for tools that would send it the person's key."""

from __future__ import annotations

from typing import Annotated

from aiohttp import web
from pydantic import Field

from answerback.api.operation import Call, json_response
from answerback.api.wire import Wire
from answerback.core.errors import ProblemError
from answerback.ports.person_key import key_proof


class ProofQuery(Wire):
    """The challenge."""

    nonce: Annotated[
        str,
        Field(
            pattern="^[0-9a-f]{32,64}$",
            description="Random, and never used again: 16 to 32 bytes in hexadecimal.",
        ),
    ]


async def proof(call: Call) -> web.Response:
    """``GET /v1/proof``: the address that is proved is the one that the connection was made to."""
    nonce = call.query(ProofQuery).nonce
    holders = await call.api.tokens.holders()
    if not holders:
        detail = (
            "The file with the person's key is missing; `answerback serve` creates it at its start."
        )
        raise ProblemError(404, "No key", detail)
    host, port = call.request.get_extra_info("sockname", ("::", 0))[:2]
    return json_response({"proof": key_proof(holders[0].link_secret, nonce, host, port)})
