"""What the configuration's tables are made of: shared by the settings of the service and of its plug-ins."""

from __future__ import annotations

from typing import Annotated
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field
from pydantic_settings import NoDecode


def split_list(value: object) -> object:
    """In an environment variable a list is written ``a, b``; one name may stand for a list of one."""
    if isinstance(value, str):
        return [part.strip() for part in value.split(",") if part.strip()]
    return value


def _http(address: str) -> str:
    parts = urlsplit(address)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise ValueError("an address begins with http:// or https:// and names a host")
    return address


Port = Annotated[int, Field(ge=0, le=65535)]
Seconds = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Names = Annotated[tuple[str, ...], NoDecode, BeforeValidator(split_list)]
HttpUrl = Annotated[str, AfterValidator(_http)]


class Table(BaseModel):
    """One table of the configuration: frozen, and without unknown keys."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)
