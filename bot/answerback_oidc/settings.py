"""The table of the configuration."""

from __future__ import annotations

from typing import Annotated, Final
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, SecretStr

from answerback.ports.settings_tables import Names, Table

_LOOPBACK: Final = frozenset({"127.0.0.1", "::1", "localhost"})


def is_safe(url: str) -> bool:
    """Return True if an address is HTTPS, or on this machine, with neither a query nor a fragment nor a user in it."""
    try:
        parts = urlsplit(url)
        host = parts.hostname
    except ValueError:
        return False
    if not host or parts.fragment or "@" in parts.netloc or not url.isprintable() or " " in url:
        return False
    return parts.scheme == "https" or (parts.scheme == "http" and host in _LOOPBACK)


def _check_issuer(issuer: str) -> str:
    if issuer and (not is_safe(issuer) or "?" in issuer or "," in issuer):
        raise ValueError(
            "it must be the https address that the provider calls its issuer, as in https://login.example.com"
        )
    return issuer


class OidcSettings(Table):
    """``[oidc]``: the identity provider that people sign in with on the page."""

    issuer: Annotated[str, AfterValidator(_check_issuer)] = ""
    """The provider's issuer, byte for byte as in its metadata; empty: nobody signs in so."""
    client_id: str = ""
    client_secret: SecretStr = SecretStr("")
    """Empty: the client is public, and only PKCE protects the code."""
    scopes: Names = ("openid",)
    hours: Annotated[float, Field(gt=0, le=24 * 7)] = 12.0
    """After so many hours a person has to sign in again."""

    @property
    def user_prefix(self) -> str:
        """The beginning of the ids of its people."""
        return f"oidc:{self.issuer}#"
