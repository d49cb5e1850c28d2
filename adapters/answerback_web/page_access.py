"""Who may see a page and whose form posts count: capability links, and protection against cross-site posts. Pure.

A page's address, never a cookie, determines what may be done with it: browsers send a host's cookies to all of its
ports, and so to anything else that listens on this machine. An address contains an HMAC under a fixed secret (to show
an ask) or a person's key (to answer it): nothing is stored, and replacing a key revokes its addresses.
"""

from __future__ import annotations

import hmac
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final, NamedTuple
from urllib.parse import urlsplit

from answerback.ports.person_key import KeyHolder

_DIGEST_LENGTH: Final = 32
"""Hex digits of the truncated HMAC: 128 bits, too many to guess."""
_DIGEST: Final = rf"([0-9a-f]{{{_DIGEST_LENGTH}}})"
_LINK: Final = re.compile(rf"((ask_[0-9a-z]{{1,40}})\.{_DIGEST})(?:\.{_DIGEST})?")


_FILE: Final = re.compile(rf"((file_[0-9a-f]{{1,40}})\.([0-9]{{1,12}}))\.{_DIGEST}")
FILE_SECONDS: Final = 300
"""Seconds for which a page can get a file, at least."""


class LinkTarget(NamedTuple):
    """The target of a link: an ask to read and, if the link belongs to a person, to answer."""

    ask_id: str
    link: str
    """The link that only shows the ask."""
    holder: KeyHolder | None
    is_revoked: bool = False
    """True if the link belonged to a person whose key was replaced or revoked, or who has signed out."""


class FileTarget(NamedTuple):
    """The file that its address on a page opens."""

    file_id: str
    is_link: bool
    """True if the page was opened by no key, so that the file is shown as long as the link that only shows its ask."""


@dataclass(frozen=True, slots=True)
class PageLinks:
    """Creates and resolves links; ``secret`` is the key of those that show an ask."""

    secret: bytes = field(repr=False)
    root: str = ""
    """The address at which people reach the pages."""

    def url(self, ask_id: str) -> str:
        """Return the address that shows an ask."""
        return f"{self.root}/a/{self.link(ask_id)}"

    def link(self, ask_id: str) -> str:
        """Return the unguessable name of an ask's page: anyone who has it may read the ask, but not answer."""
        return f"{ask_id}.{_digest(self.secret, 'link', ask_id)}"

    def answering_link(self, ask_id: str, holder: KeyHolder) -> str:
        """Return the name that lets one person answer the ask; it opens nothing else."""
        return f"{self.link(ask_id)}.{_digest(holder.link_secret, 'answer', ask_id)}"

    def resolve(self, link: str, holders: Iterable[KeyHolder]) -> LinkTarget | None:
        """Return what a link opens, or None for a link that is not one of ours."""
        match = _LINK.fullmatch(link)
        if match is None or not hmac.compare_digest(match[1], self.link(match[2])):
            return None
        matches = [each for each in holders if _same(link, self.answering_link(match[2], each))]
        holder = matches[0] if matches else None
        return LinkTarget(match[2], match[1], holder, match[4] is not None and holder is None)

    def file_token(self, file_id: str, now: float, holder: KeyHolder | None = None) -> str:
        """Return the name by which a page gets a file, for `FILE_SECONDS` to twice as long.

        Until it changes, a page that is shown again has the same one, so that a picture is not fetched again.

        Args:
            holder: whose page it is; then the name opens nothing once their key is replaced or revoked.
        """
        until = (int(now // FILE_SECONDS) + 2) * FILE_SECONDS
        return f"{file_id}.{until}.{self._file_digest(f'{file_id}.{until}', holder)}"

    def resolve_file(
        self, token: str, now: float, holders: Iterable[KeyHolder]
    ) -> FileTarget | None:
        """Return the file that a token opens; None if it opens nothing, or nothing any more."""
        match = _FILE.fullmatch(token)
        if match is None or int(match[3]) <= now:
            return None
        for each in (None, *holders):
            if _same(match[4], self._file_digest(match[1], each)):
                return FileTarget(match[2], is_link=each is None)
        return None

    def _file_digest(self, text: str, holder: KeyHolder | None) -> str:
        return _digest(self.secret if holder is None else holder.link_secret, "file", text)

    def inbox_name(self, holder: KeyHolder) -> str:
        return _digest(holder.link_secret, "inbox", "")

    def find_inbox_holder(self, name: str, holders: Iterable[KeyHolder]) -> KeyHolder | None:
        """Return the person whose inbox this is, or None."""
        matches = [each for each in holders if _same(name, self.inbox_name(each))]
        return matches[0] if matches else None


def _digest(secret: bytes, purpose: str, text: str) -> str:
    digest = hmac.digest(secret, f"answerback:web:{purpose}:{text}".encode(), "sha256")
    return digest.hex()[:_DIGEST_LENGTH]


def _same(received: str, expected: str) -> bool:
    return hmac.compare_digest(received.encode("utf-8", "surrogateescape"), expected.encode())


def is_own_page(origin: str | None, site: str | None, own_host: str) -> bool:
    """Return True if the browser's headers say that a form post comes from our own page.

    Programs other than browsers send neither header, but they still need the page's address
    (https://w3c.github.io/webappsec-fetch-metadata/#sec-fetch-site-header).

    Args:
        own_host: the page's host; "" matches nothing, or else ``Origin: null`` would match it.
    """
    if site is not None:
        return site == "same-origin"
    if origin is None:
        return True
    try:
        return bool(own_host) and urlsplit(origin).netloc == own_host
    except ValueError:
        return False
