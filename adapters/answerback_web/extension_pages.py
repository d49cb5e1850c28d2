"""The door for pages of extensions: what `answerback.ports.extension.Running.for_page` returns for the web page."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import ClassVar, NamedTuple

from aiohttp import web
from markupsafe import Markup

from answerback.core.ask import Ask
from answerback.core.labels import Labels
from answerback.core.person import Person
from answerback_web.site import Site
from answerback_web.visitors import Visitor, Visitors


class PageLink(NamedTuple):
    """A link in a person's inbox."""

    path: str
    """Below the inbox."""
    text: str


class RowLink(NamedTuple):
    """A link beside each row of a person's inbox. The page gets the ask's id, as ``ask``."""

    path: str
    """Below the inbox."""
    text: str
    key: str
    """The key that follows it, for the row that is open or has the focus."""


class ExtensionPages(ABC):
    """Pages that an extension adds, on each listener."""

    templates: ClassVar[str] = ""
    """The package in whose folder ``templates`` its templates are, which `answerback_web.responses` names
    ``PACKAGE/NAME``; empty if there are none."""

    @abstractmethod
    def routes(self, site: Site, visitors: Visitors) -> Sequence[web.RouteDef]:
        """Return the routes of one listener. `answerback_web.visitors.VisitorPages` serves pages below inboxes."""

    async def links(self, visitor: Visitor, labels: Labels) -> Sequence[PageLink]:
        """Return the links that a visitor finds in their inbox."""
        return ()

    async def agents(self) -> Mapping[str, str]:
        """Return the labels of agents that only it knows, by name: they can be searched for in the history."""
        return {}

    def row_link(self, labels: Labels) -> RowLink | None:
        """Return the link beside each row; None: there is none."""
        return None

    async def notice(
        self, request: web.Request, visitor: Visitor, home: str, labels: Labels
    ) -> Markup | None:
        """Return what stands above the rows of an inbox that is requested; None: nothing does.

        Args:
            home: the inbox's relative address.
        """
        return None

    async def note_shown(  # noqa: B027 - few extensions want to know
        self, person: Person, asks: Sequence[Ask]
    ) -> None:
        """Note that a page which is not hidden shows these open asks to a person."""

    async def notify_data(self, visitor: Visitor, *, root: str, home: str) -> Mapping[str, str]:
        """Return the ``data-`` attributes of the inbox's button for notifications: ``data-push``, ``data-worker`` and
        ``data-devices`` subscribe the browser (`page.js`). Without them, only the open page notifies.

        Args:
            root: the relative address of the service's root.
            home: the inbox's relative address.
        """
        return {}

    def sign_in(self) -> str | None:
        """Return the path, from the root of the public listener, where people sign in; None: they do not here.

        The page may get the link of an ask, as ``to``.
        """
        return None
