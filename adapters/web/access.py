"""Who may see a page and whose form post counts: links, the inbox's key, and the guard against other sites.

Everything is an HMAC of one secret: nothing is stored, and all of it holds over restarts. Pure.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

_DIGEST_LENGTH: Final = 32
"""Hex digits that are kept of an HMAC: 128 bits, past guessing."""
_LINK: Final = re.compile(rf"(ask_[0-9a-z]{{1,40}})\.([0-9a-f]{{{_DIGEST_LENGTH}}})")
_VISITOR: Final = re.compile(r"[0-9a-f]{32}")


@dataclass(frozen=True, slots=True)
class Access:
    """What opens pages: ``secret`` makes links and tokens; ``key`` (None: not needed) opens the inbox."""

    secret: bytes
    key: str | None = None

    def link(self, ask_id: str) -> str:
        """The unguessable name of one ask's page: who knows it may answer."""
        return f"{ask_id}.{self._digest('link', ask_id)}"

    def ask_of(self, link: str) -> str | None:
        """The id of the ask that a link opens, or None for a link that we did not make."""
        match = _LINK.fullmatch(link)
        if match is None or not hmac.compare_digest(match[2], self._digest("link", match[1])):
            return None
        return match[1]

    def pass_(self) -> str:
        """What the cookie of a browser that was let in holds."""
        return self._digest("inbox", self.key or "")

    def opens(self, key: str) -> bool:
        """Whether this is the inbox's key."""
        return self.key is not None and hmac.compare_digest(key.encode(), self.key.encode())

    def admits(self, cookie: str | None) -> bool:
        """Whether a browser with this cookie may see the inbox and its pages."""
        if self.key is None:
            return True
        return hmac.compare_digest((cookie or "").encode(), self.pass_().encode())

    def cookie_name(self, purpose: str) -> str:
        """A cookie's name, different for every Answerback: cookies do not tell ports of one host apart."""
        return f"answerback_{purpose}_{self._digest('cookie', '')[:8]}"

    def token(self, visitor: str, ask_id: str) -> str:
        """What a form post of this browser on this ask's page has to carry."""
        return self._digest("token", f"{visitor}:{ask_id}")

    def is_token(self, token: str, visitor: str | None, ask_id: str) -> bool:
        """Whether a form post comes from a page that we gave to this browser."""
        if visitor is None or not _VISITOR.fullmatch(visitor):
            return False
        return hmac.compare_digest(token.encode(), self.token(visitor, ask_id).encode())

    def _digest(self, purpose: str, text: str) -> str:
        made = hmac.new(self.secret, f"answerback:web:{purpose}:{text}".encode(), hashlib.sha256)
        return made.hexdigest()[:_DIGEST_LENGTH]


def new_visitor() -> str:
    """A name for a browser that has none yet; it says nothing about the person."""
    return secrets.token_hex(16)


def known_visitor(cookie: str | None) -> str | None:
    """The browser's name from its cookie, or None where there is none of ours."""
    return cookie if cookie is not None and _VISITOR.fullmatch(cookie) else None


def is_own_page(origin: str | None, site: str | None, own_hosts: frozenset[str]) -> bool:
    """Whether a browser says that a form post comes from our own page.

    Browsers that send neither header leave it to the token
    (https://w3c.github.io/webappsec-fetch-metadata/#sec-fetch-site-header).
    """
    if site is not None:
        return site == "same-origin"
    if origin is None:
        return True
    try:
        return urlsplit(origin).netloc in own_hosts
    except ValueError:
        return False
