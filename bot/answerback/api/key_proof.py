"""A proof that this program is the service, for tools that would send it the person's key or an agent's token."""

from __future__ import annotations

from typing import Annotated

from aiohttp import web
from pydantic import Field

from answerback.api.operation import Call, json_response
from answerback.api.wire import Wire
from answerback.core.errors import ProblemError
from answerback_base.key_proof import key_proof
from answerback_base.token_proof import token_id, token_proof


class ProofQuery(Wire):
    """The challenge."""

    nonce: Annotated[
        str,
        Field(
            pattern="^[0-9a-f]{32,64}$",
            description="Random, and never used again: 16 to 32 bytes in hexadecimal.",
        ),
    ]
    token: Annotated[
        str | None,
        Field(
            pattern="^[0-9a-f]{16}$",
            description="Which token is to be proved, by its id; without it, the person's key.",
        ),
    ] = None


async def proof(call: Call) -> web.Response:
    """``GET /v1/proof``: of the key, for the address that the connection was made to; or of an agent's token."""
    query = call.query(ProofQuery)
    nonce = query.nonce
    if query.token is not None:
        hashes = await call.api.tokens.token_hashes()
        known = next((each for each in hashes if token_id(each) == query.token), None)
        if known is None:
            raise ProblemError(404, "Token unknown", "No agent has the token with this id.")
        return json_response({"proof": token_proof(known, nonce)})
    holders = await call.api.tokens.holders()
    if not holders:
        detail = (
            "The file with the person's key is missing; `answerback serve` creates it at its start."
        )
        raise ProblemError(404, "No key", detail)
    host, port = call.request.get_extra_info("sockname", ("::", 0))[:2]
    return json_response({"proof": key_proof(holders[0].link_secret, nonce, host, port)})
