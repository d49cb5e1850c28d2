"""What ``answerback person add`` needs of the configuration: who may have a link, and where it leads."""

from __future__ import annotations

from answerback.cli.service_address import listener_url
from answerback.ports.person_key import name_problem
from answerback.runtime.config import Settings
from answerback.runtime.plugins import installed_plugins


def link_name_error(name: str) -> str | None:
    """Why nobody can have a link under this name, in half a sentence; None where somebody can."""
    return name_problem(name, installed_plugins().home)


def link_address(settings: Settings, url: str | None) -> tuple[str, bool]:
    """Where people open their links, and whether that is more than this machine."""
    public = settings.public
    if url is not None or public.url is not None:
        return (url or public.url or "").rstrip("/"), True
    if public.port:
        return listener_url(public.host, public.port), False
    return listener_url(settings.server.host, settings.server.port), False
