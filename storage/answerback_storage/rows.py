"""Conversion between models and rows. Runs no statement.

An ask is stored in three parts: what the agent sent (`Request`, written once), the columns that are searched or
describe what is shown, and everything else as one JSON text, the state.
"""

from __future__ import annotations

import logging
import math
import sqlite3
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from threading import Lock
from typing import Any, Final, TypeVar

from pydantic import JsonValue, TypeAdapter, ValidationError
from pydantic_core import from_json, to_json

from answerback.core.ask import (
    PARTS,
    AbandonedMessage,
    Ask,
    Placement,
    RecordEntry,
    Request,
    Thread,
)
from answerback.core.erasure import erase_request
from answerback.core.errors import IdempotencyKeyReusedError, StoreError, UnreadableRowError
from answerback.core.walker import GivenAnswer, Walk
from answerback.ports.claims import Claim
from answerback.ports.store_values import Delivery, DeliveryState, StoredDelivery
from answerback_storage import stored_ask

logger = logging.getLogger(__name__)

ASK_COLUMNS: Final = "seq, id, revision, shown_revision, message, thread, state"
"""Times are read from the state, where they are exact: SQLite's own JSON rounds numbers to 15 digits."""
DELIVERY_COLUMNS: Final = (
    "id, ask_id, type, url, agent, body, created_at,"
    " state, tries, next_at, last_status, last_error, updated_at"
)
CLOCK_CHANGE_WINDOW: Final = 5.0
"""Seconds within which a clock set back is noticed: an ask created within them already uses the new time."""
R = TypeVar("R")
T = TypeVar("T")
Row = tuple[Any, ...]
"""A row as sqlite3 returns it. The schema determines the type of each column."""

FILE_GONE: Final = "A file that came with the answer is not there any more. Nothing was stored."
_NO_FIELDS: Final[set[str]] = set()
_CACHE_BYTES: Final = 10_000_000
"""Memory limit for cached parsed requests, in bytes as estimated by `estimate_parsed_bytes`."""
_SMALL_REQUEST: Final = 16_000
"""Characters of JSON below which a request is parsed in well under a millisecond."""
ROUTE_CHARACTERS: Final = 128
"""As much of a route's name as its column has. It is empty if an ask took none."""
_ASK_ID_PREFIX: Final = "ask_"
_ASK_ID_CHARACTERS: Final = 64
"""More than an ask's id has."""
_MAX_LOGGED: Final = 10_000
"""The most rows that are logged as unreadable."""
_JSON: Final[TypeAdapter[JsonValue]] = TypeAdapter(JsonValue)
_ASK: Final = TypeAdapter(Ask)
_STATE: Final = TypeAdapter(stored_ask.StoredState)
_WALK: Final = TypeAdapter(Walk)
_GIVEN_ANSWER: Final = TypeAdapter(GivenAnswer)
_ANSWERS: Final = {"answers", "kept", "editing"}
"""The fields of a walk that hold answers, and grow with every click."""
_ENTRY: Final = TypeAdapter(RecordEntry)
_REQUEST: Final = TypeAdapter(Request)
_THREAD: Final = TypeAdapter(Thread)


def dump(value: JsonValue) -> str:
    try:
        return to_json(value, inf_nan_mode="constants").decode()
    except ValueError as error:
        raise invalid_text_error(error) from error


def load(text: bytes) -> JsonValue:
    return _JSON.validate_python(from_json(text))


def read_value(value: bytes, table: str) -> tuple[JsonValue] | None:
    """Read a stored value. An unreadable one counts as missing, so people are asked or enter it again."""
    try:
        return (load(value),)
    except ValueError:
        extra = {"action": "unreadable", "table": table}
        logger.error("A stored row cannot be read and is ignored", extra=extra)  # noqa: TRY400 the trace quotes the row
        return None


def read_values(kind: TypeAdapter[T], table: str, found: Iterable[tuple[bytes]]) -> list[T]:
    """Read stored values, without those that cannot be read."""
    values = [read_value(value, table) for (value,) in found]
    return [kind.validate_python(value[0]) for value in values if value is not None]


def draft_ask_id(key: str, default: str) -> str | None:
    """Return the ask that a draft is about: keys consist of ids, after a word for the kind of draft.

    None: it is not clear, because more than one part of the key looks like an ask's id.

    Args:
        default: the ask that it is about if its key names none.
    """
    parts = (part for part in key.split(":") if part.startswith(_ASK_ID_PREFIX))
    ask_ids = {part for part in parts if len(part) <= _ASK_ID_CHARACTERS}
    return None if len(ask_ids) > 1 else next(iter(ask_ids), default)


def dump_request(request: Request) -> str:
    return _dump(_REQUEST, request)


