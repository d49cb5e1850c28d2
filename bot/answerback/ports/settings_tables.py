"""The building blocks of configuration tables, shared by the settings of the service and of its plug-ins."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping, Sequence
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, SecretStr
from pydantic_settings import NoDecode


def split_list(value: object) -> object:
    """Split a list that is written as ``a, b``, as in an environment variable; a single name becomes a list of one."""
    if isinstance(value, str):
        return [part.strip() for part in value.split(",") if part.strip()]
    return value


def _check_http_url(address: str) -> str:
    parts = urlsplit(address)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise ValueError("an address begins with http:// or https:// and names a host")
    return address


def _check_webhook_secret(secret: SecretStr) -> SecretStr:
    text = secret.get_secret_value()
    try:
        key = base64.b64decode(text.removeprefix("whsec_"), validate=True)
    except binascii.Error:
        key = b""
    if not text.startswith("whsec_") or not 24 <= len(key) <= 64:
        raise ValueError("a secret must be whsec_ followed by 24 to 64 bytes in base64")
    return secret


Port = Annotated[int, Field(ge=0, le=65535)]
Seconds = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Names = Annotated[tuple[str, ...], NoDecode, BeforeValidator(split_list)]
HttpUrl = Annotated[str, AfterValidator(_check_http_url)]
Secrets = Annotated[
    tuple[Annotated[SecretStr, AfterValidator(_check_webhook_secret)], ...],
    NoDecode,
    BeforeValidator(split_list),
]
"""Secrets that sign webhooks; more than one during rotation."""


class Table(BaseModel):
    """One table of the configuration: frozen, and unknown keys are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)


class ExtensionTable(Table):
    """An extension's table that means something to the service, too; any other may be a `Table`."""

    def adds_agents(self) -> bool:
        """Return True if there may be agents besides those of ``[agents]``. If so, callers need tokens."""
        return False

    def named_routes(self) -> Mapping[str, str]:
        """The routes that it names, by the keys below the table; each has to exist."""
        return {}

    def named_people(self) -> Mapping[str, Sequence[str]]:
        """The people that it names as responders are, by the keys below the table; each has to exist."""
        return {}


class LimitSettings(Table):
    """The limits of an agent; 0 means no limit. Unset keys have the default."""

    asks_per_minute: Annotated[int, Field(ge=0, le=100_000)] | None = None
    open_asks: Annotated[int, Field(ge=0, le=100_000)] | None = None
    """Asks that wait for people at the same time."""
    open_asks_per_conversation: Annotated[int, Field(ge=0, le=100_000)] | None = None
    unclaimed_files: Annotated[int, Field(ge=0, le=100_000)] | None = None
    """Uploaded files that no ask has named yet."""
