"""The service of the configuration, for commands: `answerback_agents.cli.local_service.LocalService`.

A command imports this only if it is not told an address or a token: to import and read the configuration takes it a
fifth of its time.
"""

from __future__ import annotations

import socket
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit

from pydantic import JsonValue

from answerback.runtime.config import ServerSettings, listener_url
from answerback.runtime.config_file import load_settings
from answerback_base.addresses import is_loopback
from answerback_storage.person_key_file import PersonKeyFile


def configured_url(config: Path | None) -> str:
    server = load_settings(config).server
    return listener_url(server.host, server.port)


def address_and_key(base: str, config: Path | None) -> tuple[str, str | None]:
    """The address to challenge and the person's key; no key, if this is not the address of the configured service."""
    settings = load_settings(config)
    if not _is_configured(base, settings.server):
        return base, None
    return _numeric(base), PersonKeyFile(settings.storage.file).read()


def describe_audience(ask: Mapping[str, JsonValue]) -> str:
    """Say who may answer an open ask and until when, with the configured labels."""
    from answerback.cli.terminal import people_text

    return people_text.audience(ask, load_settings().labels)


def _is_configured(base: str, server: ServerSettings) -> bool:
    """Return True if an address is that of the configured listener on this machine. Port 0 stands for any port."""
    named, configured = urlsplit(base), urlsplit(listener_url(server.host, server.port))
    return (
        named.scheme == "http"
        and is_loopback(named.hostname or "")
        and is_loopback(configured.hostname or "")
        and server.port in {0, named.port or 80}
        and not named.path
    )


def _numeric(base: str) -> str:
    """The same address with an IP address for its name, so that every call reaches the listener that is challenged."""
    parts = urlsplit(base)
    found = socket.getaddrinfo(parts.hostname, parts.port or 80, type=socket.SOCK_STREAM)
    return listener_url(str(found[0][4][0]), parts.port or 80)
