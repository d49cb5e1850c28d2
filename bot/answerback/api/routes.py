"""The table of the API's operations, from which both the routes and their description are generated."""

from __future__ import annotations

import re
from typing import Final

from pydantic import JsonValue

from answerback.api import (
    action_bodies,
    actions,
    asks,
    deliveries,
    event_stream,
    files,
    late_answers,
    wire,
)
from answerback.api.operation import NEXT, Call
from answerback.api.people_routes import PEOPLE_OPERATIONS
from answerback.api.service_routes import SERVICE_OPERATIONS
from answerback.core.errors import ConfigError
from answerback.core.files import DOWNLOAD
from answerback.ports.installed_extensions import installed_extensions
from answerback.ports.operation import (
    AGENT_ONLY,
    SURFACE_ONLY,
    HeaderSpec,
    Operation,
    ResponseSpec,
    delete,
    get,
    post,
)
from answerback.service.ask_wire import AskBody, ErasedBody
from answerback.service.file_wire import UploadedFileBody
from answerback.service.record_wire import DeliveryBody
from answerback.service.submission_request import Submission

_APPLIED: Final = {"Preference-Applied": "The wait that was applied, if one was requested."}
_LOCATION: Final = {"Location": "The ask's path."}
_PREFER: Final = HeaderSpec(
    "Prefer",
    "`wait=N`: hold the response until the ask has ended or N seconds have passed (RFC 7240). "
    "`acknowledge`: an outcome in the response counts only once it is acknowledged.",
)
_LAST_EVENT: Final = HeaderSpec(
    "Last-Event-ID",
    "The id of the last event you received: the stream continues after it.",
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
    return ResponseSpec(description, AskBody, headers=headers or {})


_ENDED: Final = ResponseSpec("The ask has already ended.", wire.EndedBody)

OPERATIONS: Final = (
    post(
        "submit",
        "/v1/asks",
        "Submit a tool call",
        asks.submit,
        {
            200: _ask(
                "The earlier ask, for a repeated key; or, after a wait, the ended ask.",
                _LOCATION | _APPLIED,
            ),
            201: _ask("The ask was stored and will be shown.", _LOCATION),
            202: _ask("The ask is still open after the wait.", _LOCATION | _APPLIED),
            422: ResponseSpec(
                "The tool call is invalid; `tool_result` explains the errors to the model.",
                wire.InvalidCallBody,
            ),
            429: ResponseSpec(
                "The agent has reached one of its limits; `Retry-After` says when to try again.",
                wire.InvalidCallBody,
            ),
        },
        roles=AGENT_ONLY,
        body=Submission,
        example=_CALL,
        links=("get", "act", "explain", "withdraw", "record", "events"),
        headers=(asks.KEY, _PREFER),
    ),
    post(
        "upload",
        "/v1/files",
        "Upload a file",
        files.upload,
        {
            201: ResponseSpec(
                "The file, for an ask to name within an hour.",
                UploadedFileBody,
                headers={"Location": "The file's path."},
            ),
            408: ResponseSpec("The file did not arrive in time."),
            413: ResponseSpec("The file has more than 10 MiB."),
            415: ResponseSpec("The file came with a `Content-Encoding`."),
            422: ResponseSpec("The file is empty, has no name, or has too many pixels."),
            429: ResponseSpec(
                "The agent or the person has uploaded too many files that nothing has named; `Retry-After` says when "
                "to try again."
            ),
        },
        query=files.UploadQuery,
        body_media=DOWNLOAD,
        links=("download",),
        description="The body is the file itself. Its bytes decide what it is: PNG, JPEG, GIF and WebP of at most 50 "
        "megapixels are shown as pictures, anything else can only be saved. An agent names its id in `files` of a "
        "submission, a person in `files` of an action.",
    ),
    get(
        "download",
        "/v1/files/{id}",
        "Get a file",
        files.fetch,
        {200: ResponseSpec("The file's bytes.", media=DOWNLOAD)},
        description="For the agent that uploaded it, and for people who may see its ask.",
    ),
    get(
        "list",
        "/v1/asks",
        "List asks, newest first",
        asks.page,
        {200: ResponseSpec("A page of asks.", wire.AskPage, headers=NEXT)},
        query=asks.AsksQuery,
        description="An agent gets its own asks. With a personal link's key, you get those that its person may answer "
        "or answered; a page may then have fewer than `limit` asks.",
    ),
    get(
        "get",
        "/v1/asks/{id}",
        "Get an ask",
        asks.read,
        {
            200: _ask("The ask; after a wait, it has ended.", _APPLIED),
            202: _ask("The ask is still open after the wait.", _APPLIED),
        },
        headers=(_PREFER,),
    ),
    post(
        "act",
        "/v1/asks/{id}/actions",
        "Act on an ask as a responder",
        actions.act,
        {
            200: _ask("The ask after the action."),
            409: _ask("The ask has changed since: its current state."),
            410: _ENDED,
            422: ResponseSpec("The action is invalid; nothing has changed."),
        },
        roles=SURFACE_ONLY,
        body=action_bodies.ActionBody,
        headers=(asks.KEY_OF_ACTION,),
        example={"action": "answer", "value": True},
        description="For custom front ends, whose token vouches for `actor`, and for local tools that send the "
        "person's key (`answerback key` prints it) or a personal link's, for asks on its surface. "
        "Never for agents.",
    ),
    post(
        "explain",
        "/v1/asks/{id}/context",
        "Explain what a person asked back",
        asks.explain,
        {
            200: _ask(
                "The ask with the explanation below its question; also if it was already there."
            ),
            410: _ENDED,
            422: ResponseSpec("The explanation cannot be shown; nothing has changed."),
        },
        roles=AGENT_ONLY,
        body=wire.ContextBody,
        example={"text": "The index is built *concurrently*: nothing is locked."},
        description='For asks that were submitted with `accepts: ["clarify"]`. The explanation belongs to the question '
        "that was asked about, or else to the open one. Answers to a message from before it are refused as outdated.",
    ),
    delete(
        "withdraw",
        "/v1/asks/{id}",
        "Withdraw an ask",
        asks.withdraw,
        {200: _ask("The ask, withdrawn."), 410: _ENDED},
        roles=AGENT_ONLY,
    ),
    post(
        "carried",
        "/v1/asks/{id}/carried",
        "Report that a host is about to be told no",
        asks.carried,
        {
            200: _ask("The ask has ended: tell the host no. Also if it ended so before."),
            409: _ask("A person was faster: the ask as they ended it, which the host gets."),
            422: ResponseSpec("It is not an approval, or the body is invalid."),
        },
        roles=AGENT_ONLY,
        body=wire.CarriedBody,
        example={"decision": "denied", "reason": "no_answer"},
        description="For programs that carry a host's permission prompts. Report first and tell the host after: then "
        "nobody is offered a decision that the host can no longer take.",
    ),
    post(
        "retry",
        "/v1/asks/{id}/retry",
        "Tell the agent to try again",
        actions.retry,
        {
            200: _ask("The ask as it ended. The agent is told with its late answers."),
            422: ResponseSpec("It did not end unanswered, or a person has told the agent already."),
        },
        roles=SURFACE_ONLY,
        body=action_bodies.RetryBody,
        example={"text": "Use the staging branch this time."},
        description="For an approval whose host stopped waiting, once, within a day. It approves nothing: the agent "
        "has to ask again.",
    ),
    post(
        "erase",
        "/v1/asks/{id}/erase",
        "Erase the content of an ask",
        asks.erase,
        {
            200: ResponseSpec(
                "The ask without its content; also if it was erased before.", ErasedBody
            ),
            409: ResponseSpec("The ask is open, and nothing was erased.", wire.EndedBody),
        },
        roles=SURFACE_ONLY,
        description="Removes what the agent and people wrote from the database and the live message: questions, "
        "answers, names, webhook bodies. The skeleton of the record stays: times, kinds, and how the ask ended. For "
        "operators and custom front ends; not for agents, which could hide what they asked.",
        guests=False,
    ),
    get(
        "events",
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
            204: ResponseSpec("The outcome was sent already: do not reconnect."),
        },
        headers=(_LAST_EVENT,),
    ),
    get(
        "answers",
        "/v1/answers",
        "List late answers",
        late_answers.answers,
        {
            200: ResponseSpec(
                "What no response has reported to the agent: ended asks, and what people have told it to try again.",
                wire.AnswerPage,
            ),
        },
        query=late_answers.AnswersQuery,
        roles=AGENT_ONLY,
        description="Each outcome is returned once: what a waiting call, a stream, a webhook or an earlier list has "
        "reported is left out. To lose nothing and get nothing twice even if a process is killed, start with "
        "`after=0`, store `next` together with the answers, and pass it as `after`.",
    ),
    post(
        "acknowledge",
        "/v1/acknowledgements",
        "Acknowledge outcomes",
        late_answers.acknowledge,
        {
            200: ResponseSpec(
                "What is not reported again. Open asks and those of other agents are left out.",
                late_answers.AcknowledgementBody,
            ),
            422: ResponseSpec("The body is invalid; nothing has changed."),
        },
        body=late_answers.AcknowledgementBody,
        roles=AGENT_ONLY,
        description="For requests with `Prefer: acknowledge`: what their responses report counts only once it is "
        "acknowledged here. `Answerback-Outcomes` in such a response has the ids, separated by commas.",
    ),
    post(
        "undelivered",
        "/v1/asks/{id}/undelivered",
        "Return an outcome that the agent did not get",
        late_answers.undelivered,
        {200: _ask("The ask. Its outcome is a late answer again.")},
        roles=AGENT_ONLY,
        description="For programs that pass outcomes on to an agent: the agent's call was cancelled, or the agent has "
        "gone, before it got what the response to the program reported.",
    ),
    get(
        "record",
        "/v1/asks/{id}/record",
        "Get the record of an ask",
        asks.record,
        {
            200: ResponseSpec(
                "A page of the record, oldest line first.", wire.RecordPage, headers=NEXT
            ),
        },
        query=asks.RecordQuery,
    ),
    post(
        "consume",
        "/v1/asks/{id}/consume",
        "Consume an approval, once",
        asks.consume,
        {
            200: ResponseSpec("The approval, which nobody had consumed before.", AskBody),
            409: ResponseSpec(
                "It was consumed before (`consumed`), or nobody has allowed it (`not_approved`). A call that a person "
                "has changed is consumed only by its digest (`edited`), and any other without one (`not_edited`)."
            ),
            422: ResponseSpec("The body is invalid; nothing has changed."),
        },
        roles=AGENT_ONLY,
        body=asks.ConsumeBody,
        is_body_optional=True,
        example={"edited": "sha256:" + 64 * "0"},
        description="For programs that make sure that one approval opens one door: of any number of calls, at any "
        "replicas, one gets 200.",
    ),
    get(
        "deliveries",
        "/v1/deliveries",
        "List webhook deliveries, newest first",
        deliveries.page,
        {200: ResponseSpec("A page of deliveries.", wire.DeliveryPage, headers=NEXT)},
        query=deliveries.DeliveriesQuery,
        roles=AGENT_ONLY,
    ),
    post(
        "redeliver",
        "/v1/deliveries/{id}/redeliver",
        "Send a webhook again",
        deliveries.redeliver,
        {
            202: ResponseSpec("The delivery will be sent again.", DeliveryBody),
            409: ResponseSpec("Its ask was erased, so there is nothing left to send."),
        },
        roles=AGENT_ONLY,
    ),
    *PEOPLE_OPERATIONS,
    *SERVICE_OPERATIONS,
)


def all_operations() -> list[Operation[Call]]:
    """Return the service's operations and those of all installed extensions, in the order of their description.

    Raises:
        ConfigError: an extension has an operation that there is already.
    """
    found: list[Operation[Call]] = [*OPERATIONS]
    for name, extension in installed_extensions().usable.items():
        for new in extension.operations():
            taken = (each for each in found if each.id == new.id or _route(each) == _route(new))
            if (other := next(taken, None)) is not None:
                raise ConfigError(
                    f"The extension {name!r} has the operation {new.id} ({new.method} {new.path}), but there is "
                    f"{other.id} ({other.method} {other.path}) already; uninstall it."
                )
            ids = [each.id for each in found]
            found.insert(ids.index(new.after) + 1 if new.after in ids else len(found), new)
    return found


def _route(operation: Operation[Call]) -> tuple[str, str]:
    return operation.method, re.sub(r"{[^}]*}", "{}", operation.path)
