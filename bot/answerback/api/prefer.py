"""``Prefer: wait=N`` (RFC 7240): how long a caller wants the response to be held."""

from __future__ import annotations

import re
from typing import Final

from aiohttp import web

MAX_WAIT: Final = 300
"""Seconds; to wait longer, the caller calls again."""

# preference = token [ "=" word ] *( ";" [ parameter ] ), https://www.rfc-editor.org/rfc/rfc7240#section-2
_TOKEN: Final = r"[!#$%&'*+.^_`|~0-9A-Za-z-]+"
_QUOTED: Final = r'"(?:[^"\\]|\\.)*"'
_WAIT: Final = re.compile(
    rf"\s*({_TOKEN})\s*(?:=\s*({_TOKEN}|{_QUOTED}))?\s*((?:;(?:[^,\"]|{_QUOTED})*)?)(?:,|$)"
)


def preferred_wait(request: web.Request) -> int | None:
    """The seconds to hold the response for, capped at `MAX_WAIT`; None if the caller did not ask to wait.

    The first ``wait`` counts; preferences that are not understood are ignored, as the RFC requires.
    """
    for line in request.headers.getall("Prefer", []):
        position = 0
        while match := _WAIT.match(line, position):
            name, value = match[1].lower(), (match[2] or "").strip('"')
            if name == "wait" and re.fullmatch(r"[0-9]+", value):
                return min(int(value[:10]), MAX_WAIT) if len(value) <= 10 else MAX_WAIT
            position = match.end()
            if position >= len(line):
                break
    return None


def preference_applied_header(wait: int) -> dict[str, str]:
    """The header that confirms the preference and the longest time the response is held."""
    return {"Preference-Applied": f"wait={wait}"}
