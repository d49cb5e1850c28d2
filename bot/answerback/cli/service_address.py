"""The service's address for commands, from their options or from the configuration."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlsplit

from answerback.cli.output import fail


def resolve_url(url: str | None, config: Path | None = None) -> str:
    """The service's address, without a trailing slash. Ends the command if it is invalid."""
    if url is not None:
        if not _is_address(url):
            fail(f"{url} is not a valid Answerback address. Use http://host:port.")
        return url.rstrip("/")
    from answerback.cli.configured_service import configured_url

    return configured_url(config)


def _is_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # an invalid port
        return False