def _dump(kind: TypeAdapter[T], value: T, exclude: set[str] | None = None) -> str:
    try:
        # Not with `dump_json`: its Python wrapper alone takes as long as this call.
        text = kind.serializer.to_json(value, exclude=exclude, exclude_defaults=exclude is not None)
        return text.decode()
    except ValueError as error:
        raise invalid_text_error(error) from error


def unreadable_ask_error(ask_id: str, error: Exception | None = None) -> UnreadableRowError:
    """Build the error for an ask whose rows this version cannot read. If ``error`` is None, a row is missing."""
    reason = "its request is missing" if error is None else str(error)
    advice = "Run the version that wrote it, or restore the database from a backup"
    if isinstance(error, sqlite3.Error):  # the message may quote the row's contents
        reason = "the disk failed to read it, the file is damaged there, or it holds text that is not UTF-8"
        advice = (
            "Check the disk and the system's log first; if they report no error, restore a backup"
        )
    if isinstance(error, ValidationError):  # the message contains answers
        errors = error.errors(include_url=False, include_context=False, include_input=False)
        reason = "; ".join(f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in errors)
    return UnreadableRowError(
        f"This version cannot read the stored ask {ask_id} ({reason}). {advice}. Other asks are not affected."
    )


class UnreadableRows:
    """Skips rows that cannot be read, and logs each once."""

    def __init__(self) -> None:
        self._logged: set[tuple[str, int | str]] = set()

    def skip(
        self,
        table: str,
        found: Iterable[tuple[int | str, R]],
        read: Callable[[R], T],
        id_of: Callable[[Any], str] = str,
    ) -> Iterator[T]:
        """Yield what ``read`` returns for rows of a table, given with their numbers or ids.

        Args:
            id_of: returns the id of a row by what it is given with.
        """
        for key, row in found:
            try:
                yield read(row)
            except (UnreadableRowError, ValueError, sqlite3.Error) as error:
                if isinstance(error, sqlite3.Error) and not concerns_one_row(error):
                    raise
                if (table, key) in self._logged or len(self._logged) >= _MAX_LOGGED:
                    continue
                self._logged.add((table, key))
                why = error if isinstance(error, UnreadableRowError) else type(error).__name__
                extra = {"action": "unreadable", "table": table, "id": id_of(key)}
                logger.error("A stored row cannot be read and is skipped: %s", why, extra=extra)  # noqa: TRY400 the trace quotes it


def concerns_one_row(error: Exception) -> bool:
    """Return whether the error affects only this row: bytes that are not text, or a damaged page."""
    if isinstance(error, sqlite3.OperationalError) and "Could not decode" in str(error):
        return True
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    return isinstance(error, UnreadableRowError) or code == sqlite3.SQLITE_CORRUPT


def invalid_text_error(error: ValueError) -> StoreError:
    """Build the error for text that is not valid Unicode."""
    return StoreError(
        f"This cannot be stored because it contains something that is not text, such as half a surrogate pair:"
        f" {error}"
    )


def check_digest(stored: str, digest: str) -> None:
    """Raise IdempotencyKeyReusedError if a delivery's id was stored with another digest."""
    if stored != digest:
        raise IdempotencyKeyReusedError(
            "This delivery's id was already stored with different content."
        )


def current_place(place: Placement | AbandonedMessage) -> tuple[str, str | None, str | None]:
    """Return the surface, channel and thread where an ask is, or will be once it is shown; or where it was before."""
    thread, to = place.thread, place.destination
    if thread is not None and thread.channel is not None:
        return to.surface, thread.channel, thread.id
    return to.surface, to.channel, to.thread


def lookup_columns(ask: Ask) -> Row:
    """Return the columns that only some changes touch: status, place, deadline, message, thread, and where it was."""
    status, due, place = ask.status.value, ask.next_due(), ask.placement
    shown = _dump_message(place.message), _dump_thread(place.thread)
    return status, *current_place(place), due, *shown, *_left_columns(place.old_message)


def changed_columns(old: Ask, new: Ask) -> dict[str, Any]:
    """Return those columns by name, and when the ask changed, that differ between ``old`` and the ask after it."""
    found: dict[str, Any] = {}
    if new.updated_at != old.updated_at:
        found["updated_at"] = new.updated_at
    if new.outcome is not old.outcome:
        found["status"] = new.status.value
    if (due := new.next_due()) != old.next_due():
        found["due"] = due
    if (here := new.placement) is not (there := old.placement):
        if (place := current_place(here)) != current_place(there):
            found |= zip(("surface", "channel", "thread_id"), place, strict=True)
        if here.message is not there.message:
            found["message"] = _dump_message(here.message)
        if here.thread is not there.thread:
            found["thread"] = _dump_thread(here.thread)
        if here.old_message is not there.old_message:
            found |= zip(
                ("left_channel", "left_until"), _left_columns(here.old_message), strict=True
            )
    return found


