"""Who may see a page and whose form post counts: links, and the guard against other sites. Pure.

What may be done with a page stands in its address, and never in a cookie: browsers send the cookies of a host to every
port of it, and so to whatever else listens on this machine. An address is an HMAC, made of a secret that stays the
same (it shows an ask) or of a person's key (it answers): nothing is stored, and a replaced key closes its addresses.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, NamedTuple
from urllib.parse import urlsplit

from answerback.ports.person_key import KeyHolder

_DIGEST_LENGTH: Final = 32
"""Hex digits that are kept of an HMAC: 128 bits, past guessing."""
_DIGEST: Final = rf"([0-9a-f]{{{_DIGEST_LENGTH}}})"
_LINK: Final = re.compile(rf"((ask_[0-9a-z]{{1,40}})\.{_DIGEST})(?:\.{_DIGEST})?")


class LinkTarget(NamedTuple):
    """What a link opens: an ask to read, and to answer where the link is somebody's."""

    ask_id: str
    link: str
    """The link that only shows the ask."""
    holder: KeyHolder | None


@dataclass(frozen=True, slots=True)
class PageLinks:
    """Makes links and reads them; ``secret`` makes those that show an ask."""

    secret: bytes

    def link(self, ask_id: str) -> str:
        """The unguessable name of one ask's page: who knows it may read the ask, and not answer."""
        return f"{ask_id}.{_digest(self.secret, 'link', ask_id)}"

    def answering_link(self, ask_id: str, holder: KeyHolder) -> str:
        """The name under which one person may answer the ask; it opens nothing else."""
        return f"{self.link(ask_id)}.{_digest(holder.link_secret, 'answer', ask_id)}"

    def resolve(self, link: str, holders: Iterable[KeyHolder]) -> LinkTarget | None:
        """What a link opens, or None for a link that we did not make.

        A link whose key was replaced still shows its ask.
        """
        match = _LINK.fullmatch(link)
        if match is None or not hmac.compare_digest(match[1], self.link(match[2])):
            return None
        wanted = [one for one in holders if _same(link, self.answering_link(match[2], one))]
        return LinkTarget(match[2], match[1], wanted[0] if wanted else None)

    def inbox_name(self, holder: KeyHolder) -> str:
        """The name of a person's inbox."""
        return _digest(holder.link_secret, "inbox", "")

    def find_inbox_holder(self, name: str, holders: Iterable[KeyHolder]) -> KeyHolder | None:
        """Whose inbox this is, or None."""
        found = [one for one in holders if _same(name, self.inbox_name(one))]
        return found[0] if found else None


def _digest(secret: bytes, purpose: str, text: str) -> str:
    made = hmac.new(secret, f"answerback:web:{purpose}:{text}".encode(), hashlib.sha256)
    return made.hexdigest()[:_DIGEST_LENGTH]


def _same(given: str, made: str) -> bool:
    return hmac.compare_digest(given.encode("utf-8", "surrogateescape"), made.encode())


def is_own_page(origin: str | None, site: str | None, own_host: str) -> bool:
    """Whether a browser says that a form post comes from our own page.

    Programs that are no browser send neither header: they need the page's address all the same
    (https://w3c.github.io/webappsec-fetch-metadata/#sec-fetch-site-header).

    Args:
        own_host: where the page is; nothing comes from "", as ``Origin: null`` would.
    """
    if site is not None:
        return site == "same-origin"
    if origin is None:
        return True
    try:
        return bool(own_host) and urlsplit(origin).netloc == own_host
    except ValueError:
        return False
