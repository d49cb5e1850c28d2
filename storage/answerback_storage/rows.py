"""Models as rows and rows as models; what a page's cursor looks like. Runs no statement.

An ask is stored in three parts: what the agent sent (`Request`, written once), the columns that
are searched or say what is shown, and everything else as one JSON text, the state.
"""

from __future__ import annotations

import base64
import binascii
import logging
import sqlite3
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import replace
from threading import Lock
from typing import Any, Final, TypeVar

from pydantic import JsonValue, TypeAdapter, ValidationError
from pydantic_core import from_json, to_json

from answerback.core.ask import Ask, RecordEntry, Request, Thread
from answerback.core.erasure import erase_request
from answerback.core.errors import IdempotencyKeyReusedError, StoreError, UnreadableRowError
from answerback.core.walker import GivenAnswer, Walk
from answerback.ports.claims import Claim
from answerback.ports.store_values import Delivery, DeliveryState, StoredDelivery

logger = logging.getLogger(__name__)

ASK_COLUMNS: Final = "seq, id, revision, shown_revision, message, thread, state"
"""Times are read from the state, which is exact: SQLite's own JSON rounds numbers to 15 digits."""
DELIVERY_COLUMNS: Final = (
    "id, ask_id, type, url, agent, body, created_at,"
    " state, tries, next_at, last_status, last_error, updated_at"
)
CLOCK_CHANGE_WINDOW: Final = 5.0
"""Seconds within which it is noticed that the clock was set back: an ask created in them knows the new time."""
T = TypeVar("T")
Row = tuple[Any, ...]
"""What sqlite3 gives: a column's type is the schema's business."""

_COLUMNS: Final = {"id", "revision", "shown_revision", "message", "thread", "request"}
_IN_PARTS: Final = _COLUMNS | {"walk"}
_NOTHING: Final[set[str]] = set()
_CACHE_BYTES: Final = 10_000_000
"""Memory of the parsed requests that are kept, at the most, as `estimate_parsed_bytes` has it."""
_JSON: Final[TypeAdapter[JsonValue]] = TypeAdapter(JsonValue)
_ASK: Final = TypeAdapter(Ask)
_WALK: Final = TypeAdapter(Walk)
_GIVEN: Final = TypeAdapter(GivenAnswer)
_ANSWERS: Final = {"answers", "kept", "editing"}
"""The fields of a walk that hold answers, more of them with every click."""
_ENTRY: Final = TypeAdapter(RecordEntry)
_REQUEST: Final = TypeAdapter(Request)
_THREAD: Final = TypeAdapter(Thread)


def dump(value: JsonValue) -> str:
    """A value as JSON text."""
    try:
        return to_json(value, inf_nan_mode="constants").decode()
    except ValueError as error:
        raise invalid_text_error(error) from error


def load(text: bytes) -> JsonValue:
    """The value of a JSON text."""
    return _JSON.validate_python(from_json(text))


def read_value(value: bytes, table: str) -> tuple[JsonValue] | None:
    """A stored value; one that cannot be read counts as not there: people are asked, or enter it again."""
    try:
        return (load(value),)
    except ValueError:
        extra = {"action": "unreadable", "table": table}
        logger.error("A row cannot be read and is ignored", extra=extra)  # noqa: TRY400 the trace quotes the row
        return None


def dump_request(request: Request) -> str:
    """What the agent sent as JSON text."""
    return _dump(_REQUEST, request)


def dump_thread(thread: Thread) -> str:
    """A thread as JSON text."""
    return _dump(_THREAD, thread)


def _dump(kind: TypeAdapter[T], value: T, exclude: set[str] | None = None) -> str:
    try:
        # Not by `dump_json`, which in Python alone takes as long as this.
        text = kind.serializer.to_json(value, exclude=exclude, exclude_defaults=exclude is not None)
        return text.decode()
    except ValueError as error:
        raise invalid_text_error(error) from error


def unreadable_ask_error(ask_id: str, error: Exception | None = None) -> UnreadableRowError:
    """The error for an ask whose rows are not as this version writes them; None: one is missing."""
    reason = "its request is missing" if error is None else str(error)
    if isinstance(error, sqlite3.Error):  # which may quote what the row holds
        reason = "the file is damaged there, or it holds text that is not UTF-8"
    if isinstance(error, ValidationError):  # whose text has answers in it
        found = error.errors(include_url=False, include_context=False, include_input=False)
        reason = "; ".join(f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in found)
    return UnreadableRowError(
        f"The ask {ask_id} is stored in a way that this version cannot read ({reason}). Start the"
        " version that wrote it, or restore the database from a copy; every other ask goes on."
    )


