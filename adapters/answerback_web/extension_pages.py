"""The door for pages of extensions: what `answerback.ports.extension.Running.for_page` returns for the web page."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import NamedTuple

from aiohttp import web

from answerback.core.labels import Labels
from answerback_web.site import Site
from answerback_web.visitors import Visitor, Visitors


class PageLink(NamedTuple):
    """A link in a person's inbox."""

    path: str
    """Below the inbox."""
    text: str


class ExtensionPages(ABC):
    """Pages that an extension adds, on each listener."""

    @abstractmethod
    def routes(self, site: Site, visitors: Visitors) -> Sequence[web.RouteDef]:
        """Return the routes of one listener. `answerback_web.visitors.VisitorPages` serves pages below inboxes."""

    def link(self, visitor: Visitor, labels: Labels) -> PageLink | None:
        """Return the link that a visitor finds in their inbox; None: there is none."""
        return None

    def sign_in(self) -> str | None:
        """Return the path, from the root of the public listener, where people sign in; None: they do not here.

        The page may get the link of an ask, as ``to``.
        """
        return None
