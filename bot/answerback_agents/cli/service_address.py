"""The service's address for commands, from their options or from the configuration."""

from __future__ import annotations

from http import HTTPStatus
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from answerback_agents.cli.output import fail

_SECONDS_TO_ANSWER: Final = 2.0


def resolve_url(url: str | None, config: Path | None = None) -> str:
    """The service's address, without a trailing slash. Ends the command if it is invalid."""
    if url is not None:
        if not _is_address(url):
            fail(f"{url} is not a valid Answerback address. Use http://host:port.")
        return url.rstrip("/")
    from answerback_agents.cli.local_service import configured_url

    return configured_url(config)


def answers(url: str) -> bool:
    """Return whether a service answers at this address within two seconds. It is sent no token and no key."""
    import http.client
    import urllib.request

    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(f"{url}/healthz", timeout=_SECONDS_TO_ANSWER) as response:
            return bool(response.status == HTTPStatus.OK)
    except (OSError, ValueError, http.client.HTTPException):
        return False


def _is_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # an invalid port
        return False
