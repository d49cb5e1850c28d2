"""Every operation of the API in one table: what is served is what is described."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from pydantic import JsonValue

from answerback.api import (
    action_bodies,
    actions,
    asks,
    deliveries,
    event_stream,
    export,
    inbox_and_search,
    introspection,
    late_answers,
    wire,
)
from answerback.api.metrics import CONTENT_TYPE
from answerback.api.operation import (
    AGENT_ONLY,
    ANY_ROLE,
    SURFACE_ONLY,
    HeaderSpec,
    NoQuery,
    Operation,
    ResponseSpec,
)
from answerback.service.submission_request import Submission

_APPLIED: Final = {"Preference-Applied": "The wait that was followed, where one was asked for."}
_LOCATION: Final = {"Location": "The ask's path."}
_NEXT: Final = {"Link": "The next page, rel=next, where there is one."}
_PREFER: Final = HeaderSpec(
    "Prefer",
    "`wait=N`: hold the answer until the ask has ended or N seconds have passed (RFC 7240).",
)
_KEY: Final = HeaderSpec(
    "Idempotency-Key",
    "A key of your own: the same one with the same body gives the first ask again.",
    {"type": "string", "minLength": 1, "maxLength": asks.MAX_IDEMPOTENCY_KEY},
)
_KEY_OF_ACTION: Final = replace(
    _KEY,
    description="A key of your own: the same one with the same body acts once, and gives the ask again.",
)
_LAST_EVENT: Final = HeaderSpec(
    "Last-Event-ID",
    "The last event you have: the stream goes on behind it.",
    {"type": "string", "pattern": "^[0-9]{0,18}$"},
)

_CALL: Final[JsonValue] = {
    "name": "ask_user",
    "arguments": {
        "questions": [
            {"id": "apply", "text": "Apply the proposed migration?", "answer_type": "boolean"},
            {
                "id": "env",
                "text": "Which environment?",
                "answer_type": "select",
                "options": ["staging", "production"],
                "when": {"question_id": "apply", "equals": True},
            },
        ]
    },
}


def _ask(description: str, headers: dict[str, str] | None = None) -> ResponseSpec:
    return ResponseSpec(description, wire.AskBody, headers=headers or {})


_NOT_FOUND: Final = ResponseSpec(
    "There is none of this id, or it is another agent's.", wire.ProblemBody
)
_ENDED: Final = ResponseSpec("The ask has ended before.", wire.EndedBody)
_BAD: Final = ResponseSpec(
    "The request cannot be read; `detail` or `errors` say where.", wire.ProblemBody
)
_TOO_LARGE: Final = ResponseSpec("The body is over 256 KiB.", wire.ProblemBody)
_NOT_JSON: Final = ResponseSpec("The body is not application/json in UTF-8.", wire.ProblemBody)

OPERATIONS: Final = (
    Operation(
        "submit",
        "POST",
        "/v1/asks",
        "Submit a tool call",
        asks.submit,
        {
            200: _ask(
                "The same ask for a repeated key, or the ended ask that was waited for.",
                _LOCATION | _APPLIED,
            ),
            201: _ask("The ask was stored and is being shown.", _LOCATION),
            202: _ask("The ask is still open after the wait.", _LOCATION | _APPLIED),
            400: _BAD,
            413: _TOO_LARGE,
            415: _NOT_JSON,
            422: ResponseSpec(
                "The call is wrong; `tool_result` holds the same words for the model.",
                wire.InvalidCallBody,
            ),
        },
        roles=AGENT_ONLY,
        body=Submission,
        example=_CALL,
        links=("get", "act", "explain", "withdraw", "record", "events"),
        headers=(_KEY, _PREFER),
    ),
    Operation(
        "list",
        "GET",
        "/v1/asks",
        "Asks, newest first",
        asks.page,
        {200: ResponseSpec("A page of asks.", wire.AskPage, headers=_NEXT), 400: _BAD},
        query=asks.AsksQuery,
        description="An agent gets its own asks. Whoever bears a personal link's key gets those that they may answer "
        "or answered; a page may then have fewer than `limit`.",
    ),
    Operation(
        "get",
        "GET",
        "/v1/asks/{id}",
        "An ask as it stands",
        asks.read,
        {
            200: _ask("The ask; with a wait, it has ended.", _APPLIED),
            202: _ask("The ask is still open after the wait.", _APPLIED),
            404: _NOT_FOUND,
        },
        headers=(_PREFER,),
    ),
    Operation(
        "act",
        "POST",
        "/v1/asks/{id}/actions",
        "Act on an ask as a responder",
        actions.act,
        {
            200: _ask("The ask after the action."),
            400: _BAD,
            404: _NOT_FOUND,
            409: _ask("Somebody was faster: the ask as it stands."),
            410: _ENDED,
            413: _TOO_LARGE,
            415: _NOT_JSON,
            422: ResponseSpec("The action does not fit; nothing has changed.", wire.ProblemBody),
        },
        roles=SURFACE_ONLY,
        body=action_bodies.ActionBody,
        headers=(_KEY_OF_ACTION,),
        example={"action": "answer", "value": True},
        description="For custom front ends, whose token vouches for `actor`, and for local tools that bear the "
        "person's key (`answerback key` prints it) or a personal link's, for asks that are answered with it. "
        "Never for agents.",
    ),
    Operation(
        "explain",
        "POST",
        "/v1/asks/{id}/context",
        "Explain what a person asked back",
        asks.explain,
        {
            200: _ask(
                "The ask with the explanation below its question; also where it stood there before."
            ),
            400: _BAD,
            404: _NOT_FOUND,
            410: _ENDED,
            413: _TOO_LARGE,
            415: _NOT_JSON,
            422: ResponseSpec("It cannot be shown, and nothing has changed.", wire.ProblemBody),
        },
        roles=AGENT_ONLY,
        body=wire.ContextBody,
        example={"text": "The index is built *concurrently*: nothing is locked."},
        description='For asks that were submitted with `accepts: ["clarify"]`. It belongs to the question that was '
        "asked about, else to the open one. Whoever answers a message from before it is told to look again.",
    ),
    Operation(
        "withdraw",
        "DELETE",
        "/v1/asks/{id}",
        "Withdraw an ask",
        asks.withdraw,
        {200: _ask("The ask, withdrawn."), 404: _NOT_FOUND, 410: _ENDED},
        roles=AGENT_ONLY,
    ),
    Operation(
        "erase",
        "POST",
        "/v1/asks/{id}/erase",
        "Erase what was written in an ask",
        asks.erase,
        {
            200: _ask("The ask without what was written in it; also where it was erased before."),
            404: _NOT_FOUND,
            409: ResponseSpec("The ask is open, and nothing was erased.", wire.EndedBody),
        },
        roles=SURFACE_ONLY,
        description="What the agent and people wrote goes, in the database and in the live message: questions, "
        "answers, names, bodies of webhooks. The skeleton of the record stays: when, which kind, how it ended. For "
        "operators and custom front ends; not for agents, who could hide what they asked.",
        guests=False,
    ),
    Operation(
        "events",
        "GET",
        "/v1/asks/{id}/events",
        "Follow an ask",
        event_stream.events,
        {
            200: ResponseSpec(
                "Events `prompt`, `answer`, `clarify` and `context` (lines of the record), and `outcome` (the "
                "ask); then the stream ends.",
                wire.EventBody,
                "text/event-stream",
            ),
            204: ResponseSpec("The outcome has been told: do not come back."),
            400: _BAD,
            404: _NOT_FOUND,
        },
        headers=(_LAST_EVENT,),
    ),
    Operation(
        "answers",
        "GET",
        "/v1/answers",
        "Late answers",
        late_answers.answers,
        {
            200: ResponseSpec(
                "Asks that have ended and of which no response has told the agent, in the order of their ends.",
                wire.AnswerPage,
            ),
            400: _BAD,
        },
        query=late_answers.AnswersQuery,
        roles=AGENT_ONLY,
        description="Each once: what a waiting call, a stream, a webhook or an earlier list has told is not repeated. "
        "Start with `after=0`, keep `next` together with the answers, and pass it as `after`: then nothing is lost and "
        "nothing comes twice, whoever is killed.",
    ),
    Operation(
        "record",
        "GET",
        "/v1/asks/{id}/record",
        "What happened to an ask",
        asks.record,
        {
            200: ResponseSpec(
                "A page of the record, oldest line first.", wire.RecordPage, headers=_NEXT
            ),
            400: _BAD,
            404: _NOT_FOUND,
        },
        query=asks.RecordQuery,
    ),
    Operation(
        "inbox",
        "GET",
        "/v1/inbox",
        "What waits for one person, oldest first",
        inbox_and_search.inbox,
        {200: ResponseSpec("A page of open asks.", wire.AskPage, headers=_NEXT), 400: _BAD},
        roles=SURFACE_ONLY,
        query=inbox_and_search.InboxQuery,
        description="The open asks of all agents that this person may answer: for custom front ends, and for who "
        "bears the person's key. Never for agents.",
    ),
    Operation(
        "search",
        "GET",
        "/v1/search",
        "Search what was asked and answered, newest first",
        inbox_and_search.search,
        {200: ResponseSpec("A page of asks.", wire.AskPage, headers=_NEXT), 400: _BAD},
        query=inbox_and_search.SearchQuery,
        description="An agent finds its own asks alone. Whoever bears a personal link's key finds what they answered, "
        "and with `status=open` what waits for them.",
    ),
    Operation(
        "deliveries",
        "GET",
        "/v1/deliveries",
        "Webhook deliveries, newest first",
        deliveries.page,
        {200: ResponseSpec("A page of deliveries.", wire.DeliveryPage, headers=_NEXT), 400: _BAD},
        query=deliveries.DeliveriesQuery,
        roles=AGENT_ONLY,
    ),
    Operation(
        "redeliver",
        "POST",
        "/v1/deliveries/{id}/redeliver",
        "Send a webhook again",
        deliveries.redeliver,
        {
            202: ResponseSpec("It is being sent again.", wire.DeliveryBody),
            404: _NOT_FOUND,
            409: ResponseSpec(
                "Its ask was erased: there is nothing to send any more.", wire.ProblemBody
            ),
        },
        roles=AGENT_ONLY,
    ),
    Operation(
        "export",
        "GET",
        "/v1/export",
        "Everything as JSON lines",
        export.export,
        {
            200: ResponseSpec(
                "One JSON object a line; the last one has the type `end`.", media=export.MEDIA
            )
        },
        query=NoQuery,
        roles=ANY_ROLE,
        description="Asks with what was submitted, each followed by its record, then the webhook deliveries: an "
        "agent's own, or everybody's with the person's key or a token of the role surface. No secret is among them.",
        guests=False,
    ),
    Operation(
        "tools",
        "GET",
        "/v1/tools",
        "Tool definitions for a model",
        introspection.tools,
        {200: ResponseSpec("The definitions, one a dialect.", wire.ToolsBody), 400: _BAD},
        query=introspection.ToolsQuery,
        roles=ANY_ROLE,
    ),
    Operation(
        "healthz",
        "GET",
        "/healthz",
        "Alive",
        introspection.healthz,
        {200: ResponseSpec("The process is alive.", wire.HealthBody)},
        roles=None,
    ),
    Operation(
        "readyz",
        "GET",
        "/readyz",
        "Able to serve",
        introspection.readyz,
        {
            200: ResponseSpec("The database and every configured surface work.", wire.HealthBody),
            503: ResponseSpec("`failing` names what does not, in words.", wire.NotReadyBody),
        },
        roles=None,
    ),
    Operation(
        "metrics",
        "GET",
        "/metrics",
        "Prometheus metrics",
        introspection.metrics,
        {200: ResponseSpec("The exposition.", media=CONTENT_TYPE.partition(";")[0])},
        roles=None,
    ),
    Operation(
        "openapi",
        "GET",
        "/openapi.json",
        "This description",
        introspection.openapi_json,
        {200: ResponseSpec("The OpenAPI document.", wire.AnyBody)},
        roles=None,
    ),
    Operation(
        "docs",
        "GET",
        "/docs",
        "This description as a page",
        introspection.docs,
        {200: ResponseSpec("The page.", media="text/html")},
        roles=None,
    ),
)