def concerns_one_row(error: Exception) -> bool:
    """Whether other rows can be read although this one failed: bytes that are not text, or a damaged page."""
    if isinstance(error, sqlite3.OperationalError) and "Could not decode" in str(error):
        return True
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    return isinstance(error, UnreadableRowError) or code == sqlite3.SQLITE_CORRUPT


def invalid_text_error(error: ValueError) -> StoreError:
    """The error for text that is none."""
    return StoreError(
        f"This cannot be stored, it holds something that is no text, such as half a surrogate pair:"
        f" {error}"
    )


def check_digest(stored: str, digest: str) -> None:
    """IdempotencyKeyReusedError where a delivery's id was stored with another digest."""
    if stored != digest:
        raise IdempotencyKeyReusedError("This delivery's id was stored with something else.")


def current_place(ask: Ask) -> tuple[str, str | None, str | None]:
    """Surface, channel and thread where the ask is, or is to be as long as it is not shown."""
    thread, to = ask.thread, ask.destination
    if thread is not None and thread.channel is not None:
        return to.surface, thread.channel, thread.id
    return to.surface, to.channel, to.thread


def lookup_columns(ask: Ask) -> Row:
    """What only some changes touch, as columns: status, place, deadline, message, thread."""
    return (
        *(ask.status.value, *current_place(ask), ask.next_due()),
        None if ask.message is None else dump(ask.message),
        None if ask.thread is None else dump_thread(ask.thread),
    )


def is_step(old: Ask, new: Ask) -> bool:
    """Whether ``new``, made of ``old``, has surely the same `lookup_columns`: told by identity, without making them.

    Writing them with every change takes 10 % more of the processor (`tests.benchmarks.clever`, ``every_column``).
    """
    return (
        new.outcome is old.outcome
        and new.destination is old.destination
        and new.message is old.message
        and new.thread is old.thread
        and new.inquiring == old.inquiring
        and new.reminded == old.reminded
        and new.escalated == old.escalated
        and new.expires_at == old.expires_at
        and new.set_back == old.set_back
        and new.attended_for == old.attended_for
    )


def claim_row(claim: Claim | None) -> Row:
    """A claim as values: the holder, the time now and when the claim is over, by the monotonic clock."""
    now = time.monotonic()
    return (None, now, None) if claim is None else (claim.holder, now, now + claim.seconds)


def dump_state(ask: Ask) -> str:
    """Everything that is in no column. Defaults are left out: a long form's answers take up half the space."""
    walk = ask.walk
    answers = {"answers": walk.answers or None, "kept": walk.kept or None, "editing": walk.editing}
    lists = "".join(
        f',"{name}":[{",".join(map(_given, found))}]'
        for name, found in answers.items()
        if found is not None
    )
    rest, walked = _dump(_ASK, ask, _IN_PARTS), _dump(_WALK, walk, _ANSWERS)
    return f'{rest[:-1]},"walk":{walked[:-1]}{lists}}}}}'


def _given(given: GivenAnswer) -> str:
    """An answer as JSON, made once: with 50 answers a state takes 6 µs, and 32 where each is made anew."""
    try:
        return given.json
    except AttributeError:
        text = _dump(_GIVEN, given, _NOTHING)
        object.__setattr__(given, "json", text)
        return text


def ask_from_row(row: Row, request: Request) -> Ask:
    """The ask of a row of `ASK_COLUMNS`."""
    _, ask_id, revision, shown_revision, message, thread, rest = row
    try:
        ask = _ASK.validate_python(
            from_json(rest)
            | {
                "id": ask_id,
                "revision": revision,
                "shown_revision": shown_revision,
                "message": None if message is None else from_json(message),
                "thread": None if thread is None else from_json(thread),
                "request": request,
            }
        )
    except ValueError as error:
        raise unreadable_ask_error(ask_id, error) from error
    # The request may have been read before it was erased, by this process or another.
    return ask if ask.erased_at is None else replace(ask, request=erase_request(request))


def memory_keys(request: Request) -> list[tuple[str, str, str, str, str]]:
    """The keys of the answers that may be remembered of this request's questions."""
    if request.conversation is None or request.turn is None:
        return []
    whose = (request.agent or "", request.conversation, request.turn, request.form.tool or "")
    return [(*whose, question.id) for question in request.form.questions]


def erasure_entry(at: float) -> RecordEntry:
    """The record's line that says when the rest was erased."""
    return RecordEntry(at=at, kind="note", body={"erased": True})


def dump_entry(entry: RecordEntry) -> str:
    """A line of the record as JSON text."""
    return _dump(_ENTRY, entry)


def entry_rows(ask_id: str | None, entries: Iterable[RecordEntry]) -> list[Row]:
    """Lines of the record as rows: the ask's id, the time, the kind and the line itself."""
    return [(ask_id, entry.at, entry.kind, dump_entry(entry)) for entry in entries]


