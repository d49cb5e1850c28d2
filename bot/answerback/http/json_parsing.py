"""Parse JSON bodies from untrusted sources; see `answerback.core.strict_json`."""

from __future__ import annotations

from typing import Final

from pydantic import JsonValue

from answerback.core import strict_json
from answerback.core.errors import ProblemError

MAX_BODY: Final = 256 * 1024
"""Maximum size of an agent's call, in bytes."""


def parse_json(body: bytes) -> JsonValue:
    """Parse JSON as defined by RFC 8259, within our bounds.

    Raises:
        ProblemError: 400, with the position of the error.
    """
    try:
        return strict_json.parse(body.decode())
    except UnicodeDecodeError as error:
        raise _malformed(f"byte {error.start} is not UTF-8") from error
    except strict_json.NotJsonError as error:
        raise _malformed(str(error)) from error


def _malformed(why: str) -> ProblemError:
    return ProblemError(400, "Malformed JSON", f"The body is not valid JSON: {why}.")
