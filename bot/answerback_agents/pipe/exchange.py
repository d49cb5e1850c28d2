"""A run of a hook: passes a host's event to the service, waits, and returns the host's answer. It decides nothing.

The service says what a host is told. Only where it cannot, because it is down or something else answers at its address,
does the hook itself answer: no, in the host's shape.
"""

from __future__ import annotations

import json
import secrets
import time
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple
from urllib.parse import quote, urlencode

from answerback_agents.pipe.answer_shapes import is_answer
from answerback_agents.pipe.host_answers import answers_of, denial
from answerback_agents.pipe.json_rpc import as_object, objects, parse_message, without_nulls
from answerback_base.strict_json import dump_as_written
from answerback_client.blocking_connection import (
    ANSWER_PATIENCE,
    LOOKUP_PATIENCE,
    SUBMIT_PATIENCE,
    BlockingConnection,
    Response,
    why_unasked,
)
from answerback_client.errors import Json, RefusedError, UnreachableError
from answerback_client.retries import CALL_TIMEOUT, LONG_POLL

if TYPE_CHECKING:
    from answerback_client.folder_pictures import FolderPictures

_MAX_DETAIL: Final = 2_000
"""Characters of a field of an event that decides nothing: a tool's whole output is not needed to fetch late answers."""
_MAX_STATE: Final = 2_000
"""Characters of the text about the open ask."""


class Answer(NamedTuple):
    """A hook's answer: the text that it prints for its host, and the text for the person who reads its log."""

    output: Json | None = None
    warning: str | None = None
    text: str | None = None
    """The output as the service wrote it, if it did: it may echo a number that printing would change."""

    def printed(self) -> str | None:
        """Return what to print; None: nothing."""
        if self.output is None:
            return None
        return json.dumps(self.output) if self.text is None else self.text


def decides(agent: str, event: Json) -> bool:
    """Return True if a host continues only with the answer to an event."""
    return denial(agent, event, "") is not None


def answer_event(
    agent: str,
    event: Json,
    service: BlockingConnection,
    to: str | None = None,
    wait: float = 86_000.0,
    patience: float = SUBMIT_PATIENCE,
    raw: bytes | None = None,
    urgency: str | None = None,
    uploads: bool = True,
) -> Answer:
    """Answer an event, whatever happens.

    Args:
        raw: the event's bytes, which are passed on as they are; None: any.
        to: where to ask; by default the token's route, or else the default route.
        wait: seconds to wait for an answer: must be less than the host waits for its hook.
        patience: seconds for which calls are retried until the service has accepted the ask.
        urgency: by default as the route says.
        uploads: whether pictures that a question names are uploaded.
    """
    asked = event
    try:
        if decides(agent, event):
            shown = _shown_pictures(agent, event, service, patience) if uploads else None
            if shown is not None:
                asked, raw = {**event, shown.field: shown.pictures.referring()}, None
            body = _with_found(
                agent, event, dump_as_written(asked).encode() if raw is None else raw
            )
            files = None if shown is None else ",".join(shown.ids)
            settings = {"to": to, "urgency": urgency, "files": files}
            answered = _ask(agent, body, service, settings, wait, patience)
            if shown is not None:
                answered = _of_text(answered, shown.pictures.restored(answered.text))
        else:
            short = json.dumps(_shorten(event)).encode()
            answered = _exchange(agent, short, service, {"to": to}, None, LOOKUP_PATIENCE)
        if is_answer(agent, event, answered.body):
            if answered.files:
                answered = _with_saved_files(answered, service, is_waited_for=decides(agent, event))
            return Answer(answered.body or None, text=answered.text)
        failure: Exception = service.foreign(HTTPStatus.OK)
    except UnreachableError as error:
        # A late answer is not lost if the service is down: the next event fetches it.
        return Answer(denial(agent, event, str(error)))
    except Exception as error:  # noqa: BLE001 - hosts continue after a hook that fails, so none may fail
        failure = error
    said = failure.explanation if isinstance(failure, RefusedError) else str(failure)
    reason = said or type(failure).__name__
    denied = denial(agent, event, reason)
    return Answer(denied, reason if denied is None else None)