def _dump_message(message: dict[str, JsonValue] | None) -> str | None:
    return None if message is None else dump(message)


def _dump_thread(thread: Thread | None) -> str | None:
    return None if thread is None else _dump(_THREAD, thread)


def _left_columns(left: AbandonedMessage | None) -> Row:
    """Return where an ask was before, and until when it looked open there, for `left_channel_key`."""
    if left is None:
        return None, None
    surface, channel, _ = current_place(left)
    return left_channel_key(surface, channel), math.inf if left.until is None else left.until


def left_channel_key(surface: str, channel: str | None) -> str:
    """Return the value of the column that says in which channel an ask was before."""
    return dump([surface, channel])


def was_in(ask: Ask, thread: str | None) -> bool:
    """Return whether an ask that has moved was in a thread before; with None, anywhere in the channel."""
    left = ask.placement.old_message
    return left is not None and thread in {None, current_place(left)[2]}


def step_columns(ask: Ask) -> Row:
    """Return the columns that every change touches."""
    return ask.revision, ask.updated_at, ask.placement.shown_revision, dump_state(ask)


def is_step(old: Ask, new: Ask) -> bool:
    """Return whether ``new``, derived from ``old``, certainly has the same `lookup_columns`, without building them.

    Writing them with every change takes 10 % more CPU time (``every_column`` in `tests.benchmarks.optimisations`).
    """
    here, there = new.placement, old.placement
    return (
        new.outcome is old.outcome
        and here.destination is there.destination
        and here.message is there.message
        and here.thread is there.thread
        and here.old_message is there.old_message
        and new.schedule is old.schedule
        and new.attendance.wait_seconds == old.attendance.wait_seconds
    )


def claim_row(claim: Claim | None) -> Row:
    """Return a claim as values: the holder, the current time and the claim's end, by the monotonic clock."""
    now = time.monotonic()
    return (None, now, None) if claim is None else (claim.holder, now, now + claim.seconds)


def _dump_answer(answer: GivenAnswer) -> str:
    return _dump(_GIVEN_ANSWER, answer, _NO_FIELDS)


def dump_state(ask: Ask) -> str:
    """Serialize everything that is in no column. Omitting defaults halves the space that a long form's answers take."""
    walk, placement = ask.walk, ask.placement
    state = object.__new__(stored_ask.StoredState)
    # One object, so that a click costs one encoding however many parts an ask has.
    state.__dict__ = {
        **ask.__dict__,
        **placement.__dict__,
        **ask.schedule.__dict__,
        **ask.attendance.__dict__,
        **ask.collection.__dict__,
    }
    if placement.place_before is not None:
        state.place_before = stored_ask.flatten_before(placement.place_before)
    answers = {"answers": walk.answers or None, "kept": walk.kept or None, "editing": walk.editing}
    lists = "".join(
        f',"{name}":[{",".join(map(_dump_answer, answers_of_field))}]'
        for name, answers_of_field in answers.items()
        if answers_of_field is not None
    )
    rest_json = _dump(_STATE, state, _NO_FIELDS)
    walk_json = _dump(_WALK, walk, _ANSWERS)
    return f'{rest_json[:-1]},"walk":{walk_json[:-1]}{lists}}}}}'


def ask_from_row(row: Row, request: Request) -> Ask:
    """Build the ask of a row of `ASK_COLUMNS`."""
    _, ask_id, revision, shown_revision, message, thread, rest = row
    fields: dict[str, Any] = {}
    parts: dict[str, dict[str, Any]] = {part: {} for part in PARTS}
    try:
        stored = from_json(rest)
        stored |= {
            "id": ask_id,
            "revision": revision,
            "shown_revision": shown_revision,
            "message": None if message is None else from_json(message),
            "thread": None if thread is None else from_json(thread),
            "request": request,
        }
        # Few of all fields are stored, because defaults are not.
        for name, value in stored.items():
            if name in stored_ask.PART_FIELDS:
                part, field = stored_ask.PART_FIELDS[name]
                parts[part][field] = value
            elif name in stored_ask.RENAMED_FIELDS:
                fields[stored_ask.RENAMED_FIELDS[name]] = value
            else:
                fields[name] = value
        if "place_before" in parts["placement"]:
            stored_ask.nest_before(parts["placement"]["place_before"])
        ask = _ASK.validate_python(fields | parts)
    except ValueError as error:
        raise unreadable_ask_error(ask_id, error) from error
    # This process or another may have read the request before it was erased.
    return ask if ask.erased_at is None else replace(ask, request=erase_request(request))


