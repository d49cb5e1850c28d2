"""The command line's access to a service that is installed beside it: its address, its key, and its labels.

The service's distribution names the module that knows these in the entry-point group `answerback.local_service`.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Final, Protocol

from pydantic import JsonValue

from answerback_agents.cli.options import SERVICE_URL

GROUP: Final = "answerback.local_service"


class LocalService(Protocol):
    """The service that is installed here, as its configuration has it."""

    def configured_url(self, config: Path | None) -> str:
        """Return the address of the configured service."""

    def address_and_key(self, base: str, config: Path | None) -> tuple[str, str | None]:
        """Return the address to challenge and the person's key; no key, if this is not the configured service."""

    def describe_audience(self, ask: Mapping[str, JsonValue]) -> str:
        """Say who may answer an open ask and until when, with the configured labels."""


@cache
def _installed() -> LocalService | None:
    from answerback_base.entry_points import entry_points

    for entry in entry_points(group=GROUP):
        service: LocalService = entry.load()
        return service
    return None


def configured_url(config: Path | None) -> str:
    """Return the address of the configured service, or else the default one."""
    service = _installed()
    return SERVICE_URL if service is None else service.configured_url(config)


def address_and_key(base: str, config: Path | None) -> tuple[str, str | None]:
    """Return the address to challenge and the person's key; no key, if this is not the configured service."""
    service = _installed()
    return (base, None) if service is None else service.address_and_key(base, config)


def describe_audience(ask: Mapping[str, JsonValue]) -> str:
    """Say who may answer an open ask; empty if there is nothing to say."""
    service = _installed()
    if service is not None:
        return service.describe_audience(ask)
    listed = ask["responders"]
    responders = [who for who in listed if isinstance(who, str)] if isinstance(listed, list) else []
    return f"For {', '.join(responders)}" if responders else ""
