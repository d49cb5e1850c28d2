"""What ``answerback person add`` needs from the configuration: which names may have a link, and its address."""

from __future__ import annotations

from answerback.cli.service_address import listener_url
from answerback.ports.person_key import name_problem
from answerback.runtime.config import Settings
from answerback.runtime.plugins import installed_plugins


def link_name_error(name: str) -> str | None:
    """Why a personal link cannot have this name, as a clause; None if it can."""
    return name_problem(name, installed_plugins().home)


def link_address(settings: Settings, url: str | None) -> tuple[str, bool]:
    """The address of the links, and whether it is reachable from beyond this machine."""
    public = settings.public
    if url is not None or public.url is not None:
        return (url or public.url or "").rstrip("/"), True
    if public.port:
        return listener_url(public.host, public.port), False
    return listener_url(settings.server.host, settings.server.port), False
