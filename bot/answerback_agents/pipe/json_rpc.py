"""JSON-RPC messages, one on a line."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from answerback_base.strict_json import dump_as_written, load_with_numbers

Json = dict[str, Any]


def parse_message(line: bytes) -> Json:
    """Parse a line as a message; empty if the line is not a message."""
    try:
        return as_object(load_with_numbers(line))
    except (ValueError, RecursionError):
        return {}


def params(message: Json) -> Json:
    """The parameters of a message; empty if they are not an object."""
    return as_object(message.get("params"))


def as_object(value: object) -> Json:
    """A value if it is an object, or else an empty one."""
    return value if isinstance(value, dict) else {}


def objects(value: object) -> list[Json]:
    """The objects of a list; none if it is something else."""
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def without_nulls(fields: Mapping[str, Any]) -> Json:
    """The fields that are set."""
    return {key: value for key, value in fields.items() if value is not None}


def id_key(request_id: object) -> str:
    """A request id in comparable form: 1, "1" and true are three different ids, 1 and 1.0 the same."""
    if isinstance(request_id, float) and request_id.is_integer():
        request_id = int(request_id)
    return json.dumps(request_id)


def encode_response(request_id: object, result: Json) -> bytes:
    """Encode the result of a request as a line."""
    return encode_message({"id": request_id, "result": result})


def encode_notification(method: str, **notification_params: Any) -> bytes:
    """Encode a notification as a line."""
    return encode_message({"method": method, "params": notification_params})


def encode_message(message: Json) -> bytes:
    """Encode a message as a line."""
    return dump_as_written({"jsonrpc": "2.0", **message}).encode() + b"\n"