def entry_from_json(ask_id: str, seq: int, at: float, text: bytes) -> RecordEntry:
    """The record's line of a JSON text; a line that cannot be read is a note that says so."""
    try:
        return _ENTRY.validate_json(text)
    except ValidationError:
        extra = {"action": "unreadable", "ask_id": ask_id, "line": seq}
        logger.error("A line of the record cannot be read", extra=extra)  # noqa: TRY400 it would quote the line
        return RecordEntry(
            at=at, kind="note", body={"unreadable": "This line of the record cannot be read."}
        )


def erased_delivery_columns(at: float) -> Row:
    """The body, address, state, tries' outcome and times of a delivery whose ask was erased: it is sent no more."""
    return "", "", DeliveryState.DEAD.value, None, None, at


def delivery_row(stored: StoredDelivery) -> Row:
    """The columns of `DELIVERY_COLUMNS`."""
    told = stored.delivery
    return (
        *(told.id, told.ask_id, told.type, told.url, told.agent, told.body, told.created_at),
        *(stored.state.value, stored.tries, stored.next_at),
        *(stored.last_status, stored.last_error, stored.updated_at),
    )


def new_delivery(delivery: Delivery) -> StoredDelivery:
    """A delivery that nobody tried yet."""
    at = delivery.created_at
    return StoredDelivery(delivery, DeliveryState.PENDING, 0, at, None, None, at)


def delivery_from_row(row: Row) -> StoredDelivery:
    """The delivery of a row of `DELIVERY_COLUMNS`."""
    dump_state, *rest = row[7:]
    return StoredDelivery(Delivery(*row[:7]), DeliveryState(dump_state), *rest)


def estimate_parsed_bytes(text: str) -> int:
    """Bytes of memory that a request takes once it is parsed, at the most, told by its JSON.

    Characters take up to 4 bytes each, an object (a model with its fields) 600, an array 64, each value in one 40.
    """
    characters = len(text) if text.isascii() else 4 * len(text)
    return characters + 600 * text.count("{") + 64 * text.count("[") + 40 * text.count(",")


class RequestCache:
    """The requests read last, parsed: a click does not parse a form of 200 kB again.

    Safe on several threads. A request never changes until it is erased, which `ask_from_row` knows of each ask.
    """

    def __init__(self, limit: int = _CACHE_BYTES) -> None:
        self._limit = limit
        self._held = 0
        self._requests: OrderedDict[int | str, tuple[Request, int]] = OrderedDict()
        self._lock = Lock()
        self.told: set[tuple[str, int]] = set()
        """The rows that were logged as unreadable, by table and number."""

    def peek(self, key: int | str) -> Request | None:
        """The request of an ask by its row or id, whichever this store uses, if it is here."""
        with self._lock:
            if (found := self._requests.get(key)) is None:
                return None
            self._requests.move_to_end(key)
            return found[0]

    def drop(self, key: int | str) -> None:
        """Keeps the request of an ask no longer."""
        with self._lock:
            if (found := self._requests.pop(key, None)) is not None:
                self._held -= found[1]

    def get(self, key: int | str, read: Callable[[], str]) -> Request:
        """The request of an ask; ``read`` gives its JSON when it is not here."""
        if (held := self.peek(key)) is not None:
            return held
        text = read()
        request, cost = Request.model_validate_json(text), estimate_parsed_bytes(text)
        with self._lock:
            if key not in self._requests:
                self._requests[key] = (request, cost)
                self._held += cost
            while self._held > self._limit:
                self._held -= self._requests.popitem(last=False)[1][1]
        return request


def cursor(kind: str, seq: int) -> str:
    """The opaque cursor behind row ``seq`` of a list of this kind."""
    return base64.urlsafe_b64encode(f"{kind}:{seq}".encode()).decode().rstrip("=")


def parse_ascending_cursor(kind: str, text: str | None) -> int:
    """The row a cursor of a list that begins with the oldest stands for; without one, before every row."""
    return 0 if text is None else parse_descending_cursor(kind, text)


def parse_descending_cursor(kind: str, text: str | None) -> int:
    """The row a cursor stands for; without one, behind every row.

    Raises:
        ValueError: no page of this kind gave this cursor.
    """
    if text is None:
        return 2**63 - 1
    try:
        found, _, digits = (
            base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)).decode().partition(":")
        )
        seq = int(digits)
    except (ValueError, binascii.Error):
        seq, found = 0, ""
    if found != kind or not 0 < seq < 2**63 or cursor(kind, seq) != text:
        raise ValueError(f"There is no page behind {text!r}: pass the cursor that a page gave.")
    return seq