class _Shown(NamedTuple):
    """The uploaded pictures that a question shows, and the field of the event that has the question."""

    field: str
    pictures: FolderPictures
    ids: tuple[str, ...]


def _shown_pictures(
    agent: str, event: Json, service: BlockingConnection, patience: float
) -> _Shown | None:
    """Upload the pictures of the session's folder that a question shows; None if it shows none."""
    answers = answers_of(agent)
    field = None if answers is None else answers.question(event)
    if field is None or "![" not in str(event[field]):
        return None
    from answerback_client.folder_pictures import find_pictures, upload_pictures_blocking

    def store(name: str, data: bytes) -> Json:
        return service.upload(name, data, patience)

    found, uploaded = find_pictures(event[field], Path(event["cwd"])), dict[str, str]()
    kept = upload_pictures_blocking(found, store, uploaded)
    return _Shown(field, kept, tuple(uploaded.values())) if uploaded else None


def _of_text(response: Response, text: str) -> Response:
    return response._replace(body=json.loads(text), text=text)


def _with_saved_files(
    response: Response, service: BlockingConnection, *, is_waited_for: bool
) -> Response:
    """Save the files that people sent, and name their paths in the answer, which arrives whatever becomes of them."""
    from answerback_agents.pipe.saved_files import MAX_FILE, TIMEOUT, save_files, with_paths

    def fetch(file_id: str, timeout: float) -> bytes:
        return service.read(f"/v1/files/{quote(file_id, safe='')}", MAX_FILE, timeout)

    sent = as_object(parse_message(response.files.encode()))
    # A host gives a hook that only fetches late answers ten seconds in all.
    timeout = TIMEOUT if is_waited_for else TIMEOUT / 2
    listed, conversation = objects(sent.get("files")), str(sent.get("conversation"))
    files = save_files(listed, conversation, fetch, timeout)
    return _of_text(response, with_paths(response.text, files, is_json=True))


def _with_found(agent: str, event: Json, raw: bytes) -> bytes:
    """Add to an event what people need and the host did not send."""
    answers = answers_of(agent)
    found = None if answers is None else answers.found(event)
    if found is None:
        return raw
    added = json.dumps(found).encode()
    return raw.rstrip().removesuffix(b"}") + b"," + added[1:]


def _ask(
    agent: str,
    event: bytes,
    service: BlockingConnection,
    settings: dict[str, str | None],
    wait: float,
    patience: float,
) -> Response:
    """Pass an event on that people may have to decide, and wait in long polls, even while the service restarts."""
    until, key, state = time.monotonic() + wait, secrets.token_hex(16), ""
    while True:
        poll = min(max(until - time.monotonic(), 0.0), LONG_POLL)  # 0: the time is up
        query = {**settings, "wait": f"{wait:g}", "poll": f"{poll:g}"}
        try:
            response = _exchange(
                agent, event, service, query, key, patience, waits_out_others=bool(state)
            )
        except UnreachableError as error:
            why = f"{error} {state}" if state else why_unasked(error)
            raise UnreachableError(why) from error
        if response.status != HTTPStatus.ACCEPTED:
            return response
        state = str(response.body.get("message"))[:_MAX_STATE]
        patience = min(max(until - time.monotonic(), 0.0), ANSWER_PATIENCE)


def _exchange(
    agent: str,
    event: bytes,
    service: BlockingConnection,
    query: dict[str, str | None],
    key: str | None,
    patience: float,
    *,
    waits_out_others: bool = False,
) -> Response:
    """Pass an event on; the response is the host's answer, or 202 while the ask is open."""
    path = f"/hooks/{agent}?{urlencode(without_nulls(query))}"
    timeout = LOOKUP_PATIENCE if key is None else CALL_TIMEOUT
    return service.call(
        "POST",
        path,
        event,
        key,
        patience=patience,
        timeout=timeout,
        hook=agent,
        waits_out_others=waits_out_others,
    )


def _shorten(event: Json) -> Json:
    """Return the event without its long fields."""
    return {
        name: None if len(json.dumps(value)) > _MAX_DETAIL else value
        for name, value in event.items()
    }
