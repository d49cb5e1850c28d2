"""The API operations about the service as a whole, not about an ask: a part of the table in `answerback.api.routes`."""

from __future__ import annotations

from typing import Final

from answerback.api import descriptions, export, health, key_proof, wire
from answerback.api.metrics import CONTENT_TYPE
from answerback.ports.operation import ResponseSpec, get

_BAD: Final = ResponseSpec("The query is malformed; `errors` says where.")

SERVICE_OPERATIONS: Final = (
    get(
        "export",
        "/v1/export",
        "Export everything as JSON lines",
        export.export,
        {
            200: ResponseSpec(
                "One JSON object per line; the last one has the type `end`.", media=export.MEDIA
            ),
            400: _BAD,
        },
        query=export.ExportQuery,
        description="Asks with their tool calls, each followed by its record, then the webhook deliveries: an agent's "
        "own, or everyone's with the person's key or a token with the role surface. It contains no secrets. With "
        "`since`, the asks that have changed since then, whole, each with its record, and no deliveries; the last line "
        "has the cursor `next` for the next export.",
        guests=False,
    ),
    get(
        "tools",
        "/v1/tools",
        "Get the tool definitions for a model",
        descriptions.tools,
        {200: ResponseSpec("The definitions, one per dialect.", wire.ToolsBody), 400: _BAD},
        query=descriptions.ToolsQuery,
    ),
    get(
        "proof",
        "/v1/proof",
        "Prove that this is the service",
        key_proof.proof,
        {
            200: ResponseSpec("The proof.", wire.ProofBody),
            400: _BAD,
            404: ResponseSpec("The service has no key, or no such token."),
        },
        query=key_proof.ProofQuery,
        roles=None,
        description="For local tools, before they send the person's key: `proof` is the HMAC-SHA256 under the key, in "
        "hexadecimal, of `answerback:proof:NONCE:HOST:PORT`, with the IP address and the port that the connection was "
        "made to. Another program on this port does not know the key, and a proof that it forwards names another "
        "address. With `token`, the proof is for an agent's token: that of `answerback:token-proof:NONCE` under the "
        "token's hash.",
    ),
    get(
        "healthz",
        "/healthz",
        "Liveness",
        health.healthz,
        {200: ResponseSpec("The process is alive.", wire.HealthBody)},
        roles=None,
    ),
    get(
        "readyz",
        "/readyz",
        "Readiness",
        health.readyz,
        {
            200: ResponseSpec("The database and every configured surface work.", wire.ReadyBody),
            503: ResponseSpec("`failing` names each part that fails and why.", wire.NotReadyBody),
        },
        roles=None,
    ),
    get(
        "metrics",
        "/metrics",
        "Prometheus metrics",
        health.metrics,
        {200: ResponseSpec("The exposition.", media=CONTENT_TYPE.partition(";")[0])},
        roles=None,
    ),
    get(
        "openapi",
        "/openapi.json",
        "This API description as JSON",
        descriptions.openapi_json,
        {200: ResponseSpec("The OpenAPI document.", wire.AnyBody)},
        roles=None,
    ),
    get(
        "docs",
        "/docs",
        "This API description as a page",
        descriptions.docs,
        {200: ResponseSpec("The page.", media="text/html")},
        roles=None,
    ),
)