def memory_keys(request: Request) -> list[tuple[str, str, str, str, str]]:
    """Return the keys under which answers to this request's questions may be remembered."""
    if request.conversation is None or request.turn is None:
        return []
    scope = (request.agent or "", request.conversation, request.turn, request.form.tool or "")
    return [(*scope, request.form.digest_of(question)) for question in request.form.questions]


def erasure_entry(at: float) -> RecordEntry:
    """Build the record entry that notes when an ask was erased."""
    return RecordEntry(at=at, kind="note", body={"erased": True})


def dump_entry(entry: RecordEntry) -> str:
    return _dump(_ENTRY, entry)


def entry_rows(ask_id: str | None, entries: Iterable[RecordEntry]) -> list[Row]:
    """Return entries of the record as rows: the ask's id, the time, the kind and the entry itself."""
    return [(ask_id, entry.at, entry.kind, _dump(_ENTRY, entry)) for entry in entries]


def entry_from_json(ask_id: str, seq: int, at: float, text: bytes) -> RecordEntry:
    """Parse an entry of the record. One that cannot be read becomes a note saying that."""
    try:
        return _ENTRY.validate_json(text)
    except ValidationError:
        extra = {"action": "unreadable", "ask_id": ask_id, "line": seq}
        logger.error("A line of the record cannot be read", extra=extra)  # noqa: TRY400 it would quote the line
        return RecordEntry(
            at=at, kind="note", body={"unreadable": "This line of the record cannot be read."}
        )


def erased_delivery_columns(at: float) -> Row:
    """Return the columns of a delivery whose ask was erased: body, URL, state, next attempt, last error, time.

    It is never sent.
    """
    return "", "", DeliveryState.DEAD.value, None, None, at


def delivery_row(stored: StoredDelivery) -> Row:
    """Return the columns of `DELIVERY_COLUMNS`."""
    delivery = stored.delivery
    return (
        *(delivery.id, delivery.ask_id, delivery.type, delivery.url),
        *(delivery.agent, delivery.body, delivery.created_at),
        *(stored.state.value, stored.tries, stored.next_at),
        *(stored.last_status, stored.last_error, stored.updated_at),
    )


def new_delivery(delivery: Delivery) -> StoredDelivery:
    """Build a delivery that has not been attempted yet."""
    at = delivery.created_at
    return StoredDelivery(delivery, DeliveryState.PENDING, 0, at, None, None, at)


def delivery_from_row(row: Row) -> StoredDelivery:
    """Build the delivery of a row of `DELIVERY_COLUMNS`."""
    state, *rest = row[7:]
    return StoredDelivery(Delivery(*row[:7]), DeliveryState(state), *rest)


def estimate_parsed_bytes(text: str) -> int:
    """Estimate, from its JSON, the most memory in bytes that a parsed request takes.

    Characters take up to 4 bytes each, an object (a model with its fields) 800, an array 64, and each value in one 40.
    """
    characters = len(text) if text.isascii() else 4 * len(text)
    return characters + 800 * text.count("{") + 64 * text.count("[") + 40 * text.count(",")


class RequestCache:
    """An LRU cache of parsed requests, so that a click does not parse a form of 200 kB again.

    An action on an ask that is in no other cache takes 180 µs of CPU time less with three questions, and 400 with 100.

    Thread-safe. A request never changes until its ask is erased, and `ask_from_row` checks that for each ask.
    """

    def __init__(self, limit: int = _CACHE_BYTES) -> None:
        self._limit = limit
        self._bytes_cached = 0
        self._requests: OrderedDict[str, tuple[Request, int]] = OrderedDict()
        self._lock = Lock()

    def peek(self, ask_id: str) -> Request | None:
        with self._lock:
            if (cached := self._requests.get(ask_id)) is None:
                return None
            self._requests.move_to_end(ask_id)
            return cached[0]

    def drop(self, ask_id: str) -> None:
        """Remove the request of an ask from the cache."""
        with self._lock:
            if (cached := self._requests.pop(ask_id, None)) is not None:
                self._bytes_cached -= cached[1]

    def get(self, ask_id: str, read: Callable[[], str], *, changes: bool = True) -> Request:
        """Return the request of an ask, calling ``read`` for its JSON if it is not cached.

        Args:
            changes: whether the ask is read to change it. A small request is only cached then: somebody is answering
                it. Thousands of agents read theirs once, and wait.
        """
        if (cached := self.peek(ask_id)) is not None:
            return cached
        text = read()
        if not changes and len(text) < _SMALL_REQUEST:
            return Request.model_validate_json(text)
        request, cost = Request.model_validate_json(text), estimate_parsed_bytes(text)
        with self._lock:
            if ask_id not in self._requests:
                self._requests[ask_id] = (request, cost)
                self._bytes_cached += cost
            while self._bytes_cached > self._limit:
                self._bytes_cached -= self._requests.popitem(last=False)[1][1]
        return request
